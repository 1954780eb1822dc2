package badinput

import "fmt"

// step is a request that is not random.
type step struct{ method, target, body string }

// ready sets new nodes to available without waiting for a conductor.
const ready = "UPDATE nodes SET provision_state = 'available', power_state = 'power off', revision = revision + 1 WHERE provision_state = 'enroll'"

// recorded records a request without candidates, which is not explained.
const recorded = `WITH one AS (
	INSERT INTO explanations (digest, window_start, kind, api, microversion, question, options, reason, requests, first_asked_at, last_asked_at)
	VALUES (sha256('\x00'), '2026-01-01Z', 'candidates', 'placement', '1.36', 'resources=VCPU:8', '{}', 'no_tree', 1, now(), now())
	ON CONFLICT DO NOTHING RETURNING id
) INSERT INTO explanation_requests (request_id, explanation_id, asked_at) SELECT '6b6837d1-5af3-4138-b4ed-e0275c3efda4', one.id, now() FROM one
ON CONFLICT DO NOTHING`

// furnishing are the requests that create the resources of the random requests. The last node,
// rack-7, is the node in the examples of the documents.
var furnishing = func() (steps []step) {
	steps = append(steps, step{"PUT", "/traits/CUSTOM_GOLD", ""}, step{"PUT", "/resource_classes/CUSTOM_BAREMETAL", ""})
	for i, id := range providers {
		steps = append(steps, step{"POST", "/resource_providers", fmt.Sprintf(`{"name": "cn-%d", "uuid": %q}`, i, id)},
			step{"PUT", "/resource_providers/" + id + "/inventories",
				`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 65536}}}`},
			step{"PUT", "/allocations/" + consumers[i], fmt.Sprintf(`{"allocations": {%q: {"resources": {"VCPU": 1}}},
				"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`, id)})
	}
	for i, id := range nodes {
		name, class, trait := fmt.Sprintf("rack-%d", i+1), "baremetal", "CUSTOM_GOLD"
		if i == len(nodes)-1 {
			class, trait = "gold", "CUSTOM_FAST_DISK"
		}
		steps = append(steps, step{"POST", "/v1/nodes", fmt.Sprintf(
			`{"driver": %q, "name": %q, "uuid": %q, "resource_class": %q}`, drivers[i%len(drivers)], name, id, class)},
			step{"PUT", "/v1/nodes/" + id + "/traits/" + trait, ""})
	}
	for i, id := range ports {
		steps = append(steps, step{"POST", "/v1/ports", fmt.Sprintf(`{"uuid": %q, "node_uuid": %q, "address": "52:54:00:00:01:0%d"}`, id, nodes[i], i)})
	}
	return append(steps, step{"", "", ready}, step{"", "", recorded}, step{"POST", "/v1/allocations", `{"resource_class": "baremetal", "name": "instance-1"}`},
		step{"POST", "/v1/allocations", fmt.Sprintf(`{"resource_class": "baremetal", "uuid": %q}`, consumers[0])})
}()

// message returns the request of an administrator with the newest versions.
func (s step) message() message {
	return message{method: s.method, target: s.target, body: []byte(s.body), headers: [][2]string{
		{"X-Auth-Token", "admin"}, {"X-Roles", "admin,service"}, {"Content-Type", "application/json"},
		{"OpenStack-API-Version", "placement 1.39, baremetal 1.82"},
	}}
}
