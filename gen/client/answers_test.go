package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// cards makes a host with two network devices below it, the second of them fast
// and blue.
func cards(t *testing.T, c *ClientWithResponses) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{"CUSTOM_FAST", "CUSTOM_BLUE"} {
		answered(t, 201, must(c.TraitEnsureWithResponse(ctx, name, &TraitEnsureParams{OpenStackAPIVersion: v}))(t))
	}
	for _, provider := range []struct {
		id     uuid.UUID
		parent *uuid.UUID
		class  string
		traits []string
	}{
		{host, nil, "VCPU", []string{}},
		{node, &host, "SRIOV_NET_VF", []string{"CUSTOM_FAST"}},
		{nic, &host, "SRIOV_NET_VF", []string{"CUSTOM_FAST", "CUSTOM_BLUE"}},
	} {
		id := provider.id.String()
		answered(t, 200, must(c.ProviderCreateWithResponse(ctx, &ProviderCreateParams{OpenStackAPIVersion: v},
			ProviderCreate{Name: id, UUID: &provider.id, ParentProviderUUID: provider.parent}))(t))
		answered(t, 200, must(c.InventoryReplaceWithResponse(ctx, id, &InventoryReplaceParams{OpenStackAPIVersion: v},
			InventoriesReplace{Inventories: map[string]InventoryRecord{provider.class: {Total: 8}}}))(t))
		answered(t, 200, must(c.ProviderTraitReplaceWithResponse(ctx, id, &ProviderTraitReplaceParams{OpenStackAPIVersion: v},
			ProviderTraitsReplace{ResourceProviderGeneration: 1, Traits: provider.traits}))(t))
	}
}

func TestOpenAPI_ClientRequestGroups_SentAsSuffixedParameters(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cards(t, c)
	ask := func(policy CandidateListParamsGroupPolicy, groups map[string]string, editors ...RequestEditorFn) []string {
		t.Helper()
		found := must(c.CandidateListWithResponse(t.Context(), &CandidateListParams{
			Resources: new("VCPU:1"), GroupPolicy: &policy, Groups: groups, OpenStackAPIVersion: v,
		}, editors...))(t)
		served := []string{}
		for _, candidate := range body(t, found.JSON200, found.Body).AllocationRequests {
			served = append(served, fmt.Sprint(candidate.Mappings["_A"], candidate.Mappings["_B"]))
		}
		return served
	}
	groups := map[string]string{
		"resources_A": "SRIOV_NET_VF:1", "required_A": "CUSTOM_FAST",
		"resources_B": "SRIOV_NET_VF:1", "required_B": "CUSTOM_FAST,CUSTOM_BLUE",
	}
	apart := fmt.Sprint([]uuid.UUID{node}, []uuid.UUID{nic})
	same(t, "on different devices", ask(CandidateListParamsGroupPolicyIsolate, groups), []string{apart})
	if got := ask(CandidateListParamsGroupPolicyNone, groups); len(got) != 2 {
		t.Errorf("on any devices: %v", got)
	}
	// What a map cannot hold twice is added to the query.
	blueToo := func(_ context.Context, r *http.Request) error {
		r.URL.RawQuery += "&required_A=CUSTOM_BLUE"
		return nil
	}
	same(t, "both on the blue device", ask(CandidateListParamsGroupPolicyIsolate, groups, blueToo), []string{})
}

func TestOpenAPI_ClientRepeatedParameters_AllApply(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cards(t, c)
	for _, asked := range []struct {
		required []string
		want     int
	}{
		{nil, 3}, {[]string{"CUSTOM_FAST"}, 2}, {[]string{"CUSTOM_FAST", "!CUSTOM_BLUE"}, 1},
		{[]string{"in:CUSTOM_FAST,CUSTOM_BLUE", "CUSTOM_BLUE"}, 1},
	} {
		listed := must(c.ProviderListWithResponse(t.Context(), &ProviderListParams{Required: asked.required, OpenStackAPIVersion: v}))(t)
		if got := len(body(t, listed.JSON200, listed.Body).ResourceProviders); got != asked.want {
			t.Errorf("%q: %d providers, want %d", asked.required, got, asked.want)
		}
	}
}

