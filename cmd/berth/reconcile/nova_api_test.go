package reconcile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// object is a JSON object.
type object = map[string]any

// compute is a Compute API with the members and the pages of nova 26.
type compute struct {
	mutex                                      sync.Mutex
	servers, migrations, hypervisors, services []object
	// maxVersion is the newest minor microversion.
	maxVersion int
	// maxPage is the number of items of a page.
	maxPage int
	// failingPage is the number of the page of servers that fails; 0: none.
	failingPage int
	// endingCell: services do not answer after the first hypervisor was listed.
	endingCell bool
	// unlisted are servers that exist, and that lists do not have.
	unlisted []uuid.UUID
}

// newCompute returns a Compute API with a hypervisor for each name; the first one has the number 1.
func newCompute(names ...string) *compute {
	api := &compute{maxVersion: 93, maxPage: 1000}
	for i, name := range names {
		api.hypervisors = append(api.hypervisors, object{"id": id(i + 1), "hypervisor_hostname": name, "state": "up", "status": "enabled"})
		api.services = append(api.services, object{"id": id(900 + i), "binary": "nova-compute", "host": name, "status": "enabled", "state": "up"})
	}
	return api
}

// listen serves the API, and makes it the source nova of the cloud.
func (a *compute) listen(t *testing.T, c *cloud) *compute {
	t.Helper()
	listening := httptest.NewServer(a)
	t.Cleanup(listening.Close)
	c.novaURL = listening.URL + "/v2.1"
	return a
}

// flavorOf is a flavor with the amounts of small.
func smallFlavor() object {
	return object{"original_name": "small", "vcpus": 2, "ram": 2048, "disk": 20, "ephemeral": 0, "swap": 0, "extra_specs": object{}}
}

// server adds a server on a host ("": on none) with the small flavor; changes replace members.
func (a *compute) server(number int, host string, changes object) object {
	server := object{
		"id": id(number), "status": "ACTIVE", "created": "2026-01-02T03:04:05Z", "tenant_id": "web", "user_id": "ada", "image": object{"id": id(800)},
		"flavor": smallFlavor(), "OS-EXT-STS:task_state": nil, "OS-EXT-STS:vm_state": "active", "OS-EXT-SRV-ATTR:hypervisor_hostname": host,
	}
	if host == "" {
		server["OS-EXT-SRV-ATTR:hypervisor_hostname"] = nil
	}
	for name, value := range changes {
		server[name] = value
	}
	a.servers = append(a.servers, server)
	return server
}

// migration adds a migration of an instance.
func (a *compute) migration(number, instance int, kind, status, from, to string) {
	a.migrations = append(a.migrations, object{
		"id": number, "uuid": id(number), "instance_uuid": id(instance), "migration_type": kind, "status": status,
		"source_compute": from, "source_node": from, "dest_compute": to, "dest_node": to,
	})
}

// ServeHTTP implements http.Handler.
func (a *compute) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	path, isBelow := strings.CutPrefix(r.URL.Path, "/v2.1/")
	minor, err := strconv.Atoi(strings.TrimPrefix(r.Header.Get("OpenStack-API-Version"), "compute 2."))
	switch {
	case !isBelow || err != nil || r.Method != http.MethodGet:
		respond(w, http.StatusBadRequest, object{"badRequest": object{"code": 400, "message": "no such request"}})
	case r.Header.Get("X-Auth-Token") == "":
		respond(w, http.StatusUnauthorized, object{})
	case minor > a.maxVersion:
		respond(w, http.StatusNotAcceptable, object{"computeFault": object{"code": 406, "message": fmt.Sprintf("Version 2.%d is not supported by the API.", minor)}})
	case path == "os-services":
		respond(w, http.StatusOK, object{"services": a.services})
	case path == "os-hypervisors":
		if a.endingCell {
			a.services = []object{{"binary": "nova-compute", "host": "compute-1", "status": "UNKNOWN"}}
		}
		a.page(w, r, "hypervisors", "id", a.hypervisors)
	case path == "os-migrations":
		a.page(w, r, "migrations", "uuid", slices.DeleteFunc(slices.Clone(a.migrations), func(m object) bool { return m["status"] != r.FormValue("status") }))
	case path == "servers/detail":
		a.listServers(w, r)
	default:
		a.showServer(w, strings.TrimPrefix(path, "servers/"))
	}
}

// listServers lists the servers of all projects. Those that are soft-deleted need a filter.
func (a *compute) listServers(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("all_tenants") != "1" {
		respond(w, http.StatusForbidden, object{"forbidden": object{"code": 403, "message": "one project only"}})
		return
	}
	servers := slices.DeleteFunc(slices.Clone(a.servers), func(server object) bool {
		return server["status"] == "SOFT_DELETED" && r.FormValue("soft_deleted") == ""
	})
	begin := slices.IndexFunc(servers, func(server object) bool { return fmt.Sprint(server["id"]) == r.FormValue("marker") }) + 1
	if a.failingPage > 0 && begin/a.maxPage == a.failingPage-1 {
		respond(w, http.StatusInternalServerError, object{"computeFault": object{"code": 500, "message": "Unexpected API Error."}})
		return
	}
	a.page(w, r, "servers", "id", servers)
}

func (a *compute) showServer(w http.ResponseWriter, number string) {
	for _, server := range a.servers {
		if fmt.Sprint(server["id"]) == number {
			respond(w, http.StatusOK, object{"server": server})
			return
		}
	}
	for _, hidden := range a.unlisted {
		if hidden.String() == number {
			respond(w, http.StatusOK, object{"server": object{"id": hidden}})
			return
		}
	}
	respond(w, http.StatusNotFound, object{"itemNotFound": object{"code": 404, "message": "Instance " + number + " could not be found."}})
}

// page writes the items after the marker, at most maxPage.
func (a *compute) page(w http.ResponseWriter, r *http.Request, name, key string, items []object) {
	begin := 0
	if marker := r.FormValue("marker"); marker != "" {
		begin = slices.IndexFunc(items, func(item object) bool { return fmt.Sprint(item[key]) == marker }) + 1
	}
	end := min(len(items), begin+a.maxPage)
	respond(w, http.StatusOK, object{name: items[begin:end]})
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
