package badinput

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
)

// ready does what a conductor would take its time for.
const ready = "UPDATE nodes SET provision_state = 'available', power_state = 'power off', revision = revision + 1 WHERE provision_state = 'enroll'"

// furnishing are requests that make what others name.
var furnishing = func() (steps [][3]string) {
	steps = append(steps, [3]string{"PUT", "/traits/CUSTOM_GOLD", ""}, [3]string{"PUT", "/resource_classes/CUSTOM_BAREMETAL", ""})
	for i, id := range providers {
		steps = append(steps, [3]string{"POST", "/resource_providers", fmt.Sprintf(`{"name": "cn-%d", "uuid": %q}`, i, id)},
			[3]string{"PUT", "/resource_providers/" + id + "/inventories",
				`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 65536}}}`},
			[3]string{"PUT", "/allocations/" + consumers[i], fmt.Sprintf(`{"allocations": {%q: {"resources": {"VCPU": 1}}},
				"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`, id)})
	}
	for i, id := range nodes {
		steps = append(steps, [3]string{"POST", "/v1/nodes", fmt.Sprintf(
			`{"driver": "manual-management", "name": "rack-%d", "uuid": %q, "resource_class": "baremetal"}`, i+1, id)},
			[3]string{"PUT", "/v1/nodes/" + id + "/traits/CUSTOM_GOLD", ""})
	}
	for i, id := range ports {
		steps = append(steps, [3]string{"POST", "/v1/ports", fmt.Sprintf(`{"uuid": %q, "node_uuid": %q, "address": "52:54:00:00:01:0%d"}`, id, nodes[i], i)})
	}
	return append(steps, [3]string{"", "", ready}, [3]string{"POST", "/v1/allocations", `{"resource_class": "baremetal", "name": "instance-1"}`},
		[3]string{"POST", "/v1/allocations", fmt.Sprintf(`{"resource_class": "baremetal", "uuid": %q}`, consumers[0])})
}()

// furnish fills the database. The first time, everything has to succeed.
func (s *tested) furnish() (refused string) {
	s.t.Helper()
	for _, step := range furnishing {
		if step[2] == ready {
			if _, err := s.db.Pool.Exec(s.t.Context(), ready); err != nil {
				refused = err.Error()
			}
			continue
		}
		m := message{method: step[0], target: step[1], body: []byte(step[2]), headers: [][2]string{
			{"X-Auth-Token", "admin"}, {"X-Roles", "admin,service"}, {"Content-Type", "application/json"},
			{"OpenStack-API-Version", "placement 1.39, baremetal 1.82"},
		}}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(m.wire())))
		if err != nil {
			return err.Error()
		}
		answer := httptest.NewRecorder()
		if s.handler.ServeHTTP(answer, r.WithContext(s.t.Context())); answer.Code >= http.StatusBadRequest {
			refused = fmt.Sprintf("%s %s: status %d, %s", step[0], step[1], answer.Code, answer.Body)
		}
	}
	return refused
}
