package legacy_test

import (
	"strings"
	"testing"

	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/legacy"
)

func TestZZ(t *testing.T) {
	for name, sqls := range map[string]string{
		"inf":      "UPDATE inventories SET allocation_ratio = 9e999 WHERE id = 1",
		"inf0":     "UPDATE inventories SET allocation_ratio = 9e999, reserved = 1000 WHERE id = 1",
		"neginf":   "UPDATE inventories SET allocation_ratio = -9e999 WHERE id = 1",
		"1e300":    "UPDATE inventories SET allocation_ratio = 1e300 WHERE id = 1",
		"1e308":    "UPDATE inventories SET allocation_ratio = 1e308 WHERE id = 1",
		"1e-320":   "UPDATE inventories SET allocation_ratio = 1e-320 WHERE id = 1",
		"neg":      "UPDATE inventories SET allocation_ratio = -1 WHERE id = 1",
		"badutf8":  "UPDATE resource_providers SET name = CAST(x'ff41' AS TEXT) WHERE id = 1",
		"nul":      "UPDATE resource_providers SET name = CAST(x'410041' AS TEXT) WHERE id = 1",
		"long":     "UPDATE resource_providers SET name = '" + strings.Repeat("x", 3000) + "' WHERE id = 1",
		"emoji":    "UPDATE resource_providers SET name = '🚀 a' WHERE id = 1",
		"emptyrp":  "UPDATE resource_providers SET name = '' WHERE id = 1",
		"times":    "UPDATE resource_providers SET created_at='yesterday', updated_at = '2020-01-01 00:00:00+02:00' WHERE id = 1",
		"timesint": "UPDATE resource_providers SET created_at=1577836800, updated_at = 1577836800.5 WHERE id = 1",
		"timens":   "UPDATE resource_providers SET created_at='2020-01-01 00:00:00.123456789', updated_at = '1969-12-31 23:59:59.9999999' WHERE id = 1",
		"timetrt":  "UPDATE traits SET created_at='never'",
		"timeold":  "UPDATE resource_providers SET created_at='0001-01-01 00:00:00', updated_at = '9999-12-31 23:59:59' WHERE id = 1",
		"huge":     "UPDATE allocations SET used = 9223372036854775807 WHERE id IN (2,1); INSERT INTO allocations (id, resource_provider_id, consumer_id, resource_class_id, used) VALUES (17, 2, 'c0000000-0000-4000-8000-000000000001', 0, 9223372036854775807)",
		"huge1":    "UPDATE allocations SET used = 9223372036854775807 WHERE id = 1",
		"bigclass": "UPDATE resource_classes SET id = 3000000000 WHERE id = 10000; UPDATE inventories SET resource_class_id = 3000000000 WHERE resource_class_id = 10000; UPDATE allocations SET resource_class_id = 3000000000 WHERE resource_class_id = 10000",
		"emptytrait": "UPDATE traits SET name = '' WHERE id = 3",
		"emptyclass": "UPDATE resource_classes SET name = '' WHERE id = 10000",
		"emptyagg":   "UPDATE placement_aggregates SET uuid = ''",
		"bigagg":     "UPDATE placement_aggregates SET id = 3000000000; UPDATE resource_provider_aggregates SET aggregate_id = 3000000000",
		"realtotal":  "UPDATE inventories SET total = 8.5 WHERE id = 1",
		"bigreal":    "UPDATE inventories SET total = 1e20 WHERE id = 1",
		"texttotal":  "UPDATE inventories SET total = 'abc' WHERE id = 1",
		"blobuuid":   "UPDATE resource_providers SET uuid = x'00000000000040008000000000000001' WHERE id = 1",
		"neggen":     "UPDATE resource_providers SET generation = -5 WHERE id = 1; UPDATE consumers SET generation = -3",
		"negid":      "UPDATE users SET id = -4; UPDATE consumers SET user_id = -4",
		"maxid":      "UPDATE users SET id = 9223372036854775807; UPDATE consumers SET user_id = 9223372036854775807",
		"emptyproj":  "UPDATE projects SET external_id = ''",
		"missing":    "DROP TABLE resource_provider_traits",
		"extra":      "ALTER TABLE resource_providers ADD COLUMN can_host INTEGER; UPDATE resource_providers SET can_host = 1",
		"view":       "ALTER TABLE resource_provider_traits RENAME TO x; CREATE VIEW resource_provider_traits AS SELECT * FROM x",
		"self":       "UPDATE resource_providers SET parent_provider_id = id",
		"twice":      "INSERT INTO alembic_version VALUES ('422ece571366')",
		"unknown":    "UPDATE consumers SET consumer_type_id = 77",
		"owner":      "UPDATE consumers SET project_id = 99; INSERT INTO projects (id, external_id) VALUES (99000, 'nobody''s')",
		"ctl":        "UPDATE resource_providers SET name = 'a' || char(1) || char(10) || 'b' WHERE id = 1",
		"types":      "INSERT INTO consumer_types (id, name) VALUES (4, 'weird type')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := makeSource(t, plain, sqls)
			target := dbtest.New(t)
			report, err := legacy.Import(t.Context(), options(source, target))
			kinds := []string{}
			for _, one := range report.Oddities {
				kinds = append(kinds, one.Kind)
				for _, e := range one.Examples {
					kinds = append(kinds, string(e))
				}
			}
			t.Logf("%s: %s %v\n   %v", name, report.Outcome, err, kinds)
			if err == nil {
				dbtest.Audit(t, target)
				report, err := legacy.Import(t.Context(), options(source, target))
				if err != nil || report.Outcome != legacy.Verified {
					t.Errorf("%s again: %s %v", name, report.Outcome, err)
				}
			}
		})
	}
}
