package placementdb

// The outcomes of an import.
const (
	Imported = "imported"
	Verified = "verified" // imported before; nothing was changed
	DryRun   = "dry_run"
	Refused  = "refused"
)

// Report is the result of an import or export. The names of its JSON members are an interface.
type Report struct {
	Source    string        `json:"source"`
	Target    string        `json:"target,omitempty"`
	Revision  string        `json:"revision"`
	Outcome   string        `json:"outcome"`
	Anomalies []Anomaly     `json:"anomalies"`
	Tables    []TableReport `json:"tables"`
	Seconds   float64       `json:"seconds"`
	// HistoryEnded is true if the import has turned off the record of changes.
	HistoryEnded bool `json:"history_ended,omitempty"`
}

// TableReport compares one table, or the used amounts ("usage_sums"), for which it contains amounts
// instead of numbers of rows.
type TableReport struct {
	Table string `json:"table"`
	// Rows is the number of rows in the source, Expected the number that Berth should have, and Found the
	// number that it has.
	Rows     int64 `json:"source_rows"`
	Expected int64 `json:"expected_rows"`
	Found    int64 `json:"rows"`
	// SourceHash and Hash are the hashes of both sides; Hash is empty if nothing was written.
	SourceHash string `json:"source_hash"`
	Hash       string `json:"hash"`
}

// tables fills the report with both sides of each table; found is nil if nothing was written.
func (i *importRun) tables(found digests) {
	i.report.Tables = nil
	for _, name := range digestNames {
		expected := i.survey.expected.of(name)
		line := TableReport{Table: name, Rows: i.source.counts[oldName(name)], Expected: expected.rows, SourceHash: expected.String()}
		if name == usageSums {
			line.Rows = i.survey.used
		}
		if found != nil {
			line.Found, line.Hash = found.of(name).rows, found.of(name).String()
		}
		i.report.Tables = append(i.report.Tables, line)
	}
}

// oldName returns the name of a table in OpenStack Placement.
func oldName(table string) string {
	switch table {
	case "aggregates":
		return "placement_aggregates"
	case "provider_traits", "provider_aggregates":
		return "resource_" + table
	}
	return table
}
