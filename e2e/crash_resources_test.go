//go:build client

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// claimAccount are consumers that have the same of two shared providers: one consumer,
// written by PUT, or two in one POST. Never is a consumer deleted and made again: a
// first claim names no generation, so one that comes late would be taken for new.
type claimAccount struct {
	consumers, providers []uuid.UUID
	generation           int
}

// amount tells one state from the one before.
func (a *claimAccount) amount(generation int) int { return 1 + generation%9 }

func (a *claimAccount) next() (method, path, body, after string) {
	bodies := map[string]any{}
	var states []string
	for _, consumer := range a.consumers {
		allocations := map[string]any{}
		for _, provider := range a.providers {
			allocations[provider.String()] = map[string]any{"resources": map[string]int{"VCPU": a.amount(a.generation + 1)}}
		}
		one := map[string]any{
			"allocations": allocations, "project_id": "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": nil,
		}
		if a.generation > 0 {
			one["consumer_generation"] = a.generation
		}
		bodies[consumer.String()] = one
		states = append(states, a.shown(a.generation+1))
	}
	after = strings.Join(states, ", ")
	if len(a.consumers) == 1 {
		return "PUT", "/allocations/" + a.consumers[0].String(), text(bodies[a.consumers[0].String()]), after
	}
	return "POST", "/allocations", text(bodies), after
}

func (a *claimAccount) shown(generation int) string {
	parts := []string{}
	for _, provider := range a.providers {
		parts = append(parts, fmt.Sprintf("%s:%d", provider, a.amount(generation)))
	}
	slices.Sort(parts)
	return fmt.Sprint(generation, " ", parts)
}

func (a *claimAccount) done() { a.generation++ }

func (a *claimAccount) look() (paths []string) {
	for _, consumer := range a.consumers {
		paths = append(paths, "/allocations/"+consumer.String())
	}
	return paths
}

func (a *claimAccount) state(answers []string) (string, error) {
	states := make([]string, len(a.consumers))
	for i := range states {
		var answer string
		if answers != nil {
			answer = answers[i]
		}
		var err error
		if states[i], err = claimOf(answer, "VCPU"); err != nil {
			return "", err
		}
	}
	return strings.Join(states, ", "), nil
}

// keyedAccount is a claimAccount whose writes have an Idempotency-Key: one that is sent again is never
// refused.
type keyedAccount struct{ claimAccount }

func (a *keyedAccount) isKeyed() bool { return true }

// candidateAccount is a keyedAccount of one consumer, written by POST /claims with one candidate.
type candidateAccount struct{ keyedAccount }

func (a *candidateAccount) next() (method, path, body, after string) {
	allocations := map[string]any{}
	for _, provider := range a.providers {
		allocations[provider.String()] = map[string]any{"resources": map[string]int{"VCPU": a.amount(a.generation + 1)}}
	}
	consumer := map[string]any{
		"uuid": a.consumers[0], "project_id": "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": nil,
	}
	existing := "refuse"
	if a.generation > 0 {
		consumer["consumer_generation"], existing = a.generation, "replace"
	}
	return "POST", "/claims", text(map[string]any{
		"consumers": []any{consumer}, "candidates": []any{map[string]any{"allocations": allocations}}, "existing": existing,
	}), a.shown(a.generation + 1)
}

// claimOf is what the answer of a consumer's allocations says about a class.
func claimOf(answer, class string) (string, error) {
	var body struct {
		Allocations map[string]struct{ Resources map[string]int }
		Generation  int `json:"consumer_generation"`
	}
	if answer != "" {
		if err := json.Unmarshal([]byte(answer), &body); err != nil {
			return "", err
		}
	}
	parts := []string{}
	for provider, has := range body.Allocations {
		parts = append(parts, fmt.Sprintf("%s:%d", provider, has.Resources[class]))
	}
	slices.Sort(parts)
	return fmt.Sprint(body.Generation, " ", parts), nil
}

// stockAccount is a provider whose two classes always have the same total.
type stockAccount struct {
	provider   uuid.UUID
	generation int
}

func (a *stockAccount) next() (method, path, body, after string) {
	total := map[string]int{"total": 10 + a.generation}
	return "PUT", "/resource_providers/" + a.provider.String() + "/inventories", text(map[string]any{
		"resource_provider_generation": a.generation, "inventories": map[string]any{"VCPU": total, "MEMORY_MB": total},
	}), fmt.Sprintf("%d map[MEMORY_MB:%d VCPU:%[2]d]", a.generation+1, 10+a.generation)
}

func (a *stockAccount) done() { a.generation++ }

func (a *stockAccount) look() []string {
	return []string{"/resource_providers/" + a.provider.String() + "/inventories"}
}

func (a *stockAccount) state(answers []string) (string, error) {
	if answers == nil {
		return "0 map[]", nil
	}
	return stockOf(answers[0])
}

// stockOf is what the answer of a provider's inventories says.
func stockOf(answer string) (string, error) {
	var body struct {
		Inventories map[string]struct{ Total int }
		Generation  int `json:"resource_provider_generation"`
	}
	err := json.Unmarshal([]byte(answer), &body)
	totals := map[string]int{}
	for class, record := range body.Inventories {
		totals[class] = record.Total
	}
	return fmt.Sprint(body.Generation, " ", totals), err
}

