package requests

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

// providerID is the uuid of the n-th provider, and so on: data whose names need
// no looking up.
func providerID(n int64) string { return numbered(0xaa, n) }
func consumerID(n int64) string { return numbered(0xcc, n) }

func numbered(kind byte, n int64) string {
	id := uuid.UUID{0: kind, 6: 0x40, 8: 0x80}
	for i := range 6 {
		id[15-i] = byte(n >> (8 * i))
	}
	return id.String()
}

// firstNested is the number of the first provider of the nested trees, and nestedSize how many a tree has.
const (
	firstNested = 1_000_000
	nestedSize  = 7
)

// loadNested adds trees in bulk: a root with disks, two NUMA nodes with processors and memory, and two devices below
// each of these. They have room for everything, as the others have.
func (p *benchEnv) loadNested(ctx context.Context, trees int) error {
	for _, statement := range []string{
		`INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
		 SELECT base + place, ('aa000000-0000-4000-8000-' || lpad(to_hex(base + place), 12, '0'))::uuid, 'nested-' || tree || '-' || place,
		     base, base + parent
		 FROM generate_series(1, $1::bigint) AS tree, LATERAL (SELECT $2::bigint + (tree - 1) * $3::bigint AS base) AS root,
		     (VALUES (0, NULL), (1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2)) AS member (place, parent)
		 ORDER BY 1`,
		`SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), $2::bigint + $1::bigint * $3::bigint)`,
		`INSERT INTO provider_generations (provider_id, updated_at) SELECT $2::bigint + n, now()
		 FROM generate_series(0, $1::bigint * $3::bigint - 1) AS n`,
		`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
		 SELECT base + item.place, class.id, base, 2147483647, 0, 1, 2147483647, 1, 1000
		 FROM generate_series(1, $1::bigint) AS tree, LATERAL (SELECT $2::bigint + (tree - 1) * $3::bigint AS base) AS root,
		     (VALUES (0, 'DISK_GB'), (1, 'VCPU'), (1, 'MEMORY_MB'), (2, 'VCPU'), (2, 'MEMORY_MB'),
		         (3, 'VGPU'), (4, 'FPGA'), (5, 'VGPU'), (6, 'FPGA')) AS item (place, name)
		     JOIN resource_classes AS class ON class.name = item.name
		 ORDER BY 1, 2`,
		`INSERT INTO provider_traits (provider_id, trait_id, root_id)
		 SELECT base + place, trait.id, base
		 FROM generate_series(1, $1::bigint) AS tree, LATERAL (SELECT $2::bigint + (tree - 1) * $3::bigint AS base) AS root,
		     generate_series(1, 2) AS place, traits AS trait
		 WHERE trait.name = 'HW_NUMA_ROOT' ORDER BY 1`,
	} {
		if _, err := p.pool.Exec(ctx, statement, trees, firstNested, nestedSize); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	_, err := p.pool.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// load fills the database in bulk: providers with three classes, a trait and an
// aggregate each, ten consumers on each provider, and room for everything that the
// measurements claim. The consumers are there because plans made for an empty table
// read all of it, and connections keep such plans, those of foreign keys among them,
// until the table is analyzed again: a service that is in use has none.
func (p *benchEnv) load(ctx context.Context, providers int) error {
	for _, statement := range []string{
		`INSERT INTO aggregates (uuid) VALUES ('a99e0000-0000-4000-8000-000000000001')`,
		`INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
		 SELECT n, ('aa000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'host-' || n, n
		 FROM generate_series(1, $1::int) AS n`,
		`SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), $1::int + 1)`,
		`INSERT INTO provider_generations (provider_id, updated_at) SELECT id, now() FROM resource_providers`,
		`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
		 SELECT provider.id, class.id, provider.id, 2147483647, 0, 1, 2147483647, 1, 1000
		 FROM resource_providers AS provider, resource_classes AS class WHERE class.id < 3`,
		`INSERT INTO provider_traits SELECT provider.id, trait.id FROM resource_providers AS provider, traits AS trait
		 WHERE trait.name IN ('HW_CPU_X86_AVX2', 'HW_CPU_X86_VMX')`,
		`INSERT INTO provider_aggregates SELECT id, 1 FROM resource_providers`,
		`INSERT INTO projects (external_id) VALUES ('bench')`,
		`INSERT INTO users (external_id) VALUES ('bench')`,
		`INSERT INTO consumer_types (name) VALUES ('INSTANCE')`,
		`INSERT INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
		 SELECT ('dd000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, project.id, owner.id, type.id
		 FROM generate_series(1, 10 * $1::int) AS n, projects AS project, users AS owner, consumer_types AS type`,
		`INSERT INTO allocations (consumer_id, provider_id, class_id, used)
		 SELECT consumer.id, inventory.provider_id, inventory.class_id, 1
		 FROM consumers AS consumer JOIN inventories AS inventory ON inventory.provider_id = 1 + consumer.id % $1::int`,
		`UPDATE inventories AS inventory SET used = taken.used
		 FROM (SELECT provider_id, class_id, sum(used) AS used FROM allocations GROUP BY provider_id, class_id) AS taken
		 WHERE taken.provider_id = inventory.provider_id AND taken.class_id = inventory.class_id`,
		`VACUUM ANALYZE`,
	} {
		args := []any{}
		if len(statement) > 0 && containsArgument(statement) {
			args = append(args, providers)
		}
		if _, err := p.pool.Exec(ctx, statement, args...); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}

func containsArgument(statement string) bool {
	for i := range len(statement) - 1 {
		if statement[i] == '$' && statement[i+1] == '1' {
			return true
		}
	}
	return false
}
