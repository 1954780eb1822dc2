package reconcile

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// ironicVersion is the microversion that has allocations.
const ironicVersion = "1.52"

// ironicSource is a Bare Metal API.
type ironicSource struct{ remote }

func newIronicSource(service *client.Client) *ironicSource {
	return &ironicSource{remote{service: service, header: "X-OpenStack-Ironic-API-Version", version: ironicVersion}}
}

func (s *ironicSource) name() string { return "ironic" }

// ironicItem is a node or an allocation of the Bare Metal API. The members that the request does not name are nil.
type ironicItem struct {
	UUID     uuid.UUID  `json:"uuid"`
	Instance *uuid.UUID `json:"instance_uuid"`
	Class    *string    `json:"resource_class"`
}

// read reads allocations, then nodes: an allocation that gets its node in between is an instance of the node. The list of
// nodes does not request allocation_uuid, because ironic 21 fails if it is among the fields.
func (s *ironicSource) read(ctx context.Context, progress *progressLine) (*knowledge, error) {
	known := &knowledge{servers: map[uuid.UUID]server{}, hosts: map[string]uuid.UUID{}, onlyHosts: true,
		notes: []string{"orphan-migration and empty-host: they are about hosts of instances"}}
	err := s.pages(ctx, "allocations", "uuid", func(allocation ironicItem) {
		known.servers[allocation.UUID] = server{}
		progress.show("reading allocations of ironic: %d", len(known.servers))
	})
	if err != nil {
		return nil, err
	}
	return known, s.pages(ctx, "nodes", "uuid,instance_uuid,resource_class", func(node ironicItem) {
		known.hosts[node.UUID.String()] = node.UUID
		if node.Instance != nil {
			known.servers[*node.Instance] = server{isSettled: true, home: node.UUID.String(), amounts: node.amounts()}
		}
		progress.show("reading nodes of ironic: %d", len(known.hosts))
	})
}

// amounts returns one of the resource class of the node; nil if it has none.
func (n *ironicItem) amounts() map[string]int64 {
	if n.Class == nil || *n.Class == "" {
		return nil
	}
	class := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(*n.Class))
	return map[string]int64{"CUSTOM_" + class: 1}
}

// pages calls do for each item of a list. The last page has no link.
func (s *ironicSource) pages(ctx context.Context, list, fields string, do func(ironicItem)) error {
	for marker := ""; ; {
		var page struct {
			Nodes       []ironicItem `json:"nodes"`
			Allocations []ironicItem `json:"allocations"`
			Next        string       `json:"next"`
		}
		query := url.Values{"fields": {fields}, "limit": {strconv.Itoa(pageSize)}}
		if marker != "" {
			query.Set("marker", marker)
		}
		if err := s.get(ctx, "v1/"+list, query, &page); err != nil {
			return err
		}
		items := append(page.Nodes, page.Allocations...)
		for _, item := range items {
			do(item)
		}
		if page.Next == "" || len(items) == 0 {
			return nil
		}
		marker = items[len(items)-1].UUID.String()
	}
}

// absent reads all nodes again: one request for each consumer would be more than a page of nodes.
func (s *ironicSource) absent(ctx context.Context, ids []uuid.UUID, progress *progressLine) (map[uuid.UUID]bool, error) {
	known, err := s.read(ctx, progress)
	if err != nil {
		return nil, err
	}
	return known.withoutServers(ids), nil
}
