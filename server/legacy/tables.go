package legacy

// kind is what a column of the old schema holds, and how it is copied.
type kind int

const (
	number        kind = iota // an integer
	perhaps                   // an integer or null
	words                     // text
	maybeWords                // text or null
	identity                  // a uuid in some spelling: copied as two columns, uuid and spelled
	maybeIdentity             // the same, or null
	ratio                     // a floating point number
	moment                    // a naive time in UTC, or null
)

type column struct {
	name string
	kind kind
}

// table is one of the old schema, with the columns that are read.
type table struct {
	name string
	// staged is our copy; its columns are those here, renamed where staging says so.
	staged string
	// key orders the table. The first column of two is that of most rows.
	key     []string
	columns []column
	staging []string
}

var times = []column{{"created_at", moment}, {"updated_at", moment}}

func named(name, text, staged string, dates ...column) table {
	return table{
		name: name, staged: staged, key: []string{"id"},
		columns: append([]column{{"id", number}, {text, words}}, dates...),
	}
}

// tables are all of the old schema, in an order in which what is referred to comes
// first.
func tables(withTypes bool) []table {
	all := []table{
		named("resource_classes", "name", "legacy_resource_classes", times...),
		named("traits", "name", "legacy_traits", times...),
		{
			name: "placement_aggregates", staged: "legacy_aggregates", key: []string{"id"},
			columns: []column{{"id", number}, {"uuid", maybeIdentity}, {"created_at", moment}},
			staging: []string{"id", "uuid", "spelled", "created_at"},
		},
		named("projects", "external_id", "legacy_projects", times[0]),
		named("users", "external_id", "legacy_users", times[0]),
		named("consumer_types", "name", "legacy_consumer_types", times[0]),
		{
			name: "resource_providers", staged: "legacy_resource_providers", key: []string{"id"},
			columns: append([]column{
				{"id", number}, {"uuid", identity}, {"name", maybeWords}, {"generation", perhaps},
				{"root_provider_id", perhaps}, {"parent_provider_id", perhaps},
			}, times...),
			staging: []string{"id", "uuid", "spelled", "name", "generation", "root_provider_id", "parent_provider_id", "created_at", "updated_at"},
		},
		{
			name: "resource_provider_traits", staged: "legacy_provider_traits", key: []string{"resource_provider_id", "trait_id"},
			columns: []column{{"resource_provider_id", number}, {"trait_id", number}},
		},
		{
			name: "resource_provider_aggregates", staged: "legacy_provider_aggregates", key: []string{"resource_provider_id", "aggregate_id"},
			columns: []column{{"resource_provider_id", number}, {"aggregate_id", number}},
		},
		{
			name: "inventories", staged: "legacy_inventories", key: []string{"id"},
			columns: append([]column{
				{"id", number}, {"resource_provider_id", number}, {"resource_class_id", number},
				{"total", number}, {"reserved", number}, {"min_unit", number}, {"max_unit", number}, {"step_size", number},
				{"allocation_ratio", ratio},
			}, times...),
		},
		{
			name: "allocations", staged: "legacy_allocations", key: []string{"id"},
			columns: append([]column{
				{"id", number}, {"resource_provider_id", number}, {"consumer_id", identity}, {"resource_class_id", number}, {"used", number},
			}, times...),
			staging: []string{"id", "resource_provider_id", "consumer_uuid", "spelled", "resource_class_id", "used", "created_at", "updated_at"},
		},
		{
			name: "consumers", staged: "legacy_consumers", key: []string{"id"},
			columns: append([]column{
				{"id", number}, {"uuid", identity}, {"project_id", number}, {"user_id", number},
				{"generation", number}, {"consumer_type_id", perhaps},
			}, times...),
			staging: []string{"id", "uuid", "spelled", "project_id", "user_id", "generation", "consumer_type_id", "created_at", "updated_at"},
		},
	}
	if withTypes {
		return all
	}
	// Before consumer types there is neither the table nor the column.
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

// stagedColumns are the columns of the copy.
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
