package legacy

// What an import can end as.
const (
	Imported = "imported"
	Verified = "verified" // it had been imported before; nothing was changed
	DryRun   = "dry run"
	Refused  = "refused"
)

// Report says what an import or export found and did. The names are an interface.
type Report struct {
	Source   string        `json:"source"`
	Target   string        `json:"target,omitempty"`
	Revision string        `json:"revision"`
	Outcome  string        `json:"outcome"`
	Oddities []Oddity      `json:"oddities"`
	Tables   []TableReport `json:"tables"`
	Seconds  float64       `json:"seconds"`
}

// TableReport compares one table, or the sums of what is used ("usage sums"), where
// amounts stand in the place of rows.
type TableReport struct {
	Table string `json:"table"`
	// Rows are those the source has in all, Expected those that should be here.
	Rows     int64 `json:"source_rows"`
	Expected int64 `json:"expected_rows"`
	Found    int64 `json:"rows"`
	// Hashes of both sides; Hash is empty where nothing was written.
	SourceHash string `json:"source_hash"`
	Hash       string `json:"hash"`
}

// tables puts both sides beside each other; found is nil where nothing was written.
func (i *importing) tables(found digests) {
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

// oldName is what the old schema calls one of our tables.
func oldName(table string) string {
	switch table {
	case "aggregates":
		return "placement_aggregates"
	case "provider_traits", "provider_aggregates":
		return "resource_" + table
	}
	return table
}
