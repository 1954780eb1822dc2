package dbtest

import (
	"slices"
	"testing"
)

const portSchema = `
	CREATE TABLE ships (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		name text,
		tons int NOT NULL,
		twice int GENERATED ALWAYS AS (tons * 2) STORED,
		created_at timestamptz NOT NULL DEFAULT now(),
		updated_at timestamptz
	);
	CREATE TABLE berths (harbour text, place int, ship bigint, PRIMARY KEY (place, harbour));
	CREATE TABLE signals (text text);
	CREATE TABLE berth_migration (id int);
	INSERT INTO ships (name, tons) VALUES ('Elbe 1', 100), ('null', 200), (NULL, 300), ('', 400);
	INSERT INTO berths VALUES ('Kiel', 1, 1), ('Bremen', 1, 2), ('Kiel', 2, NULL);
	INSERT INTO signals VALUES ('ahoi'), ('ahoi'), ('mayday');`

func TestCluster_Snapshot_ShowsAllRows(t *testing.T) {
	t.Parallel()
	db := NewEmpty(t)
	execute(t, db, portSchema)
	state := Snapshot(t, db)
	if got, want := state.Tables(), []string{"berths", "ships", "signals"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for table, want := range map[string][]string{
		"berths": {
			"berths{harbour: Kiel, place: 1, ship: 1}",
			"berths{harbour: Bremen, place: 1, ship: 2}",
			"berths{harbour: Kiel, place: 2, ship: null}",
		},
		"ships": {
			`ships{id: 1, name: "Elbe 1", tons: 100, created_at: set, updated_at: null}`,
			`ships{id: 2, name: "null", tons: 200, created_at: set, updated_at: null}`,
			`ships{id: 3, name: null, tons: 300, created_at: set, updated_at: null}`,
			`ships{id: 4, name: "", tons: 400, created_at: set, updated_at: null}`,
		},
		"signals": {"signals{text: ahoi}", "signals{text: ahoi}", "signals{text: mayday}"},
		"absent":  nil,
	} {
		got := state.Rows(table)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", table, got, want)
		}
	}
}

func TestCluster_SnapshotDiff_ShowsEveryChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statements string
		want       []string
	}{
		"nothing":          {"SELECT 1", nil},
		"an equal write":   {"UPDATE ships SET tons = tons, created_at = now() + '1 day'", nil},
		"a new row":        {"INSERT INTO berths VALUES ('Kiel', 3, 4)", []string{"+ berths{harbour: Kiel, place: 3, ship: 4}"}},
		"a deleted row":    {"DELETE FROM berths WHERE place = 2", []string{"- berths{harbour: Kiel, place: 2, ship: null}"}},
		"a changed column": {"UPDATE berths SET ship = 3 WHERE place = 2", []string{"~ berths{harbour: Kiel, place: 2} ship: null -> 3"}},
		"several columns, a time among them": {
			"UPDATE ships SET name = 'Elbe_3', tons = 90, updated_at = now() WHERE id = 1",
			[]string{`~ ships{id: 1} name: "Elbe 1" -> Elbe_3, tons: 100 -> 90, updated_at: null -> set`},
		},
		"a changed key": {
			"UPDATE berths SET place = 9 WHERE place = 2",
			[]string{"- berths{harbour: Kiel, place: 2, ship: null}", "+ berths{harbour: Kiel, place: 9, ship: null}"},
		},
		"one more of equal rows": {"INSERT INTO signals VALUES ('ahoi')", []string{"+ signals{text: ahoi}"}},
		"one less of equal rows": {
			"DELETE FROM signals WHERE ctid = (SELECT min(ctid) FROM signals WHERE text = 'ahoi')",
			[]string{"- signals{text: ahoi}"},
		},
		"several tables": {
			"DELETE FROM signals WHERE text = 'mayday'; DELETE FROM berths WHERE ship = 1; INSERT INTO ships (tons) VALUES (7)",
			[]string{
				"- berths{harbour: Kiel, place: 1, ship: 1}",
				"+ ships{id: 5, name: null, tons: 7, created_at: set, updated_at: null}",
				"- signals{text: mayday}",
			},
		},
		"a new table": {
			"CREATE TABLE piers AS SELECT 1 AS id",
			[]string{"+ piers{id: 1}"},
		},
		"a table that is gone": {
			"DROP TABLE signals",
			[]string{"- signals{text: ahoi}", "- signals{text: ahoi}", "- signals{text: mayday}"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := NewEmpty(t)
			execute(t, db, portSchema)
			before := Snapshot(t, db)
			execute(t, db, c.statements)
			if got := before.Diff(Snapshot(t, db)); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
