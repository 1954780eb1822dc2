package reconcile_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

func TestReconcile_NovaPageFails_ChangesNothing(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	for i := range 7 {
		api.server(50+i, "", nil)
	}
	c.claim(id(13), "INSTANCE", map[uuid.UUID]client.Resources{id(1): small})
	api.maxPage, api.failingPage = 3, 3
	got := c.reconcile("--with", "nova", "--repair", "--save-plan", c.path("plan.json"))
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "the source nova failed; nothing was repaired") || !strings.Contains(got.stderr, "Unexpected API Error") ||
		c.allocations(id(13)) == "{}" {
		t.Errorf("%+v", got)
	}
	api.failingPage = 0
	c.expect([]string{"orphan 13 compute-1 repaired"}, "--with", "nova", "--repair", "--save-plan", c.path("plan.json"))
}

func TestReconcile_NovaCellDown_ChangesNothing(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	api.services = append(api.services, object{"binary": "nova-compute", "host": "compute-3", "status": "UNKNOWN"})
	c.claim(id(13), "INSTANCE", map[uuid.UUID]client.Resources{id(1): small})
	got := c.reconcile("--with", "nova", "--repair", "--save-plan", c.path("plan.json"))
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "the cell of the host compute-3 does not answer") || c.allocations(id(13)) == "{}" {
		t.Errorf("%+v", got)
	}
}

func TestReconcile_NovaCellEndsMeanwhile_ChangesNothing(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	c.claim(id(13), "MIGRATION", map[uuid.UUID]client.Resources{id(1): small})
	c.expect([]string{"orphan-migration 13 compute-1"}, "--with", "nova")
	api.endingCell = true
	got := c.reconcile("--with", "nova", "--repair", "--save-plan", c.path("plan.json"))
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "the cell of the host compute-1 does not answer") || c.allocations(id(13)) == "{}" {
		t.Errorf("%+v", got)
	}
}

func TestReconcile_NovaOld_SkipsWhatItCannotTell(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	c.claim(id(26), "MIGRATION", map[uuid.UUID]client.Resources{id(1): {"VCPU": 1}})
	api.maxVersion = 53
	got := c.reconcile("--with", "nova")
	if got.code != frame.ExitOK || !strings.Contains(got.stderr, "not compared: orphan-migration") || !strings.Contains(got.stderr, "cells that do not answer") {
		t.Errorf("%+v", got)
	}
	got = c.reconcile("--with", "nova", "--type", "unknown")
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "--type unknown") {
		t.Errorf("%+v", got)
	}
	api.maxVersion = 60
	c.expect([]string{"orphan-migration 26 compute-1"}, "--with", "nova")
	api.maxVersion = 52
	if got := c.reconcile("--with", "nova"); got.code != frame.ExitFailed || !strings.Contains(got.stderr, "2.53 is not supported") {
		t.Errorf("%+v", got)
	}
}

func TestReconcile_NovaWithoutHosts_IsAnError(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	delete(api.servers[0], "OS-EXT-SRV-ATTR:hypervisor_hostname")
	if got := c.reconcile("--with", "nova"); got.code != frame.ExitFailed || !strings.Contains(got.stderr, "use credentials of an administrator") {
		t.Errorf("%+v", got)
	}
	api.servers[0]["status"] = "UNKNOWN"
	c.expect([]string{}, "--with", "nova")
}

// TestReconcile_Keystone_FindsNovaInCatalog uses a Keystone that returns the token that a server without authentication
// takes for an administrator.
func TestReconcile_Keystone_FindsNovaInCatalog(t *testing.T) {
	t.Parallel()
	c, _ := novaCloud(t)
	nova := c.novaURL
	identity := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method+" "+r.URL.Path != "POST /v3/auth/tokens" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("X-Subject-Token", "admin")
		respond(w, http.StatusCreated, object{"token": object{"expires_at": "2126-01-01T00:00:00.000000Z", "catalog": []object{
			{"type": "placement", "endpoints": []object{{"interface": "public", "region_id": "One", "url": c.url}}},
			{"type": "compute", "endpoints": []object{{"interface": "public", "region_id": "One", "url": nova}}},
		}}})
	}))
	t.Cleanup(identity.Close)
	c.novaURL = ""
	c.environ = []string{"OS_AUTH_URL=" + identity.URL + "/v3", "OS_USERNAME=admin", "OS_PASSWORD=secret", "OS_PROJECT_NAME=admin"}
	got := c.reconcile("--with", "nova", "--url", "")
	if want := (ran{frame.ExitOK, "No differences: 2 consumers, and 2 in nova.\n", ""}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := c.reconcile("--with", "ironic"); got.code != frame.ExitFailed || !strings.Contains(got.stderr, "no public endpoint of the service type baremetal") {
		t.Errorf("%+v", got)
	}
}

func TestReconcile_EmptyHost_IsDeletedAndRestored(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	old := c.host("compute-old", 3)
	child, err := c.client.ProviderCreate(t.Context(), "compute-old-numa-0", id(4), old)
	if err != nil {
		t.Fatal(err)
	}
	c.inventories(child.UUID, client.Resources{"VCPU": 4})
	pool := c.host("pool", 5)
	shown, err := c.client.ProviderShow(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.client.ProviderTraitReplace(t.Context(), pool, shown.Generation, []string{"MISC_SHARES_VIA_AGGREGATE"}); err != nil {
		t.Fatal(err)
	}
	c.host("compute-new", 6)
	api.hypervisors = append(api.hypervisors, object{"id": id(7), "hypervisor_hostname": "compute-new"})
	c.inventories(c.host("segment", 8), client.Resources{"IPV4_ADDRESS": 250})
	c.claim(id(40), "RESERVATION", map[uuid.UUID]client.Resources{c.host("compute-used", 9): small})
	c.expect([]string{"empty-host compute-old"}, "--with", "nova")
	c.expect([]string{}, "--with", "nova", "--min-age", "1h")
	tree := func() string { return c.run("tree", "compute-old", "--output", "json").stdout }
	before := tree()
	c.expect([]string{"empty-host compute-old"}, "--with", "nova", "--repair")
	c.expect([]string{"empty-host compute-old repaired"}, "--with", "nova", "--repair", "--providers", "--save-plan", c.path("plan.json"))
	if got := c.run("provider", "show", "compute-old"); got.code != frame.ExitFailed {
		t.Errorf("the provider exists: %+v", got)
	}
	if got := c.run("reconcile", "--plan", c.path("plan.json"), "--output", "csv"); !strings.Contains(got.stdout, "empty-host,tree of compute-old,unneeded") {
		t.Errorf("repeated: %+v", got)
	}
	got := c.run("reconcile", "--plan", c.path("plan.undo.json"))
	if after := tree(); got.code != frame.ExitOK || withoutGenerations(after) != withoutGenerations(before) {
		t.Errorf("undo: %+v\n%s\nwant\n%s", got, after, before)
	}
}

// withoutGenerations removes what a provider that is created again has afresh.
func withoutGenerations(text string) string {
	lines := []string{}
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"generation"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
