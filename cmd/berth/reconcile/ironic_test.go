package reconcile_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/data/postgres"
)

// bareMetal is a Bare Metal API with one item in each page.
type bareMetal struct{ nodes, allocations []object }

// ServeHTTP implements http.Handler.
func (b *bareMetal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/v1/")
	items := map[string][]object{"nodes": b.nodes, "allocations": b.allocations}[name]
	if r.Header.Get("X-OpenStack-Ironic-API-Version") != "1.52" || r.FormValue("fields") == "" || strings.Contains(r.FormValue("fields"), "allocation_uuid") {
		respond(w, http.StatusNotAcceptable, object{})
		return
	}
	begin := slices.IndexFunc(items, func(item object) bool { return item["uuid"].(uuid.UUID).String() == r.FormValue("marker") }) + 1
	page := object{name: items[begin:min(begin+1, len(items))]}
	if begin+1 < len(items) {
		page["next"] = "http://elsewhere/v1/" + name
	}
	respond(w, http.StatusOK, page)
}

// node adds a node of the class gold.
func (b *bareMetal) node(number int, instance any) {
	b.nodes = append(b.nodes, object{"uuid": id(number), "instance_uuid": instance, "resource_class": "gold"})
}

// ironicCloud returns a cloud with three nodes, 1 to 3, an instance of nova on compute-1, and the API.
func ironicCloud(t *testing.T) (*cloud, *bareMetal, func(want []string, arguments ...string)) {
	t.Helper()
	c, api := newCloud(t), &bareMetal{}
	if err := c.client.ResourceClassEnsure(t.Context(), "CUSTOM_GOLD"); err != nil {
		t.Fatal(err)
	}
	for number := 1; number <= 3; number++ {
		provider, err := c.client.ProviderCreate(t.Context(), id(number).String(), id(number), uuid.Nil)
		if err != nil {
			t.Fatal(err)
		}
		c.inventories(provider.UUID, client.Resources{"CUSTOM_GOLD": 1})
	}
	c.host("compute-1", 4)
	c.claim(id(10), "INSTANCE", map[uuid.UUID]client.Resources{id(4): small})
	listening := httptest.NewServer(api)
	t.Cleanup(listening.Close)
	return c, api, func(want []string, arguments ...string) {
		t.Helper()
		c.expect(want, append([]string{"--with", "ironic", "--ironic-url", listening.URL + "/v1"}, arguments...)...)
	}
}

func TestReconcile_Ironic_ComparesOnlyNodes(t *testing.T) {
	t.Parallel()
	c, api, expect := ironicCloud(t)
	gold := client.Resources{"CUSTOM_GOLD": 1}
	api.node(1, id(11))
	api.node(2, id(12))
	api.node(3, nil)
	api.node(9, id(19)) // no provider
	api.allocations = []object{{"uuid": id(12)}, {"uuid": id(14)}}
	c.claim(id(11), "INSTANCE", map[uuid.UUID]client.Resources{id(1): gold})
	c.claim(id(12), "INSTANCE", map[uuid.UUID]client.Resources{id(2): gold})
	expect([]string{})
	c.claim(id(13), "INSTANCE", map[uuid.UUID]client.Resources{id(3): gold})
	expect([]string{"orphan 13 " + id(3).String()})
	expect([]string{"orphan 13 " + id(3).String() + " repaired"}, "--repair", "--save-plan", c.path("plan.json"))
	if c.allocations(id(10)) == "{}" || c.allocations(id(12)) == "{}" {
		t.Error("the repair deleted another consumer")
	}
	if got := c.run("reconcile", "--plan", c.path("plan.undo.json")); got.code != frame.ExitOK {
		t.Errorf("undo: %+v", got)
	}
	api.allocations = append(api.allocations, object{"uuid": id(13)})
	expect([]string{})
}

func TestReconcile_IronicInstanceMoved_IsHealed(t *testing.T) {
	t.Parallel()
	c, api, expect := ironicCloud(t)
	gold := client.Resources{"CUSTOM_GOLD": 1}
	api.node(1, nil)
	api.node(2, id(11))
	c.claim(id(11), "INSTANCE", map[uuid.UUID]client.Resources{id(1): gold})
	expect([]string{"elsewhere 11 " + id(1).String(), "missing 11 " + id(2).String()}, "--repair")
	expect([]string{"elsewhere 11 " + id(1).String() + " repaired", "missing 11 " + id(2).String() + " repaired"},
		"--repair", "--heal", "--save-plan", c.path("plan.json"))
	if got, want := c.allocations(id(11)), textOf(map[uuid.UUID]client.Resources{id(2): gold}); got != want {
		t.Errorf("allocations = %s, want %s", got, want)
	}
}

// TestReconcile_NodeAllocation_IsNoOrphan uses the Bare Metal API of the server itself, whose node allocations are consumers.
func TestReconcile_NodeAllocation_IsNoOrphan(t *testing.T) {
	t.Parallel()
	server := servertest.New(t, servertest.Options{Store: postgres.Options{MaxConns: 6}, Server: servertest.Baremetal(servertest.Conductor)})
	if err := server.Store.SetBaremetalBackend(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	server.StartConductor(t)
	url := server.Listen(t).URL
	service, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{t: t, server: server, url: url, client: service, directory: t.TempDir()}
	for _, line := range []string{
		"node create --driver fake-hardware --name rack-1 --resource-class gold", "node manage rack-1 --wait", "node provide rack-1 --wait",
		"allocation create --resource-class gold --uuid " + id(21).String() + " --wait",
	} {
		if got := c.run(append([]string{"baremetal"}, strings.Fields(line)...)...); got.code != frame.ExitOK {
			t.Fatalf("%s: %s", line, got.stderr)
		}
	}
	shown, err := c.client.ConsumerShow(t.Context(), id(21))
	if err != nil || shown.NodeAllocation == nil {
		t.Fatalf("the consumer of the node allocation = %+v, %v", shown, err)
	}
	c.expect([]string{}, "--with", "file:"+c.file("known.txt", "# none\n"), "--type", shown.Type)
}
