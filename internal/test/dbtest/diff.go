package dbtest

import "strings"

// Diff returns the differences from this state to a later one as lines, sorted by table name:
//
//   - allocations{id: 7, consumer_id: 3, ...}
//     ~ provider_generations{provider_id: 1} generation: 0 -> 1
//   - inventories{provider_id: 1, class_id: 0, total: 10, ...}
//
// Deleted rows come first, then changed rows, then new rows, each sorted by key. The result is nil
// without differences.
func (s *State) Diff(later *State) []string {
	var lines []string
	after := map[string]table{}
	for _, t := range later.tables {
		after[t.name] = t
	}
	for _, t := range s.tables {
		lines = append(lines, t.diff(after[t.name])...)
		delete(after, t.name)
	}
	for _, t := range later.tables {
		if created, isNew := after[t.name]; isNew {
			lines = append(lines, table{}.diff(created)...)
		}
	}
	return lines
}

func (t table) diff(later table) []string {
	var gone, changed, added []string
	remaining := later.byIdentity()
	for _, row := range t.rows {
		identity := t.identity(row)
		candidates := remaining[identity]
		if len(candidates) == 0 {
			gone = append(gone, "- "+t.whole(row))
			continue
		}
		remaining[identity] = candidates[1:]
		if changes := t.changes(row, later, candidates[0]); changes != "" {
			changed = append(changed, "~ "+identity+" "+changes)
		}
	}
	for _, row := range later.rows {
		identity := later.identity(row)
		// Of several equal rows without a key, the last ones count as new.
		if left := remaining[identity]; len(left) > 0 && &left[0][0] == &row[0] {
			remaining[identity] = left[1:]
			added = append(added, "+ "+later.whole(row))
		}
	}
	return append(append(gone, changed...), added...)
}

func (t table) byIdentity() map[string][][]string {
	rows := map[string][][]string{}
	for _, row := range t.rows {
		identity := t.identity(row)
		rows[identity] = append(rows[identity], row)
	}
	return rows
}

// changes compares the columns that both tables have, because a migration may have changed the
// table.
func (t table) changes(before []string, later table, after []string) string {
	values := map[string]string{}
	for i, column := range later.columns {
		values[column] = after[i]
	}
	var changes []string
	for i, column := range t.columns {
		if value, kept := values[column]; kept && value != before[i] {
			changes = append(changes, column+": "+before[i]+" -> "+value)
		}
	}
	return strings.Join(changes, ", ")
}
