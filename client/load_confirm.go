package client

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// WithMemberRefresh sets the age at which the members of a cached tree and its sharing providers are listed again, if the
// service has berth 1.3. Between two lists, one request confirms that the cached members of the tree are as they were;
// a member that another client creates is not seen then. The default is the age of WithRefresh.
func WithMemberRefresh(age time.Duration) Option { return func(o *options) { o.members = age } }

// neverGeneration is a generation that no provider has. The service compares generations only if a request differs from
// what is there, so a request with this one changes nothing.
const neverGeneration = math.MaxInt64

// confirmUnlisted reports whether a cached tree was listed recently enough and is confirmed.
func (c *Client) confirmUnlisted(ctx context.Context, id uuid.UUID) (bool, error) {
	members, err := c.cache.trees.UUIDsInTree(id.String())
	if err != nil {
		return false, nil
	}
	listed, known := c.cache.listed[members[0]]
	if !known || c.members <= c.refresh || c.now().Sub(listed) >= c.members {
		return false, nil
	}
	return c.confirm(ctx, members)
}

// confirm compares all members of a cached tree with the service in one request, which changes nothing. If they are
// equal, it takes over their generations. Otherwise it returns false, and the members have to be read.
func (c *Client) confirm(ctx context.Context, members []uuid.UUID) (bool, error) {
	if !slices.ContainsFunc(members, c.stale) || len(members) > maxTreeProviders || !c.has(ctx, berth13) {
		return false, nil
	}
	request := treeChange{root: members[0]}
	for _, id := range members {
		node, known := c.cache.node(id)
		if _, shares := c.cache.sharing[id]; !known || shares {
			return false, nil
		}
		node.Generation = new(int64(neverGeneration))
		request.nodes = append(request.nodes, node)
	}
	answer, err := c.TreeReplace(ctx, request.root, request.wanted())
	switch {
	case unanswered(err):
		return false, err
	case err != nil:
		c.log.LogAttrs(ctx, slog.LevelDebug, "the provider tree is not as it was; reading it",
			slog.String("provider", request.root.String()), slog.Any("cause", err))
		return false, nil
	}
	for _, id := range members {
		generation := answer.ResourceProviders[id].Generation
		if generation == nil {
			return false, nil
		}
		if err := c.cache.trees.edit(id.String(), generation, func(*Node) {}); err != nil {
			return false, err
		}
		c.cache.loaded[id] = c.now()
	}
	return true, nil
}
