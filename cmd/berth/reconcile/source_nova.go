package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// novaVersions are the microversions that are tried, the best first. From 2.69 nova shows which cells do not answer, from
// 2.59 the UUIDs of migrations, and from 2.53 the UUIDs of hypervisors.
var novaVersions = []string{"2.69", "2.59", "2.53"}

// migrationStatuses are the statuses of migrations in progress, in an order in which none is missed that continues while they
// are read. The others are confirmed, reverted, completed, canceled, failed and error. An evacuation that is done holds the
// allocations on its old host until that is back.
var migrationStatuses = []string{
	"accepted", "queued", "preparing", "pre-migrating", "migrating", "running", "post-migrating", "finished", "confirming", "reverting", "done",
}

// novaSource is the Compute API.
type novaSource struct{ remote }

func newNovaSource(service *client.Client) *novaSource {
	return &novaSource{remote{service: service, header: "OpenStack-API-Version"}}
}

func (s *novaSource) name() string { return "nova" }

// read reads services, migrations, servers and hypervisors.
func (s *novaSource) read(ctx context.Context, progress *progressLine) (*knowledge, error) {
	services, err := s.services(ctx)
	if err != nil {
		return nil, err
	}
	known := &knowledge{servers: map[uuid.UUID]server{}, hosts: map[string]uuid.UUID{}, hasAllHosts: true}
	if s.version == "compute 2.53" {
		known.notes = append(known.notes, "orphan-migration: this version of nova does not show the UUIDs of migrations")
	} else if known.migrations, err = s.migrations(ctx, progress); err != nil {
		return nil, err
	}
	if s.version != "compute 2.69" {
		known.notes = append(known.notes, "this version of nova does not report cells that do not answer")
	}
	if err := s.servers(ctx, known, progress); err != nil {
		return nil, err
	}
	if err := s.hypervisors(ctx, known, progress); err != nil {
		return nil, err
	}
	for _, move := range known.migrations {
		known.explain(move, services)
	}
	// A cell that has ended meanwhile is missing from the lists.
	_, err = s.services(ctx)
	return known, err
}

// services returns the hosts of nova-compute services, and chooses the microversion. It returns an error if a cell does not
// answer: lists have no servers of it, and no error either.
func (s *novaSource) services(ctx context.Context) (map[string]bool, error) {
	var answer struct {
		Services []struct{ Host, Binary, Status string }
	}
	versions := novaVersions
	if s.version != "" {
		versions = []string{s.version[len("compute "):]}
	}
	for i, version := range versions {
		s.version = "compute " + version
		err := s.get(ctx, "os-services", nil, &answer)
		if refused, is := errors.AsType[*client.Error](err); is && refused.Status == http.StatusNotAcceptable && i < len(versions)-1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		break
	}
	hosts := map[string]bool{}
	for _, service := range answer.Services {
		if service.Status == "UNKNOWN" {
			return nil, fmt.Errorf("the cell of the host %s does not answer, so that its servers are not listed; repeat when 'openstack compute service list' shows its state", service.Host)
		}
		if service.Binary == "nova-compute" {
			hosts[service.Host] = true
		}
	}
	return hosts, nil
}

// novaServer is a server of the Compute API.
type novaServer struct {
	ID         uuid.UUID  `json:"id"`
	Status     string     `json:"status"`
	Created    timeText   `json:"created"`
	ProjectID  string     `json:"tenant_id"`
	UserID     string     `json:"user_id"`
	TaskState  *string    `json:"OS-EXT-STS:task_state"`
	Hypervisor optional   `json:"OS-EXT-SRV-ATTR:hypervisor_hostname"`
	Image      any        `json:"image"`
	Flavor     novaFlavor `json:"flavor"`
}

// servers reads the servers of all projects, also those that are deleted and can be restored.
func (s *novaSource) servers(ctx context.Context, known *knowledge, progress *progressLine) error {
	query := url.Values{"all_tenants": {"1"}, "soft_deleted": {"true"}}
	return novaPages(ctx, s, "servers/detail", "servers", query, func(read *novaServer) (uuid.UUID, error) {
		if !read.Hypervisor.isSet && read.Status != "UNKNOWN" {
			return read.ID, fmt.Errorf("server %s has no OS-EXT-SRV-ATTR:hypervisor_hostname; use credentials of an administrator", read.ID)
		}
		known.servers[read.ID] = read.server()
		progress.show("reading servers of nova: %d", len(known.servers))
		return read.ID, nil
	})
}

