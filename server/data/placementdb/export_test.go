package placementdb

// OldSchema returns the statements that create the schema of OpenStack Placement in SQLite, for tests.
func OldSchema() []string { return sqlite.statements() }

// ReadID returns the canonical UUID of a text.
func ReadID(text string) string { return readID(text).uuid.String() }

// Shortest returns the shortest decimal for a single-precision number.
func Shortest(number float64) float64 { return shortest(number) }

// SourceOf returns the address in the format of the driver.
func (a Address) SourceOf() string { return a.source }