// TestOpenAPI_ClientLongStreamedLists_ReadCompletely: the server writes them as it finds them, without
// telling their length before.
func TestOpenAPI_ClientLongStreamedLists_ReadCompletely(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	const many = 40
	var parent *uuid.UUID
	for n := range many {
		id := id(n)
		answered(t, 200, must(c.ProviderCreateWithResponse(t.Context(), &ProviderCreateParams{OpenStackAPIVersion: v},
			ProviderCreate{Name: strings.Repeat("n", 160) + id.String(), UUID: &id, ParentProviderUUID: parent}))(t))
		answered(t, 200, must(c.InventoryReplaceWithResponse(t.Context(), id.String(), &InventoryReplaceParams{OpenStackAPIVersion: v},
			InventoriesReplace{Inventories: map[string]InventoryRecord{"VGPU": {Total: 8}}}))(t))
		parent = &id
	}
	listed := must(c.ProviderListWithResponse(t.Context(), &ProviderListParams{OpenStackAPIVersion: v}))(t)
	all := body(t, listed.JSON200, listed.Body).ResourceProviders
	same(t, "how many, and the last", []any{len(all), all[len(all)-1].UUID}, []any{many, id(many - 1)})
	// Two groups, each of which any provider of the tree could serve.
	found := must(c.CandidateListWithResponse(t.Context(), &CandidateListParams{
		GroupPolicy: new(CandidateListParamsGroupPolicyNone), OpenStackAPIVersion: v,
		Groups: map[string]string{"resources_A": "VGPU:1", "resources_B": "VGPU:2"},
	}))(t)
	candidates := body(t, found.JSON200, found.Body)
	same(t, "candidates and summaries", []int{len(candidates.AllocationRequests), len(candidates.ProviderSummaries)}, []int{many * many, many})
	for _, answer := range []*http.Response{listed.HTTPResponse, found.HTTPResponse} {
		if answer.ContentLength != -1 {
			t.Errorf("%s was not streamed: it has %d bytes", answer.Request.URL, answer.ContentLength)
		}
	}
}

// TestOpenAPI_ClientCapacityAboveInt64_Decoded: a ratio may be as large as that.
func TestOpenAPI_ClientCapacityAboveInt64_Decoded(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	answered(t, 200, must(c.ProviderCreateWithResponse(t.Context(), &ProviderCreateParams{OpenStackAPIVersion: v}, ProviderCreate{Name: "host", UUID: &host}))(t))
	answered(t, 200, must(c.InventoryReplaceWithResponse(t.Context(), host.String(), &InventoryReplaceParams{OpenStackAPIVersion: v}, InventoriesReplace{
		Inventories: map[string]InventoryRecord{"VCPU": {Total: 1000, AllocationRatio: new(1e38)}},
	}))(t))
	found := must(c.CandidateListWithResponse(t.Context(), &CandidateListParams{Resources: new("VCPU:1"), OpenStackAPIVersion: v}))(t)
	same(t, "the capacity", body(t, found.JSON200, found.Body).ProviderSummaries[host.String()].Resources["VCPU"].Capacity, 1e41)
}

