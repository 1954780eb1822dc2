package baremetal

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// allocationRequest is a kind of node allocation: one of some classes, and one of four
// rarer traits beside a common one.
type allocationRequest struct {
	classes int
	traits  bool
}

// class of the n-th request, or node.
func (w allocationRequest) class(n int) string { return fmt.Sprintf("class-%d", n%w.classes) }

// requiredTraits returns the traits of the n-th request. Every node has the first, and every
// fourth of a class the second.
func (w allocationRequest) requiredTraits(n int) []string {
	if !w.traits {
		return []string{}
	}
	return []string{"CUSTOM_COMMON", fmt.Sprintf("CUSTOM_RARER_%d", n/w.classes%4)}
}

// size is the size of the data that load makes.
type size struct{ nodes, classes int }

// load fills a database in bulk: nodes with five traits each and details of an
// ordinary size. A block of 80 in every seven is in use, by instances that have no
// allocation. With providers, also what SetBaremetalBackend makes of them.
func load(ctx context.Context, conn *pgx.Conn, of size, providers bool) error {
	statements := []string{`
INSERT INTO nodes (uuid, name, driver, resource_class, provision_state, power_state, instance_uuid, details)
SELECT ('ee000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'node-' || n, 'fake-hardware',
    'class-' || n % {classes}, CASE WHEN n / 80 % 7 = 3 THEN 'active' ELSE 'available' END, 'power off',
    CASE WHEN n / 80 % 7 = 3 THEN gen_random_uuid() END,
    jsonb_build_object('instance_info', '{}'::jsonb, 'extra', jsonb_build_object('rack', n / 40, 'serial', md5(n::text)),
        'properties', '{"cpus": 64, "memory_mb": 524288, "local_gb": 3576, "cpu_arch": "x86_64", "capabilities": "boot_mode:uefi"}'::jsonb,
        'driver_info', jsonb_build_object('ipmi_address', '10.0.0.1', 'ipmi_username', 'admin', 'ipmi_password', md5(n::text)))
FROM generate_series(0, {nodes} - 1) AS n`,
		`INSERT INTO node_traits
SELECT node.id, trait.name FROM nodes AS node, unnest(ARRAY['CUSTOM_COMMON', 'HW_CPU_X86_AVX2', 'HW_CPU_X86_VMX', 'HW_NUMA_ROOT',
    'CUSTOM_RARER_' || (node.id - 1) / {classes} % 4]) AS trait (name)`,
	}
	if providers {
		statements = append(statements, providerStatements...)
	}
	numbers := strings.NewReplacer("{nodes}", fmt.Sprint(of.nodes), "{classes}", fmt.Sprint(of.classes))
	for _, statement := range append(statements, "VACUUM ANALYZE") {
		if _, err := conn.Exec(ctx, numbers.Replace(statement)); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}

// providerStatements insert the providers of all nodes at once, because one call of the
// function for each of 10,000 nodes takes 40 seconds.
var providerStatements = []string{
	`INSERT INTO resource_classes (name) SELECT 'CUSTOM_CLASS_' || n FROM generate_series(0, {classes} - 1) AS n`,
	`INSERT INTO traits (name) SELECT DISTINCT trait FROM node_traits ON CONFLICT DO NOTHING`,
	`INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE SELECT id, uuid, uuid::text, id FROM nodes`,
	`SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), {nodes} + 1)`,
	`INSERT INTO provider_generations (provider_id, updated_at) SELECT id, now() FROM nodes`,
	`INSERT INTO provider_traits SELECT present.node_id, trait.id FROM node_traits AS present JOIN traits AS trait ON trait.name = present.trait`,
	`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT node.id, class.id, node.id, 1, CASE WHEN node.instance_uuid IS NULL THEN 0 ELSE 1 END, 1, 1, 1, 1
FROM nodes AS node JOIN resource_classes AS class ON class.name = replace(upper('custom_' || node.resource_class), '-', '_')`,
	`INSERT INTO projects (external_id) VALUES ('00000000-0000-0000-0000-000000000000')`,
	`INSERT INTO users (external_id) VALUES ('00000000-0000-0000-0000-000000000000')`,
	`INSERT INTO consumer_types (name) VALUES ('BAREMETAL')`,
	`UPDATE baremetal_backend SET placement = true`,
}

// release deletes all node allocations made since load, without triggers and checks,
// and vacuums the tables.
func release(ctx context.Context, conn *pgx.Conn) error {
	for _, statement := range []string{`
SET session_replication_role = replica`,
		`DELETE FROM node_allocations`,
		`UPDATE nodes SET instance_uuid = NULL WHERE instance_uuid IS NOT NULL AND provision_state = 'available'`,
		`DELETE FROM allocations`,
		`DELETE FROM consumers`,
		`UPDATE inventories SET used = 0, reserved = 0 WHERE used = 1`,
		`RESET session_replication_role`,
		`VACUUM nodes, node_allocations, allocations, consumers, inventories, provider_generations, resource_providers`,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}