// server returns what counts of a server. Servers in ERROR, in BUILD or with a task may be on their way between hosts.
func (n *novaServer) server() server {
	isMoving := n.TaskState != nil && *n.TaskState != ""
	switch n.Status {
	case "BUILD", "ERROR", "UNKNOWN", "DELETED", "REBUILD", "MIGRATING", "RESIZE", "REVERT_RESIZE":
		isMoving = true
	}
	isOffloaded := n.Status == "SHELVED_OFFLOADED"
	return server{
		isSettled: !isMoving && (n.Hypervisor.text != "" || isOffloaded),
		home:      n.Hypervisor.text, amounts: n.Flavor.amounts(n.Image == nil || n.Image == ""),
		createdAt: n.Created.time, projectID: n.ProjectID, userID: n.UserID,
	}
}

// novaHypervisor is a hypervisor of the Compute API.
type novaHypervisor struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"hypervisor_hostname"`
}

// hypervisors reads the names and UUIDs of all hypervisors.
func (s *novaSource) hypervisors(ctx context.Context, known *knowledge, progress *progressLine) error {
	return novaPages(ctx, s, "os-hypervisors", "hypervisors", url.Values{}, func(read *novaHypervisor) (uuid.UUID, error) {
		known.hosts[read.Name] = read.ID
		progress.show("reading hypervisors of nova: %d", len(known.hosts))
		return read.ID, nil
	})
}

// migrations reads the migrations in progress, one status after the other.
func (s *novaSource) migrations(ctx context.Context, progress *progressLine) (map[uuid.UUID]migration, error) {
	moves := map[uuid.UUID]migration{}
	for _, status := range migrationStatuses {
		err := novaPages(ctx, s, "os-migrations", "migrations", url.Values{"status": {status}}, func(read *novaMigration) (uuid.UUID, error) {
			moves[read.UUID] = migration{
				instance: read.Instance, source: read.SourceNode, sourceService: read.SourceHost, status: read.Status, kind: read.Kind,
			}
			progress.show("reading migrations of nova: %d in progress", len(moves))
			return read.UUID, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return moves, nil
}

// novaPages calls do for each item of a list. do returns the UUID of the item, after which the next page begins. The last page
// is empty: the links of nova's pages are missing from some lists.
func novaPages[T any](ctx context.Context, s *novaSource, path, name string, query url.Values, do func(*T) (uuid.UUID, error)) error {
	query.Set("limit", strconv.Itoa(pageSize))
	for previous := uuid.Nil; ; {
		var page map[string]json.RawMessage
		if err := s.get(ctx, path, query, &page); err != nil {
			return err
		}
		var items []T
		if err := json.Unmarshal(page[name], &items); err != nil {
			return fmt.Errorf("GET %s: the response has no list of %s: %w", path, name, err)
		}
		last := uuid.Nil
		for i := range items {
			var err error
			if last, err = do(&items[i]); err != nil {
				return err
			}
		}
		switch last {
		case uuid.Nil:
			return nil
		case previous:
			return fmt.Errorf("GET %s: the page after %s ends with it again", path, last)
		}
		previous = last
		query.Set("marker", last.String())
	}
}

// novaMigration is a migration of the Compute API.
type novaMigration struct {
	UUID       uuid.UUID `json:"uuid"`
	Instance   uuid.UUID `json:"instance_uuid"`
	SourceNode string    `json:"source_node"`
	SourceHost string    `json:"source_compute"`
	Status     string    `json:"status"`
	Kind       string    `json:"migration_type"`
}

// explain applies a migration to its server. A resize that waits for its confirmation, and an evacuation that is done, leave
// the server on its new host; an evacuation is forgotten when the service of the old host is deleted. Any other migration
// is moving the server.
func (k *knowledge) explain(move migration, services map[string]bool) {
	moved, exists := k.servers[move.instance]
	switch {
	case !exists || move.status == "finished":
		return
	case move.status != "done":
		moved.isSettled = false
	case move.kind == "evacuation" && services[move.sourceService]:
		moved.alsoOn = append(moved.alsoOn, move.source)
	}
	k.servers[move.instance] = moved
}

// absent asks for each server: the list has no servers that appear or move between its pages.
func (s *novaSource) absent(ctx context.Context, ids []uuid.UUID, progress *progressLine) (map[uuid.UUID]bool, error) {
	missing := map[uuid.UUID]bool{}
	for i, id := range ids {
		err := s.get(ctx, "servers/"+id.String(), nil, nil)
		if err != nil && !errors.Is(err, client.ErrNotFound) {
			return nil, err
		}
		missing[id] = err != nil
		progress.show("looking for orphans in nova: %d of %d", i, len(ids))
	}
	return missing, nil
}