// moveAccount is a consumer with its VGPUs, which a reshape carries from one of two
// providers to the other, and the inventory with it.
type moveAccount struct {
	consumer    uuid.UUID
	providers   [2]uuid.UUID
	generations [2]int
	generation  int
}

func (a *moveAccount) next() (method, path, body, after string) {
	to := a.generation % 2
	from := 1 - to
	claim := map[string]any{
		"allocations": map[string]any{a.providers[to].String(): map[string]any{"resources": map[string]int{"VGPU": 2}}},
		"project_id":  "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": a.generation,
	}
	if a.generation == 0 {
		claim["consumer_generation"] = nil
	}
	generations := a.after()
	stocks := [2]string{fmt.Sprint(generations[0], " map[]"), fmt.Sprint(generations[1], " map[]")}
	stocks[to] = fmt.Sprint(generations[to], " map[VGPU:4]")
	return "POST", "/reshaper", text(map[string]any{
		"inventories": map[string]any{
			a.providers[to].String():   map[string]any{"resource_provider_generation": a.generations[to], "inventories": map[string]any{"VGPU": map[string]int{"total": 4}}},
			a.providers[from].String(): map[string]any{"resource_provider_generation": a.generations[from], "inventories": map[string]any{}},
		},
		"allocations": map[string]any{a.consumer.String(): claim},
	}), strings.Join([]string{fmt.Sprintf("%d [%s:2]", a.generation+1, a.providers[to]), stocks[0], stocks[1]}, ", ")
}

// after are the providers' generations after the next reshape: one that gets inventories
// and a claim rises by three, one that loses its inventories by one.
func (a *moveAccount) after() [2]int {
	to := a.generation % 2
	generations := a.generations
	generations[to] += 3
	generations[1-to]++
	return generations
}

func (a *moveAccount) done() {
	a.generations = a.after()
	a.generation++
}

func (a *moveAccount) look() []string {
	return []string{
		"/allocations/" + a.consumer.String(),
		"/resource_providers/" + a.providers[0].String() + "/inventories",
		"/resource_providers/" + a.providers[1].String() + "/inventories",
	}
}

func (a *moveAccount) state(answers []string) (string, error) {
	if answers == nil {
		return "0 [], 0 map[], 0 map[]", nil
	}
	claimed, err := claimOf(answers[0], "VGPU")
	if err != nil {
		return "", err
	}
	first, err := stockOf(answers[1])
	if err != nil {
		return "", err
	}
	second, err := stockOf(answers[2])
	return strings.Join([]string{claimed, first, second}, ", "), err
}

// labelAccount is a provider that gets one trait more with each odd generation, one
// aggregate more with each even one, and is deleted in the end.
type labelAccount struct {
	provider   uuid.UUID
	generation int
	isDeleted  bool
}

// lastLabels is the generation that is deleted, and labelsGone what shows then.
const (
	lastLabels = 9
	labelsGone = "gone"
)

func (a *labelAccount) next() (method, path, body, after string) {
	path = "/resource_providers/" + a.provider.String()
	switch {
	case a.isDeleted:
		return "", "", "", ""
	case a.generation == lastLabels:
		return "DELETE", path, "", labelsGone
	}
	now := *a
	now.generation++
	kind, labels := "aggregates", now.aggregates()
	if now.generation%2 == 1 {
		kind, labels = "traits", now.traits()
	}
	return "PUT", path + "/" + kind, text(map[string]any{"resource_provider_generation": a.generation, kind: labels}), now.shown()
}

// traits and aggregates are those that were put last.
func (a *labelAccount) traits() []string {
	traits := []string{"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_MMX", "HW_CPU_X86_SSE", "HW_CPU_X86_SSE2"}
	return traits[:(a.generation+1)/2]
}

func (a *labelAccount) aggregates() []string {
	aggregates := make([]string, a.generation/2)
	for i := range aggregates {
		aggregates[i] = fmt.Sprintf("00000000-0000-0000-0000-00000000000%d", i)
	}
	return aggregates
}

func (a *labelAccount) shown() string {
	return fmt.Sprint(a.generation, " ", a.traits(), " ", a.generation, " ", a.aggregates())
}

func (a *labelAccount) done() {
	if a.generation == lastLabels {
		a.isDeleted = true
		return
	}
	a.generation++
}

func (a *labelAccount) look() []string {
	path := "/resource_providers/" + a.provider.String()
	return []string{path + "/traits", path + "/aggregates"}
}

func (a *labelAccount) state(answers []string) (string, error) {
	switch {
	case answers == nil:
		return (&labelAccount{}).shown(), nil
	case answers[0] == "" && answers[1] == "":
		return labelsGone, nil
	}
	var states [2]string
	for i, answer := range answers {
		var body struct {
			Generation         int `json:"resource_provider_generation"`
			Traits, Aggregates []string
		}
		if err := json.Unmarshal([]byte(answer), &body); err != nil {
			return "", err
		}
		labels := append(body.Traits, body.Aggregates...)
		slices.Sort(labels)
		states[i] = fmt.Sprint(body.Generation, " ", labels)
	}
	return states[0] + " " + states[1], nil
}

// text is a value as JSON.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("plain data cannot fail to encode: %v", err))
	}
	return string(encoded)
}
