package dbtest

import "strings"

// Diff says in lines how a later state differs from this one, table by table
// in the order of their names:
//
//   - allocations{id: 7, consumer_id: 3, ...}
//     ~ provider_generations{provider_id: 1} generation: 0 -> 1
//   - inventories{provider_id: 1, class_id: 0, total: 10, ...}
//
// Rows that are gone come first, then changed ones, then new ones, each in the
// order of their keys. It is nil when nothing has changed.
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
		// Of several equal rows without a key, the last ones are the new ones.
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

// changes compares the columns that both tables have; a table may have been
// migrated in between.
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
