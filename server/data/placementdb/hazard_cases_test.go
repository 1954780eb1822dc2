package placementdb_test

// hazard is what is done to the plain source, and how the target looks otherwise than
// that of the plain source then; what is noted as odd is part of the target.
type hazard struct {
	statements string
	want       []string
}

var hazards = map[string]hazard{
	"a source without anomalies": {
		`SELECT 1`,
		nil,
	},
	"an upper case uuid of a provider is canonical": {
		`UPDATE resource_providers SET uuid = 'ABCDEF00-0000-4000-8000-000000000001' WHERE id = 1`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-uuid-spelling, source_row: "{\"id\": 1, \"name\": \"host\", \"uuid\": \"ABCDEF00-0000-4000-8000-000000000001\", \"uuid_here\": \"abcdef00-0000-4000-8000-000000000001\"}"}`,
			`~ resource_providers{id: 1} uuid: 00000000-0000-4000-8000-000000000001 -> abcdef00-0000-4000-8000-000000000001`,
		},
	},
	"a uuid of a provider that is none gets a made one": {
		`UPDATE resource_providers SET uuid = 'nonsense' WHERE id = 2`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-uuid-invalid, source_row: "{\"id\": 2, \"name\": \"numa\", \"uuid\": \"nonsense\", \"uuid_here\": \"244c572a-e121-d96e-66e7-f766f3dc808c\"}"}`,
			`~ resource_providers{id: 2} uuid: 00000000-0000-4000-8000-000000000002 -> 244c572a-e121-d96e-66e7-f766f3dc808c`,
		},
	},
	"a provider without root gets its topmost ancestor": {
		`UPDATE resource_providers SET root_provider_id = NULL`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-root-missing, source_row: "{\"id\": 1, \"name\": \"host\", \"uuid\": \"00000000-0000-4000-8000-000000000001\", \"root_here\": 1, \"root_provider_id\": null}"}`,
			`+ import_anomalies{id: 2, kind: provider-root-missing, source_row: "{\"id\": 2, \"name\": \"numa\", \"uuid\": \"00000000-0000-4000-8000-000000000002\", \"root_here\": 1, \"root_provider_id\": null}"}`,
		},
	},
	"a root that is not the topmost ancestor is put right": {
		`UPDATE resource_providers SET root_provider_id = 2 WHERE id = 2`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-root-wrong, source_row: "{\"id\": 2, \"name\": \"numa\", \"uuid\": \"00000000-0000-4000-8000-000000000002\", \"root_here\": 1, \"root_provider_id\": 2}"}`,
		},
	},
	"a provider without generation has generation 0": {
		`UPDATE resource_providers SET generation = NULL WHERE id = 1`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-generation-missing, source_row: "{\"id\": 1, \"name\": \"host\", \"uuid\": \"00000000-0000-4000-8000-000000000001\"}"}`,
			`~ provider_generations{provider_id: 1} generation: 7 -> 0`,
		},
	},
	"a provider without name is called by its uuid": {
		`UPDATE resource_providers SET name = NULL WHERE id = 2`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-name-missing, source_row: "{\"id\": 2, \"uuid\": \"00000000-0000-4000-8000-000000000002\"}"}`,
			`~ resource_providers{id: 2} name: numa -> 00000000-0000-4000-8000-000000000002`,
		},
	},
	"a name that is taken is not given twice": {
		`UPDATE resource_providers SET name = NULL WHERE id = 2;
		UPDATE resource_providers SET name = '00000000-0000-4000-8000-000000000002' WHERE id = 1`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-name-missing, source_row: "{\"id\": 2, \"uuid\": \"00000000-0000-4000-8000-000000000002\"}"}`,
			`~ resource_providers{id: 1} name: host -> 00000000-0000-4000-8000-000000000002`,
			`~ resource_providers{id: 2} name: numa -> "00000000-0000-4000-8000-000000000002 2"`,
		},
	},
	"a provider whose parent does not exist is a root": {
		`UPDATE resource_providers SET parent_provider_id = 99 WHERE id = 2`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-parent-missing, source_row: "{\"id\": 2, \"name\": \"numa\", \"uuid\": \"00000000-0000-4000-8000-000000000002\", \"parent_provider_id\": 99}"}`,
			`+ import_anomalies{id: 2, kind: provider-root-wrong, source_row: "{\"id\": 2, \"name\": \"numa\", \"uuid\": \"00000000-0000-4000-8000-000000000002\", \"root_here\": 2, \"root_provider_id\": 1}"}`,
			`~ inventories{provider_id: 2, class_id: 0} root_id: 1 -> 2`,
			`~ inventories{provider_id: 2, class_id: 10000} root_id: 1 -> 2`,
			`~ provider_traits{provider_id: 2, trait_id: 179} root_id: 1 -> 2`,
			`~ provider_traits{provider_id: 2, trait_id: 378} root_id: 1 -> 2`,
			`~ resource_providers{id: 2} root_id: 1 -> 2, parent_id: 1 -> null`,
		},
	},
	"a parent cycle is cut at its lowest id": {
		`UPDATE resource_providers SET parent_provider_id = 2 WHERE id = 1`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-parent-cycle, source_row: "{\"id\": 1, \"name\": \"host\", \"uuid\": \"00000000-0000-4000-8000-000000000001\", \"parent_provider_id\": 2}"}`,
		},
	},
	"a provider that is its own parent is a root": {
		`UPDATE resource_providers SET parent_provider_id = 2, root_provider_id = 2 WHERE id = 2`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-parent-cycle, source_row: "{\"id\": 2, \"name\": \"numa\", \"uuid\": \"00000000-0000-4000-8000-000000000002\", \"parent_provider_id\": 2}"}`,
			`~ inventories{provider_id: 2, class_id: 0} root_id: 1 -> 2`,
			`~ inventories{provider_id: 2, class_id: 10000} root_id: 1 -> 2`,
			`~ provider_traits{provider_id: 2, trait_id: 179} root_id: 1 -> 2`,
			`~ provider_traits{provider_id: 2, trait_id: 378} root_id: 1 -> 2`,
			`~ resource_providers{id: 2} root_id: 1 -> 2, parent_id: 1 -> null`,
		},
	},
	"names of providers that differ by case only are kept": {
		`INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) VALUES (3, '00000000-0000-4000-8000-000000000003', 'HOST', 0, 3)`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-name-case, source_row: "{\"id\": 1, \"names\": [\"host\", \"HOST\"]}"}`,
			`+ import_anomalies{id: 2, kind: time-missing, source_row: "{\"rows\": 1, \"table\": \"resource_providers\"}"}`,
			`+ provider_generations{provider_id: 3, generation: 0, updated_at: null}`,
			`+ resource_providers{id: 3, uuid: 00000000-0000-4000-8000-000000000003, name: HOST, root_id: 3, parent_id: null, created_at: set}`,
		},
	},
	"a consumer without record is made": {
		`DELETE FROM consumers WHERE id = 2`,
		[]string{
			`~ consumers{id: 2} generation: 4 -> 1, project_id: 1 -> 2, user_id: 1 -> 2`,
			`+ import_anomalies{id: 1, kind: consumer-missing, source_row: "{\"uuid\": \"c0000000-0000-4000-8000-000000000002\", \"allocations\": 1}"}`,
			`+ projects{id: 2, external_id: "owner's", created_at: set}`,
			`+ users{id: 2, external_id: owner, created_at: set}`,
		},
	},
	"allocations of one consumer in two spellings are one consumer's": {
		`UPDATE allocations SET consumer_id = 'C0000000000040008000000000000001' WHERE id = 2`,
		[]string{
			`+ import_anomalies{id: 1, kind: consumer-uuid-spelling, source_row: "{\"uuid\": \"C0000000000040008000000000000001\", \"uuid_here\": \"c0000000-0000-4000-8000-000000000001\"}"}`,
		},
	},
	"two consumers with one uuid become one": {
		`INSERT INTO consumers (id, uuid, project_id, user_id, generation) VALUES (3, 'C0000000-0000-4000-8000-000000000001', 1, 1, 9)`,
		[]string{
			`+ import_anomalies{id: 1, kind: consumer-uuid-twice, source_row: "{\"id\": 3, \"user\": \"ada\", \"uuid\": \"C0000000-0000-4000-8000-000000000001\", \"project\": \"lab\", \"user_id\": 1, \"created_at\": null, \"generation\": 9, \"project_id\": 1, \"updated_at\": null, \"consumer_type\": null}"}`,
		},
	},
	"a consumer that is no uuid keeps what it has": {
		`UPDATE allocations SET consumer_id = '------------------------------------' WHERE id = 5;
		UPDATE consumers SET uuid = '------------------------------------' WHERE id = 2`,
		[]string{
			`~ consumers{id: 2} uuid: c0000000-0000-4000-8000-000000000002 -> 0626a7a9-d17c-5bc9-e9bd-a6b7bc6b1dbb`,
			`+ import_anomalies{id: 1, kind: consumer-uuid-invalid, source_row: "{\"uuid\": \"------------------------------------\", \"uuid_here\": \"0626a7a9-d17c-5bc9-e9bd-a6b7bc6b1dbb\"}"}`,
		},
	},
	"a consumer without allocations is left out": {
		`INSERT INTO consumers (id, uuid, project_id, user_id, generation) VALUES (3, 'c0000000-0000-4000-8000-000000000003', 1, 1, 9)`,
		[]string{
			`+ import_anomalies{id: 1, kind: consumer-idle, source_row: "{\"id\": 3, \"user\": \"ada\", \"uuid\": \"c0000000-0000-4000-8000-000000000003\", \"project\": \"lab\", \"user_id\": 1, \"created_at\": null, \"generation\": 9, \"project_id\": 1, \"updated_at\": null, \"consumer_type\": null}"}`,
		},
	},
	"a consumer of generation 0 has 1": {
		`UPDATE consumers SET generation = 0 WHERE id = 2`,
		[]string{
			`~ consumers{id: 2} generation: 4 -> 1`,
			`+ import_anomalies{id: 1, kind: consumer-generation, source_row: "{\"id\": 2, \"uuid\": \"c0000000-0000-4000-8000-000000000002\", \"generation\": 0}"}`,
		},
	},
	"a consumer whose owner does not exist is incomplete": {
		`UPDATE consumers SET project_id = 9, user_id = 9 WHERE id = 2`,
		[]string{
			`~ consumers{id: 2} project_id: 1 -> 2, user_id: 1 -> 2`,
			`+ import_anomalies{id: 1, kind: consumer-project-missing, source_row: "{\"id\": 2, \"uuid\": \"c0000000-0000-4000-8000-000000000002\", \"project_id\": 9}"}`,
			`+ import_anomalies{id: 2, kind: consumer-user-missing, source_row: "{\"id\": 2, \"uuid\": \"c0000000-0000-4000-8000-000000000002\", \"user_id\": 9}"}`,
			`+ projects{id: 2, external_id: "owner's", created_at: set}`,
			`+ users{id: 2, external_id: owner, created_at: set}`,
		},
	},
	"a consumer whose type does not exist is of type unknown": {
		`UPDATE consumers SET consumer_type_id = 9 WHERE id = 1`,
		[]string{
			`~ consumers{id: 1} consumer_type_id: 1 -> null`,
			`+ import_anomalies{id: 1, kind: consumer-type-missing, source_row: "{\"id\": 1, \"uuid\": \"c0000000-0000-4000-8000-000000000001\", \"consumer_type_id\": 9}"}`,
		},
	},
	"several allocations of one class are added up": {
		`INSERT INTO allocations (id, resource_provider_id, consumer_id, resource_class_id, used, created_at) VALUES (9, 2, 'c0000000-0000-4000-8000-000000000001', 0, 3, '2020-01-05 00:00:00')`,
		[]string{
			`~ allocations{consumer_id: 1, provider_id: 2, class_id: 0} used: 2 -> 5`,
			`+ import_anomalies{id: 1, kind: allocation-twice, source_row: "{\"ids\": [2, 9], \"used\": [2, 3], \"consumer\": \"c0000000-0000-4000-8000-000000000001\", \"used_here\": 5, \"resource_class_id\": 0, \"resource_provider_id\": 2}"}`,
			`~ inventories{provider_id: 2, class_id: 0} used: 2 -> 5`,
		},
	},
	"an allocation on a provider that does not exist is left out": {
		`INSERT INTO allocations (id, resource_provider_id, consumer_id, resource_class_id, used) VALUES (9, 77, 'c0000000-0000-4000-8000-000000000001', 0, 3)`,
		[]string{
			`+ import_anomalies{id: 1, kind: allocation-orphan, source_row: "{\"id\": 9, \"used\": 3, \"class\": \"VCPU\", \"provider\": null, \"created_at\": null, \"updated_at\": null, \"consumer_id\": \"c0000000-0000-4000-8000-000000000001\", \"resource_class_id\": 0, \"resource_provider_id\": 77}"}`,
		},
	},
	"an allocation without inventory is left out": {
		`INSERT INTO allocations (id, resource_provider_id, consumer_id, resource_class_id, used) VALUES (9, 1, 'c0000000-0000-4000-8000-000000000009', 0, 3)`,
		[]string{
			`+ import_anomalies{id: 1, kind: allocation-orphan, source_row: "{\"id\": 9, \"used\": 3, \"class\": \"VCPU\", \"provider\": \"00000000-0000-4000-8000-000000000001\", \"created_at\": null, \"updated_at\": null, \"consumer_id\": \"c0000000-0000-4000-8000-000000000009\", \"resource_class_id\": 0, \"resource_provider_id\": 1}"}`,
		},
	},
	"an allocation of nothing is left out": {
		`UPDATE allocations SET used = 0 WHERE id = 5`,
		[]string{
			`- allocations{consumer_id: 2, provider_id: 2, class_id: 10000, id: 5, used: 2, created_at: set}`,
			`- consumers{id: 2, uuid: c0000000-0000-4000-8000-000000000002, generation: 4, project_id: 1, user_id: 1, consumer_type_id: null, created_at: set, updated_at: null, leased: false}`,
			`+ import_anomalies{id: 1, kind: allocation-empty, source_row: "{\"id\": 5, \"used\": 0, \"class\": \"CUSTOM_SEAT\", \"provider\": \"00000000-0000-4000-8000-000000000002\", \"created_at\": \"2020-01-04T00:00:00+00:00\", \"updated_at\": null, \"consumer_id\": \"c0000000-0000-4000-8000-000000000002\", \"resource_class_id\": 10000, \"resource_provider_id\": 2}"}`,
			`+ import_anomalies{id: 2, kind: consumer-idle, source_row: "{\"id\": 2, \"user\": \"ada\", \"uuid\": \"c0000000-0000-4000-8000-000000000002\", \"project\": \"lab\", \"user_id\": 1, \"created_at\": \"2020-01-04T00:00:00+00:00\", \"generation\": 4, \"project_id\": 1, \"updated_at\": null, \"consumer_type\": null}"}`,
			`~ inventories{provider_id: 2, class_id: 10000} used: 2 -> 0`,
		},
	},
	"an inventory without provider is skipped": {
		`INSERT INTO inventories (id, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio) VALUES (9, 77, 0, 1, 0, 1, 1, 1, 1.0)`,
		[]string{
			`+ import_anomalies{id: 1, kind: inventory-orphan, source_row: "{\"id\": 9, \"class\": \"VCPU\", \"total\": 1, \"max_unit\": 1, \"min_unit\": 1, \"provider\": null, \"reserved\": 0, \"step_size\": 1, \"created_at\": null, \"updated_at\": null, \"allocation_ratio\": \"1\", \"resource_class_id\": 0, \"resource_provider_id\": 77}"}`,
		},
	},
	"an inventory of a class that does not exist is left out with its allocations": {
		`DELETE FROM resource_classes WHERE id = 10000`,
		[]string{
			`- allocations{consumer_id: 2, provider_id: 2, class_id: 10000, id: 5, used: 2, created_at: set}`,
			`- consumers{id: 2, uuid: c0000000-0000-4000-8000-000000000002, generation: 4, project_id: 1, user_id: 1, consumer_type_id: null, created_at: set, updated_at: null, leased: false}`,
			`+ import_anomalies{id: 1, kind: inventory-orphan, source_row: "{\"id\": 3, \"class\": null, \"total\": 4, \"max_unit\": 4, \"min_unit\": 1, \"provider\": \"00000000-0000-4000-8000-000000000002\", \"reserved\": 0, \"step_size\": 2, \"created_at\": \"2020-01-03T00:00:00+00:00\", \"updated_at\": null, \"allocation_ratio\": \"1\", \"resource_class_id\": 10000, \"resource_provider_id\": 2}"}`,
			`+ import_anomalies{id: 2, kind: allocation-orphan, source_row: "{\"id\": 5, \"used\": 2, \"class\": null, \"provider\": \"00000000-0000-4000-8000-000000000002\", \"created_at\": \"2020-01-04T00:00:00+00:00\", \"updated_at\": null, \"consumer_id\": \"c0000000-0000-4000-8000-000000000002\", \"resource_class_id\": 10000, \"resource_provider_id\": 2}"}`,
			`+ import_anomalies{id: 3, kind: consumer-idle, source_row: "{\"id\": 2, \"user\": \"ada\", \"uuid\": \"c0000000-0000-4000-8000-000000000002\", \"project\": \"lab\", \"user_id\": 1, \"created_at\": \"2020-01-04T00:00:00+00:00\", \"generation\": 4, \"project_id\": 1, \"updated_at\": null, \"consumer_type\": null}"}`,
			`- inventories{provider_id: 2, class_id: 10000, root_id: 1, total: 4, reserved: 0, min_unit: 1, max_unit: 4, step_size: 2, allocation_ratio: 1, used: 2, created_at: set, updated_at: null}`,
			`- resource_classes{id: 10000, name: CUSTOM_SEAT, created_at: set, updated_at: null}`,
		},
	},
	"numbers of an inventory beyond their bounds give no more room than before": {
		`UPDATE inventories SET total = 0, max_unit = 0, step_size = 0, min_unit = 0, reserved = -5 WHERE id = 3`,
		[]string{
			`+ import_anomalies{id: 1, kind: inventory-bounds, source_row: "{\"id\": 3, \"class\": \"CUSTOM_SEAT\", \"total\": 0, \"max_unit\": 0, \"min_unit\": 0, \"provider\": \"00000000-0000-4000-8000-000000000002\", \"reserved\": -5, \"step_size\": 0, \"created_at\": \"2020-01-03T00:00:00+00:00\", \"updated_at\": null, \"allocation_ratio\": \"1\", \"resource_class_id\": 10000, \"resource_provider_id\": 2}"}`,
			`+ import_anomalies{id: 2, kind: inventory-overcommitted, source_row: "{\"id\": 3, \"used\": 2, \"class\": \"CUSTOM_SEAT\", \"total\": 1, \"provider\": \"00000000-0000-4000-8000-000000000002\", \"reserved\": 1, \"allocation_ratio\": \"1\"}"}`,
			`~ inventories{provider_id: 2, class_id: 10000} total: 4 -> 1, reserved: 0 -> 1, max_unit: 4 -> 1, step_size: 2 -> 1`,
		},
	},
	"an inventory that is used beyond its capacity is kept": {
		`UPDATE inventories SET total = 1 WHERE id = 3`,
		[]string{
			`+ import_anomalies{id: 1, kind: inventory-overcommitted, source_row: "{\"id\": 3, \"used\": 2, \"class\": \"CUSTOM_SEAT\", \"total\": 1, \"provider\": \"00000000-0000-4000-8000-000000000002\", \"reserved\": 0, \"allocation_ratio\": \"1\"}"}`,
			`~ inventories{provider_id: 2, class_id: 10000} total: 4 -> 1`,
		},
	},
	"a ratio is kept to the last digit": {
		`UPDATE inventories SET allocation_ratio = 1.1 WHERE id = 1`,
		[]string{
			`~ inventories{provider_id: 1, class_id: 2} allocation_ratio: 1.5 -> 1.1`,
		},
	},
	"an aggregate without uuid is left out with its members": {
		`INSERT INTO placement_aggregates (id) VALUES (2);
		INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (2, 2)`,
		[]string{
			`+ import_anomalies{id: 1, kind: aggregate-uuid-missing, source_row: "{\"id\": 2, \"created_at\": null}"}`,
			`+ import_anomalies{id: 2, kind: provider-aggregate-orphan, source_row: "{\"provider\": \"00000000-0000-4000-8000-000000000002\", \"aggregate\": null, \"aggregate_id\": 2, \"resource_provider_id\": 2}"}`,
		},
	},
	"two aggregates with one uuid become one": {
		`INSERT INTO placement_aggregates (id, uuid) VALUES (2, 'A9900000-0000-4000-8000-000000000001');
		INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (2, 2), (1, 2)`,
		[]string{
			`+ import_anomalies{id: 1, kind: aggregate-uuid-spelling, source_row: "{\"id\": 2, \"uuid\": \"A9900000-0000-4000-8000-000000000001\", \"uuid_here\": \"a9900000-0000-4000-8000-000000000001\"}"}`,
			`+ import_anomalies{id: 2, kind: aggregate-uuid-twice, source_row: "{\"ids\": [1, 2], \"uuid\": \"a9900000-0000-4000-8000-000000000001\", \"spellings\": [\"a9900000-0000-4000-8000-000000000001\", \"A9900000-0000-4000-8000-000000000001\"]}"}`,
			`+ provider_aggregates{provider_id: 2, aggregate_id: 1, root_id: 1}`,
		},
	},
	"a member of an aggregate that does not exist is left out": {
		`INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (1, 55), (66, 1)`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-aggregate-orphan, source_row: "{\"provider\": \"00000000-0000-4000-8000-000000000001\", \"aggregate\": null, \"aggregate_id\": 55, \"resource_provider_id\": 1}"}`,
			`+ import_anomalies{id: 2, kind: provider-aggregate-orphan, source_row: "{\"provider\": null, \"aggregate\": \"a9900000-0000-4000-8000-000000000001\", \"aggregate_id\": 1, \"resource_provider_id\": 66}"}`,
		},
	},
	"a trait without provider is skipped": {
		`INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (1, 55), (66, 1)`,
		[]string{
			`+ import_anomalies{id: 1, kind: provider-trait-orphan, source_row: "{\"trait\": null, \"provider\": \"00000000-0000-4000-8000-000000000001\", \"trait_id\": 55, \"resource_provider_id\": 1}"}`,
			`+ import_anomalies{id: 2, kind: provider-trait-orphan, source_row: "{\"trait\": \"HW_CPU_X86_AVX\", \"provider\": null, \"trait_id\": 1, \"resource_provider_id\": 66}"}`,
		},
	},
	"a standard class with another number is known by its name": {
		`UPDATE resource_classes SET id = 3 WHERE id = 2;
		UPDATE inventories SET resource_class_id = 3 WHERE resource_class_id = 2;
		UPDATE allocations SET resource_class_id = 3 WHERE resource_class_id = 2`,
		[]string{
			`+ import_anomalies{id: 1, kind: class-number, source_row: "{\"id\": 3, \"name\": \"DISK_GB\", \"id_here\": 2}"}`,
		},
	},
	"a custom class with a standard number gets another": {
		`UPDATE resource_classes SET id = 5 WHERE id = 10000;
		UPDATE inventories SET resource_class_id = 5 WHERE resource_class_id = 10000;
		UPDATE allocations SET resource_class_id = 5 WHERE resource_class_id = 10000`,
		[]string{
			`+ import_anomalies{id: 1, kind: class-number, source_row: "{\"id\": 5, \"name\": \"CUSTOM_SEAT\", \"id_here\": 10000}"}`,
		},
	},
	"a standard class that is unknown here is kept": {
		`INSERT INTO resource_classes (id, name) VALUES (21, 'HOLODECK'), (8, 'TRANSPORTER')`,
		[]string{
			`+ import_anomalies{id: 1, kind: class-number, source_row: "{\"id\": 8, \"name\": \"TRANSPORTER\", \"id_here\": 22}"}`,
			`+ import_anomalies{id: 2, kind: class-standard, source_row: "{\"id\": 8, \"name\": \"TRANSPORTER\"}"}`,
			`+ import_anomalies{id: 3, kind: class-standard, source_row: "{\"id\": 21, \"name\": \"HOLODECK\"}"}`,
			`+ resource_classes{id: 21, name: HOLODECK, created_at: set, updated_at: null}`,
			`+ resource_classes{id: 22, name: TRANSPORTER, created_at: set, updated_at: null}`,
		},
	},
	"names of other characters are kept": {
		`INSERT INTO resource_classes (id, name) VALUES (10001, 'custom_Seat'), (10002, 'CUSTOM_seat');
		INSERT INTO traits (id, name) VALUES (4, 'custom-fast'), (5, 'Custom_FAST'), (6, 'HW_WARP')`,
		[]string{
			`+ import_anomalies{id: 1, kind: class-case, source_row: "{\"names\": [\"CUSTOM_SEAT\", \"custom_Seat\", \"CUSTOM_seat\"]}"}`,
			`+ import_anomalies{id: 2, kind: class-name, source_row: "{\"id\": 10001, \"name\": \"custom_Seat\"}"}`,
			`+ import_anomalies{id: 3, kind: class-name, source_row: "{\"id\": 10002, \"name\": \"CUSTOM_seat\"}"}`,
			`+ import_anomalies{id: 4, kind: class-standard, source_row: "{\"id\": 10001, \"name\": \"custom_Seat\"}"}`,
			`+ import_anomalies{id: 5, kind: trait-case, source_row: "{\"names\": [\"CUSTOM_FAST\", \"Custom_FAST\"]}"}`,
			`+ import_anomalies{id: 6, kind: trait-name, source_row: "{\"id\": 4, \"name\": \"custom-fast\"}"}`,
			`+ import_anomalies{id: 7, kind: trait-name, source_row: "{\"id\": 5, \"name\": \"Custom_FAST\"}"}`,
			`+ import_anomalies{id: 8, kind: trait-standard, source_row: "{\"id\": 4, \"name\": \"custom-fast\"}"}`,
			`+ import_anomalies{id: 9, kind: trait-standard, source_row: "{\"id\": 5, \"name\": \"Custom_FAST\"}"}`,
			`+ import_anomalies{id: 10, kind: trait-standard, source_row: "{\"id\": 6, \"name\": \"HW_WARP\"}"}`,
			`+ resource_classes{id: 10001, name: custom_Seat, created_at: set, updated_at: null}`,
			`+ resource_classes{id: 10002, name: CUSTOM_seat, created_at: set, updated_at: null}`,
			`+ traits{id: 379, name: custom-fast, created_at: set, updated_at: null}`,
			`+ traits{id: 380, name: Custom_FAST, created_at: set, updated_at: null}`,
			`+ traits{id: 381, name: HW_WARP, created_at: set, updated_at: null}`,
		},
	},
	"projects that differ by case only are kept": {
		`INSERT INTO projects (id, external_id) VALUES (2, 'LAB')`,
		[]string{
			`+ import_anomalies{id: 1, kind: owner-case, source_row: "{\"projects\": [\"lab\", \"LAB\"]}"}`,
			`+ projects{id: 2, external_id: LAB, created_at: set}`,
		},
	},
	"rows that don't say when they were made are of now": {
		`UPDATE consumers SET created_at = NULL;
		UPDATE allocations SET created_at = NULL`,
		[]string{
			`+ import_anomalies{id: 1, kind: time-missing, source_row: "{\"rows\": 3, \"table\": \"allocations\"}"}`,
			`+ import_anomalies{id: 2, kind: time-missing, source_row: "{\"rows\": 2, \"table\": \"consumers\"}"}`,
		},
	},
	"times in no form that the service writes are noted": {
		`UPDATE resource_providers SET updated_at = 1577836800 WHERE id = 1;
		UPDATE traits SET created_at = 'never' WHERE id = 3`,
		[]string{
			`+ import_anomalies{id: 1, kind: time-unreadable, source_row: "{\"id\": 3, \"time\": \"never\", \"table\": \"traits\", \"column\": \"created_at\"}"}`,
			`+ import_anomalies{id: 2, kind: time-unreadable, source_row: "{\"id\": 1, \"time\": \"1577836800\", \"table\": \"resource_providers\", \"column\": \"updated_at\"}"}`,
			`~ provider_generations{provider_id: 1} updated_at: set -> null`,
		},
	},
	"a time that is empty or zero is missing": {
		`UPDATE resource_providers SET updated_at = '0000-00-00 00:00:00' WHERE id = 1;
		UPDATE traits SET created_at = '' WHERE id = 3`,
		[]string{
			`~ provider_generations{provider_id: 1} updated_at: set -> null`,
		},
	},
	"ratios beyond what sums can bear are brought within": {
		`UPDATE inventories SET allocation_ratio = 9e999, reserved = total WHERE id = 1;
		UPDATE inventories SET allocation_ratio = 1e308 WHERE id = 2;
		UPDATE inventories SET allocation_ratio = -9e999 WHERE id = 3`,
		[]string{
			`+ import_anomalies{id: 1, kind: inventory-bounds, source_row: "{\"id\": 1, \"class\": \"DISK_GB\", \"total\": 1000, \"max_unit\": 1000, \"min_unit\": 1, \"provider\": \"00000000-0000-4000-8000-000000000001\", \"reserved\": 1000, \"step_size\": 1, \"created_at\": \"2020-01-03T00:00:00+00:00\", \"updated_at\": null, \"allocation_ratio\": \"Infinity\", \"resource_class_id\": 2, \"resource_provider_id\": 1}"}`,
			`+ import_anomalies{id: 2, kind: inventory-bounds, source_row: "{\"id\": 2, \"class\": \"VCPU\", \"total\": 8, \"max_unit\": 8, \"min_unit\": 1, \"provider\": \"00000000-0000-4000-8000-000000000002\", \"reserved\": 0, \"step_size\": 1, \"created_at\": \"2020-01-03T00:00:00+00:00\", \"updated_at\": null, \"allocation_ratio\": \"1e+308\", \"resource_class_id\": 0, \"resource_provider_id\": 2}"}`,
			`+ import_anomalies{id: 3, kind: inventory-bounds, source_row: "{\"id\": 3, \"class\": \"CUSTOM_SEAT\", \"total\": 4, \"max_unit\": 4, \"min_unit\": 1, \"provider\": \"00000000-0000-4000-8000-000000000002\", \"reserved\": 0, \"step_size\": 2, \"created_at\": \"2020-01-03T00:00:00+00:00\", \"updated_at\": null, \"allocation_ratio\": \"-Infinity\", \"resource_class_id\": 10000, \"resource_provider_id\": 2}"}`,
			`+ import_anomalies{id: 4, kind: inventory-overcommitted, source_row: "{\"id\": 1, \"used\": 20, \"class\": \"DISK_GB\", \"total\": 1000, \"provider\": \"00000000-0000-4000-8000-000000000001\", \"reserved\": 1000, \"allocation_ratio\": \"3.40282e+38\"}"}`,
			`+ import_anomalies{id: 5, kind: inventory-overcommitted, source_row: "{\"id\": 3, \"used\": 2, \"class\": \"CUSTOM_SEAT\", \"total\": 4, \"provider\": \"00000000-0000-4000-8000-000000000002\", \"reserved\": 0, \"allocation_ratio\": \"-3.40282e+38\"}"}`,
			`~ inventories{provider_id: 1, class_id: 2} reserved: 10 -> 1000, allocation_ratio: 1.5 -> 3.40282e+38`,
			`~ inventories{provider_id: 2, class_id: 0} allocation_ratio: 16 -> 3.40282e+38`,
			`~ inventories{provider_id: 2, class_id: 10000} allocation_ratio: 1 -> -3.40282e+38`,
		},
	},
}
