package placementdb

// kind is the type of a column of the source, and determines how it is copied.
type kind int

const (
	kindInt      kind = iota // an integer
	kindNullInt              // an integer or null
	kindText                 // text
	kindNullText             // text or null
	kindUUID                 // a uuid in some spelling: copied as two columns, uuid and original_text
	kindNullUUID             // the same, or null
	kindFloat                // a floating point number
	kindTime                 // a naive time in UTC, or null
)

type column struct {
	name string
	kind kind
}

// table is a table of the source, with the columns that the import reads.
type table struct {
	name string
	// staged is the name of the staging table. Its columns have the same names, except those that staging
	// renames.
	staged string
	// key orders the table. Of two columns, the first has more distinct values.
	key     []string
	columns []column
	staging []string
}

var times = []column{{"created_at", kindTime}, {"updated_at", kindTime}}

func named(name, text, staged string, dates ...column) table {
	return table{
		name: name, staged: staged, key: []string{"id"},
		columns: append([]column{{"id", kindInt}, {text, kindText}}, dates...),
	}
}

// tables returns all tables of the source; referenced tables come first.
func tables(withTypes bool) []table {
	all := []table{
		named("resource_classes", "name", "import_staging_resource_classes", times...),
		named("traits", "name", "import_staging_traits", times...),
		{
			name: "placement_aggregates", staged: "import_staging_aggregates", key: []string{"id"},
			columns: []column{{"id", kindInt}, {"uuid", kindNullUUID}, {"created_at", kindTime}},
			staging: []string{"id", "uuid", "original_text", "created_at"},
		},
		named("projects", "external_id", "import_staging_projects", times[0]),
		named("users", "external_id", "import_staging_users", times[0]),
		named("consumer_types", "name", "import_staging_consumer_types", times[0]),
		{
			name: "resource_providers", staged: "import_staging_resource_providers", key: []string{"id"},
			columns: append([]column{
				{"id", kindInt}, {"uuid", kindUUID}, {"name", kindNullText}, {"generation", kindNullInt},
				{"root_provider_id", kindNullInt}, {"parent_provider_id", kindNullInt},
			}, times...),
			staging: []string{"id", "uuid", "original_text", "name", "generation", "root_provider_id", "parent_provider_id", "created_at", "updated_at"},
		},
		{
			name: "resource_provider_traits", staged: "import_staging_provider_traits", key: []string{"resource_provider_id", "trait_id"},
			columns: []column{{"resource_provider_id", kindInt}, {"trait_id", kindInt}},
		},
		{
			name: "resource_provider_aggregates", staged: "import_staging_provider_aggregates", key: []string{"resource_provider_id", "aggregate_id"},
			columns: []column{{"resource_provider_id", kindInt}, {"aggregate_id", kindInt}},
		},
		{
			name: "inventories", staged: "import_staging_inventories", key: []string{"id"},
			columns: append([]column{
				{"id", kindInt}, {"resource_provider_id", kindInt}, {"resource_class_id", kindInt},
				{"total", kindInt}, {"reserved", kindInt}, {"min_unit", kindInt}, {"max_unit", kindInt}, {"step_size", kindInt},
				{"allocation_ratio", kindFloat},
			}, times...),
		},
		{
			name: "allocations", staged: "import_staging_allocations", key: []string{"id"},
			columns: append([]column{
				{"id", kindInt}, {"resource_provider_id", kindInt}, {"consumer_id", kindUUID}, {"resource_class_id", kindInt}, {"used", kindInt},
			}, times...),
			staging: []string{"id", "resource_provider_id", "consumer_uuid", "original_text", "resource_class_id", "used", "created_at", "updated_at"},
		},
		{
			name: "consumers", staged: "import_staging_consumers", key: []string{"id"},
			columns: append([]column{
				{"id", kindInt}, {"uuid", kindUUID}, {"project_id", kindInt}, {"user_id", kindInt},
				{"generation", kindInt}, {"consumer_type_id", kindNullInt},
			}, times...),
			staging: []string{"id", "uuid", "original_text", "project_id", "user_id", "generation", "consumer_type_id", "created_at", "updated_at"},
		},
	}
	if withTypes {
		return all
	}
	// Before consumer types the source has neither the table nor the column.
	kept := all[:0]
	for _, t := range all {
		if t.name == "consumer_types" {
			continue
		}
		if t.name == "consumers" {
			t.columns = append(t.columns[:5:5], times...)
			t.staging = append(t.staging[:6:6], "created_at", "updated_at")
		}
		kept = append(kept, t)
	}
	return kept
}

// stagedColumns returns the columns of the staging table.
func (t table) stagedColumns() []string {
	if t.staging != nil {
		return t.staging
	}
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}