func TestOpenAPI_GeneratedClientErrors_AreTyped(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), serve(t)
	c := asking(t, url, "admin", "admin,service")
	params := &ProviderCreateParams{OpenStackAPIVersion: v}

	malformed := must(c.ProviderCreateWithBodyWithResponse(ctx, params, "application/json", strings.NewReader(`{"name"`)))(t)
	refused(t, malformed.JSON400, malformed.Body, ErrorCodePlacementUndefinedCode, "Malformed JSON")
	text := must(c.ProviderCreateWithBodyWithResponse(ctx, params, "text/plain", strings.NewReader(`{}`)))(t)
	refused(t, text.JSON415, text.Body, ErrorCodePlacementUndefinedCode, "text/plain")
	large := must(c.ProviderCreateWithBodyWithResponse(ctx, params, "application/json", strings.NewReader(strings.Repeat(" ", maxBody+1))))(t)
	refused(t, large.JSON413, large.Body, ErrorCodePlacementUndefinedCode, "larger")
	twice := must(c.CandidateListWithResponse(ctx, &CandidateListParams{Resources: new("VCPU:1"), RootRequired: new("CUSTOM_A,!CUSTOM_A"), OpenStackAPIVersion: v}))(t)
	if twice.JSON400 == nil {
		t.Errorf("conflicting traits: body = %s, want status 400", twice.Body)
	}

	member := must(asking(t, url, "ada:mercury", "member").ProviderListWithResponse(ctx, &ProviderListParams{OpenStackAPIVersion: v}))(t)
	refused(t, member.JSON403, member.Body, ErrorCodePlacementUndefinedCode, "")
	missing := must(asking(t, url, "", "").ProviderListWithResponse(ctx, &ProviderListParams{OpenStackAPIVersion: v}))(t)
	if denied := body(t, missing.JSON401, missing.Body); denied.Code != "401 Unauthorized" || denied.Title != "Unauthorized" {
		t.Errorf("without a token: %+v", denied)
	}

	unsupported := must(c.ProviderListWithResponse(ctx, &ProviderListParams{OpenStackAPIVersion: "placement 1.99"}))(t)
	item := body(t, unsupported.JSON406, unsupported.Body).Errors[0]
	if item.Code != nil || *item.MaxVersion != "1.39" || *item.MinVersion != "1.0" || Microversion("placement 1.99").Valid() {
		t.Errorf("an unknown microversion is answered %s", unsupported.Body)
	}
}

// TestOpenAPI_ClientRequestEditor_ReplacesParams: without params no header is sent but
// the editor's. And a client whose editor forgets it gets what 1.0 answers.
func TestOpenAPI_ClientRequestEditor_ReplacesParams(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	answered(t, 200, must(c.ProviderCreateWithResponse(t.Context(), &ProviderCreateParams{OpenStackAPIVersion: v}, ProviderCreate{Name: "host", UUID: &host}))(t))
	with := must(c.ProviderShowWithResponse(t.Context(), host.String(), nil, func(_ context.Context, r *http.Request) error {
		r.Header.Set("OpenStack-API-Version", string(v))
		return nil
	}))(t)
	same(t, "the root", body(t, with.JSON200, with.Body).RootProviderUUID, host)
	same(t, "the version of the answer", with.HTTPResponse.Header.Get("OpenStack-API-Version"), v)
	without := must(c.ProviderShowWithResponse(t.Context(), host.String(), nil))(t)
	same(t, "the root at 1.0", body(t, without.JSON200, without.Body).RootProviderUUID, uuid.Nil)
}

// TestOpenAPI_ClientMappingsOfAnyForm_Accepted: the document asks for lists of providers
// under every name, so that programs have a type for them. The server looks only at
// the names that a group can have, as it always did.
func TestOpenAPI_ClientMappingsOfAnyForm_Accepted(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cards(t, c)
	write := func(generation, mappings string) *AllocationReplaceResponse {
		return must(c.AllocationReplaceWithBodyWithResponse(t.Context(), instance.String(), &AllocationReplaceParams{OpenStackAPIVersion: v}, "application/json",
			strings.NewReader(fmt.Sprintf(`{"allocations": {%q: {"resources": {"VCPU": 1}}}, "mappings": %s, "consumer_generation": %s,
				"consumer_type": "INSTANCE", "project_id": "mercury", "user_id": "ada"}`, host, mappings, generation))))(t)
	}
	answered(t, 204, write("null", `{"": 5, "?": {"a": []}}`))
	named := write("1", `{"_NET": 5}`)
	refused(t, named.JSON400, named.Body, ErrorCodePlacementUndefinedCode, "5 is not of type 'array'")
}
