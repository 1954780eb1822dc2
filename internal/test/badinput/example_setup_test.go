package badinput

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// scenes are the steps that create the resources in the example of an operation. They are for
// operations whose example contains a generation, which random requests rarely match, or several,
// which they never match. The examples contain the first ID of each type. Each sender creates the
// scene with its own IDs, so that requests of other senders do not change it.
var scenes = map[string][]step{
	"PUT /resource_providers/{uuid}/inventories":                  slices.Concat(cleared, host, another),
	"PUT /resource_providers/{uuid}/inventories/{resource_class}": slices.Concat(cleared, host, another),
	"PUT /resource_providers/{uuid}/traits":                       slices.Concat(cleared, host, another),
	"PUT /resource_providers/{uuid}/aggregates":                   slices.Concat(cleared, host, another),
	"POST /allocations":                                           slices.Concat(cleared, host),
	"PUT /allocations/{consumer_uuid}":                            slices.Concat(cleared, host),
	"POST /reshaper":                                              slices.Concat(cleared, host, instance),
}

var (
	cleared = []step{
		{"DELETE", "/allocations/" + consumers[0], ""},
		{"DELETE", "/resource_providers/" + providers[1], ""},
		{"DELETE", "/resource_providers/" + providers[0], ""},
	}
	// host creates a provider with the generation 3, and a child with the generation 0.
	host = []step{
		{"POST", "/resource_providers", fmt.Sprintf(`{"name": "host %s", "uuid": %[1]q}`, providers[0])},
		{"POST", "/resource_providers", fmt.Sprintf(`{"name": "node %s", "uuid": %[1]q, "parent_provider_uuid": %q}`, providers[1], providers[0])},
		{"PUT", "/resource_providers/" + providers[0] + "/inventories",
			`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 262144}}}`},
		{"PUT", "/resource_providers/" + providers[0] + "/aggregates",
			fmt.Sprintf(`{"resource_provider_generation": 1, "aggregates": [%q]}`, aggregates[0])},
		{"PUT", "/resource_providers/" + providers[0] + "/traits", `{"resource_provider_generation": 2, "traits": ["HW_CPU_X86_VMX"]}`},
	}
	// another write sets the host to the generation of the examples, 4.
	another = []step{
		{"PUT", "/resource_providers/" + providers[0] + "/traits", `{"resource_provider_generation": 3, "traits": ["HW_CPU_X86_AVX2"]}`},
	}
	// instance does the same, and creates a consumer with the generation 1.
	instance = []step{
		{"PUT", "/allocations/" + consumers[0], fmt.Sprintf(`{"allocations": {%q: {"resources": {"VCPU": 2, "MEMORY_MB": 2048}}},
			"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`, providers[0])},
	}
)

// maxSceneAttempts limits how often a scene is created again because a claim of another sender, whose query may choose any
// provider, has used one of its providers.
const maxSceneAttempts = 10

// build takes the steps of a scene. It returns the status and the error of the first one that fails.
func (s *tested) build(scene []step, own *strings.Replacer) (status int, err error) {
	for _, one := range scene {
		status, err = s.take(step{one.method, own.Replace(one.target), own.Replace(one.body)})
		if err != nil && (status != http.StatusNotFound || one.method != http.MethodDelete) {
			return status, err
		}
	}
	return http.StatusOK, nil
}

// release deletes the consumers that have allocations on some providers.
func (s *tested) release(providers ...string) {
	rows, err := s.db.Pool.Query(s.t.Context(), `SELECT DISTINCT consumer.uuid::text FROM consumers AS consumer
		JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
		JOIN resource_providers AS provider ON provider.id = allocation.provider_id
		WHERE provider.uuid = ANY ($1::uuid[])`, providers)
	if err != nil {
		s.t.Error(err)
		return
	}
	holding, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Error(err)
	}
	for _, consumer := range holding {
		_, _ = s.take(step{http.MethodDelete, "/allocations/" + consumer, ""}) // another sender may have deleted it
	}
}

// play creates the scene of a request from an example, spoiled or not, and replaces the IDs in the
// request by those of the sender. Only resources to delete may be missing.
func (s *tested) play(m *message, sender int) error {
	if m.scene == nil {
		return nil
	}
	own := strings.NewReplacer("c0ffee00-5ca1-", fmt.Sprintf("c0ffee00-%04d-", sender), "1d5ecafe-0000-", fmt.Sprintf("1d5ecafe-%04d-", 1+sender))
	status, err := s.build(m.scene, own)
	for attempt := 0; status == http.StatusConflict && attempt < maxSceneAttempts; attempt++ {
		s.release(own.Replace(providers[0]), own.Replace(providers[1]))
		status, err = s.build(m.scene, own)
	}
	if err != nil {
		return fmt.Errorf("cannot create the scene: %w", err)
	}
	m.target, m.body = own.Replace(m.target), []byte(own.Replace(string(m.body)))
	return nil
}
