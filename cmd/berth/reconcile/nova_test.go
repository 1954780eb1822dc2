package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// novaCloud is twoHosts with a Compute API that has the same servers.
func novaCloud(t *testing.T) (*cloud, *compute) {
	t.Helper()
	c := twoHosts(t)
	api := newCompute("compute-1", "compute-2").listen(t, c)
	api.server(11, "compute-1", nil)
	api.server(12, "compute-2", nil)
	return c, api
}

func TestReconcile_NovaSame_HasNoFindings(t *testing.T) {
	t.Parallel()
	c, _ := novaCloud(t)
	got := c.reconcile("--with", "nova")
	if want := (ran{frame.ExitOK, "No differences: 2 consumers, and 2 in nova.\n", ""}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestReconcile_NovaOrphan_IsOnlyWhatNovaDenies(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	for _, number := range []int{13, 14, 15, 16} {
		c.claim(id(number), "INSTANCE", map[uuid.UUID]client.Resources{id(1): {"VCPU": 1}})
	}
	api.server(14, "compute-1", object{"status": "SOFT_DELETED", "flavor": object{}})
	api.unlisted = []uuid.UUID{id(15)}
	api.migration(16, 11, "migration", "finished", "compute-2", "compute-1")
	c.expect([]string{"orphan 13 compute-1"}, "--with", "nova")
	c.expect([]string{"orphan 13 compute-1 repaired"}, "--with", "nova", "--repair", "--save-plan", c.path("plan.json"))
	c.expect([]string{}, "--with", "nova")
}

func TestReconcile_NovaMigration_IsOrphanUnlessInProgress(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	for number, status := range map[int]string{21: "running", 22: "finished", 23: "error", 24: "confirmed", 25: "reverting"} {
		c.claim(id(number), "MIGRATION", map[uuid.UUID]client.Resources{id(1): {"VCPU": 1}})
		api.migration(number, 12, "migration", status, "compute-1", "compute-2")
	}
	c.claim(id(26), "MIGRATION", map[uuid.UUID]client.Resources{id(1): {"VCPU": 1}})
	c.expect([]string{"orphan-migration 23 compute-1", "orphan-migration 24 compute-1", "orphan-migration 26 compute-1"}, "--with", "nova")
	c.expect([]string{}, "--with", "nova", "--min-age", "1h")
	before := c.allocations(id(26))
	if got := c.reconcile("--with", "nova", "--repair", "--save-plan", c.path("plan.json")); got.code != frame.ExitOK || c.allocations(id(26)) != "{}" {
		t.Errorf("%+v", got)
	}
	if got := c.run("reconcile", "--plan", c.path("plan.undo.json")); got.code != frame.ExitOK || c.allocations(id(26)) != before {
		t.Errorf("%+v", got)
	}
}

func TestReconcile_NovaElsewhere_IsExplainedByMigrations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*compute)
		want   []string
	}{
		"nothing explains it":   {func(*compute) {}, []string{"elsewhere 11 compute-2"}},
		"the server has a task": {func(api *compute) { api.servers[0]["OS-EXT-STS:task_state"] = "migrating" }, []string{}},
		"a live migration runs": {func(api *compute) { api.migration(31, 11, "live-migration", "running", "compute-1", "compute-2") }, []string{}},
		"a migration failed": {func(api *compute) { api.migration(31, 11, "live-migration", "error", "compute-1", "compute-2") },
			[]string{"elsewhere 11 compute-2"}},
		"it was evacuated": {func(api *compute) { api.migration(31, 11, "evacuation", "done", "compute-2", "compute-1") }, []string{}},
		"it was evacuated, and the old host is back": {func(api *compute) { api.migration(31, 11, "evacuation", "completed", "compute-2", "compute-1") },
			[]string{"elsewhere 11 compute-2"}},
		"it was evacuated from a deleted service": {func(api *compute) {
			api.migration(31, 11, "evacuation", "done", "compute-2", "compute-1")
			api.services = api.services[:1]
		}, []string{"elsewhere 11 compute-2"}},
		"it is in error":             {func(api *compute) { api.servers[0]["status"] = "ERROR" }, []string{}},
		"a resize waits for consent": {func(api *compute) { api.migration(31, 11, "resize", "finished", "compute-2", "compute-1") }, []string{"elsewhere 11 compute-2"}},
		"it is shelved": {func(api *compute) {
			api.servers[0]["status"], api.servers[0]["OS-EXT-SRV-ATTR:hypervisor_hostname"] = "SHELVED_OFFLOADED", nil
		}, []string{"elsewhere 11 compute-1", "elsewhere 11 compute-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, api := novaCloud(t)
			if _, err := c.client.AllocationPatch(t.Context(), id(11), client.AllocationChanges{Allocations: map[uuid.UUID]map[string]*int64{
				id(2): {"VCPU": new(int64(2)), "MEMORY_MB": new(int64(2048)), "DISK_GB": new(int64(20))},
			}}); err != nil {
				t.Fatal(err)
			}
			test.change(api)
			c.expect(test.want, "--with", "nova")
		})
	}
}

