package legacy

// OldSchema makes the tables of the old schema in an SQLite database, for tests.
func OldSchema() []string { return sqlite.statements() }

// ReadID is what a spelling means.
func ReadID(text string) string { return readID(text).uuid.String() }

// Shortest is what a number of single precision is read as.
func Shortest(number float64) float64 { return shortest(number) }

// SourceOf is the address in the words of the driver.
func (a Address) SourceOf() string { return a.source }
