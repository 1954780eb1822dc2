package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
)

// newLocking returns a server with both APIs that waits briefly for locks, with a provider that a consumer
// uses, and a node.
func newLocking(t *testing.T) *watched {
	t.Helper()
	s := newWatched(t, func(opening *postgres.Options, options *server.Options) {
		opening.MaxConns, opening.ReadReserve = 4, 1
		opening.Limits = postgres.Limits{LockTimeout: 200 * time.Millisecond}
		options.RequestTimeout = 30 * time.Second
	})
	if _, err := s.db.Pool.Exec(t.Context(), `INSERT INTO conductors (hostname, drivers, online) VALUES ('berth-1', '{fake-hardware}', true)`); err != nil {
		t.Fatal(err)
	}
	for _, made := range [][4]string{
		{"POST", "/resource_providers", `{"name": "host", "uuid": "` + aProvider + `"}`},
		{"PUT", "/resource_providers/" + aProvider + "/inventories",
			`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}, "DISK_GB": {"total": 8}}}`},
		{"PUT", "/allocations/" + aConsumer, claimOfHost},
		{"PUT", "/traits/CUSTOM_A", ``},
		{"PUT", "/resource_classes/CUSTOM_A", ``},
		{"POST", "/v1/nodes", `{"name": "rack-7", "driver": "fake-hardware", "resource_class": "baremetal"}`},
	} {
		if got := s.write(made[0], made[1], made[2]); got.Code >= 300 {
			t.Fatalf("%s %s: %d %s", made[0], made[1], got.Code, got.Body)
		}
	}
	return s
}

const claimOfHost = `{"allocations": {"` + aProvider + `": {"resources": {"VCPU": 1}}}, "consumer_generation": null,
	"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}`

// lockAll blocks all writes until the returned function is called.
func lockAll(t *testing.T, db *dbtest.DB) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `BEGIN; LOCK TABLE consumers, resource_providers, provider_generations, provider_traits,
		provider_aggregates, allocations, inventories, resource_classes, traits, nodes, node_traits, ports, node_allocations
		IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	return func() { conn.Close(t.Context()) }
}

// placementWrites lists all writes of the Placement API.
var placementWrites = [][3]string{
	{"POST", "/resource_providers", `{"name": "another", "parent_provider_uuid": "` + aProvider + `"}`},
	{"PUT", "/resource_providers/" + aProvider, `{"name": "renamed"}`},
	{"DELETE", "/resource_providers/" + aProvider, ``},
	{"PUT", "/resource_providers/" + aProvider + "/inventories", `{"resource_provider_generation": 2, "inventories": {"VCPU": {"total": 9}}}`},
	{"POST", "/resource_providers/" + aProvider + "/inventories", `{"resource_class": "MEMORY_MB", "total": 9}`},
	{"PUT", "/resource_providers/" + aProvider + "/inventories/VCPU", `{"resource_provider_generation": 2, "total": 9}`},
	{"DELETE", "/resource_providers/" + aProvider + "/inventories/DISK_GB", ``},
	{"DELETE", "/resource_providers/" + aProvider + "/inventories", ``},
	{"PUT", "/resource_providers/" + aProvider + "/traits", `{"resource_provider_generation": 2, "traits": ["CUSTOM_A"]}`},
	{"DELETE", "/resource_providers/" + aProvider + "/traits", ``},
	{"PUT", "/resource_providers/" + aProvider + "/aggregates", `{"resource_provider_generation": 2, "aggregates": ["` + anotherOne + `"]}`},
	{"PUT", "/allocations/" + anotherOne, claimOfHost},
	{"POST", "/allocations", `{"` + anotherOne + `": ` + claimOfHost + `}`},
	{"DELETE", "/allocations/" + aConsumer, ``},
	{"POST", "/reshaper", `{"inventories": {"` + aProvider + `": {"resource_provider_generation": 2, "inventories": {"VCPU": {"total": 9}}}},
		"allocations": {}}`},
	{"PUT", "/traits/CUSTOM_B", ``},
	{"DELETE", "/traits/CUSTOM_A", ``},
	{"POST", "/resource_classes", `{"name": "CUSTOM_B"}`},
	{"PUT", "/resource_classes/CUSTOM_B", ``},
	{"DELETE", "/resource_classes/CUSTOM_A", ``},
}

func TestLocks_LockTimeout_PlacementWritesReturn409(t *testing.T) {
	t.Parallel()
	s := newLocking(t)
	before := dbtest.Snapshot(t, s.db)
	release := lockAll(t, s.db)
	for _, sent := range placementWrites {
		answer := s.write(sent[0], sent[1], sent[2])
		var found struct {
			Errors []struct{ Code, Detail string }
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &found); answer.Code != http.StatusConflict || err != nil || len(found.Errors) != 1 ||
			found.Errors[0].Code != "placement.concurrent_update" || !strings.Contains(found.Errors[0].Detail, "Nothing was changed") {
			t.Errorf("%s %s: got %d %s", sent[0], sent[1], answer.Code, answer.Body)
		}
	}
	old := s.write("PUT", "/allocations/"+anotherOne, `{"allocations": {"`+aProvider+`": {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u"}`,
		"OpenStack-API-Version", "placement 1.12")
	if old.Code != http.StatusConflict || strings.Contains(old.Body.String(), "concurrent_update") {
		t.Errorf("at 1.12: got %d %s", old.Code, old.Body)
	}
	if read := s.get("/resource_providers/"+aProvider, "X-Auth-Token", "admin"); read.Code != http.StatusOK {
		t.Errorf("reading: got %d %s", read.Code, read.Body)
	}
	if got := value(t, s.metrics(), "berth_sql_lock_timeouts_total"); got != float64(len(placementWrites)+1) {
		t.Errorf("lock timeouts = %v, want %d", got, len(placementWrites)+1)
	}
	release()
	if changes := before.Diff(dbtest.Snapshot(t, s.db)); changes != nil {
		t.Errorf("changed: %q", changes)
	}
}

func TestLocks_LockTimeout_BaremetalWritesReturn503(t *testing.T) {
	t.Parallel()
	s := newLocking(t)
	before := dbtest.Snapshot(t, s.db)
	release := lockAll(t, s.db)
	for _, sent := range [][3]string{
		{"POST", "/v1/nodes", `{"name": "rack-8", "driver": "fake-hardware"}`},
		{"PATCH", "/v1/nodes/rack-7", `[{"op": "replace", "path": "/resource_class", "value": "other"}]`},
		{"DELETE", "/v1/nodes/rack-7", ``},
		{"PUT", "/v1/nodes/rack-7/maintenance", `{"reason": "broken"}`},
		{"PUT", "/v1/nodes/rack-7/states/provision", `{"target": "manage"}`},
		{"PUT", "/v1/nodes/rack-7/traits", `{"traits": ["CUSTOM_A"]}`},
		{"PUT", "/v1/nodes/rack-7/traits/CUSTOM_A", ``},
		{"POST", "/v1/allocations", `{"name": "one", "resource_class": "baremetal"}`},
	} {
		answer := s.write(sent[0], sent[1], sent[2])
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" ||
			!strings.Contains(answer.Body.String(), "Nothing was changed") {
			t.Errorf("%s %s: got %d %v %s", sent[0], sent[1], answer.Code, answer.Header(), answer.Body)
		}
	}
	release()
	if changes := before.Diff(dbtest.Snapshot(t, s.db)); changes != nil {
		t.Errorf("changed: %q", changes)
	}
}