func TestReconcile_NovaMissing_IsHealedOnRequest(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	api.server(13, "compute-1", nil)
	api.server(14, "compute-2", object{"flavor": object{"vcpus": 100, "ram": 1, "disk": 1, "extra_specs": object{}}})
	api.server(15, "compute-1", object{"flavor": object{"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": object{"hw:cpu_policy": "dedicated"}}})
	api.server(16, "compute-1", object{"status": "BUILD"})
	api.server(17, "compute-1", object{"OS-EXT-STS:task_state": "deleting"})
	api.server(18, "", nil)
	api.server(19, "compute-9", nil)
	want := []string{"missing 13 compute-1", "missing 15 compute-1", "missing 14 compute-2", "missing 19 compute-9"}
	c.expect(want, "--with", "nova", "--repair")
	want[0] += " repaired"
	plan := c.path("plan.json")
	c.expect(want, "--with", "nova", "--repair", "--heal", "--save-plan", plan)
	if got, want := c.allocations(id(13)), textOf(map[uuid.UUID]client.Resources{id(1): small}); got != want {
		t.Errorf("allocations = %s, want %s", got, want)
	}
	healed, err := c.client.AllocationList(t.Context(), id(13))
	if err != nil || healed.ProjectID != "web" || healed.UserID != "ada" || healed.Type != "INSTANCE" {
		t.Errorf("%+v, %v", healed, err)
	}
	got := c.reconcile("--with", "nova", "--heal")
	for _, reason := range []string{"none: the host has not enough free capacity", "none: the amounts of the flavor are unknown", "none: the host has no provider"} {
		if !strings.Contains(got.stdout, reason) {
			t.Errorf("the output lacks %q:\n%s", reason, got.stdout)
		}
	}
	if got := c.run("reconcile", "--plan", c.path("plan.undo.json")); got.code != frame.ExitOK || c.allocations(id(13)) != "{}" {
		t.Errorf("undo: %+v", got)
	}
}

func TestReconcile_NovaMoved_IsClaimedThereAndRemovedHere(t *testing.T) {
	t.Parallel()
	c, api := novaCloud(t)
	api.servers[1]["OS-EXT-SRV-ATTR:hypervisor_hostname"] = "compute-1"
	before := c.allocations(id(12))
	c.expect([]string{"elsewhere 12 compute-2 repaired", "missing 12 compute-1 repaired"}, "--with", "nova", "--repair", "--heal", "--save-plan", c.path("plan.json"))
	if got, want := c.allocations(id(12)), textOf(map[uuid.UUID]client.Resources{id(1): small}); got != want {
		t.Errorf("allocations = %s, want %s", got, want)
	}
	if got := c.run("reconcile", "--plan", c.path("plan.undo.json")); got.code != frame.ExitOK || c.allocations(id(12)) != before {
		t.Errorf("undo: %+v, %s", got, c.allocations(id(12)))
	}
}

func TestReconcile_NovaAmount_IsReportedOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes object
		want    []string
	}{
		"another flavor":     {object{"flavor": object{"vcpus": 4, "ram": 2048, "disk": 20, "extra_specs": object{}}}, []string{"amount 11 compute-1"}},
		"boots from volume":  {object{"image": ""}, []string{"amount 11 compute-1"}},
		"swap counts":        {object{"flavor": object{"vcpus": 2, "ram": 2048, "disk": 18, "swap": 1025, "extra_specs": object{}}}, []string{}},
		"an override counts": {object{"flavor": object{"vcpus": 9, "ram": 2048, "disk": 20, "extra_specs": object{"resources:VCPU": "2"}}}, []string{}},
		"dedicated CPUs":     {object{"flavor": object{"vcpus": 9, "ram": 2048, "disk": 20, "extra_specs": object{"hw:cpu_policy": "dedicated"}}}, []string{}},
		"no extra specs":     {object{"flavor": object{"vcpus": 9, "ram": 2048, "disk": 20}}, []string{}},
		"a resize runs":      {object{"status": "RESIZE", "OS-EXT-STS:task_state": "resize_prep", "flavor": object{"vcpus": 4, "extra_specs": object{}}}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, api := novaCloud(t)
			for member, value := range test.changes {
				api.servers[0][member] = value
			}
			before := c.allocations(id(11))
			c.expect(test.want, "--with", "nova", "--repair", "--heal")
			if got := c.allocations(id(11)); got != before {
				t.Errorf("allocations = %s, want %s", got, before)
			}
		})
	}
}
