package baremetal

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
)

// authorize is the type of route.Operation.Authorize.
type authorize = func(r *http.Request) (context.Context, error)

// granted is the result of the authorization, which the operation uses.
type granted struct {
	// project is the project to whose nodes and allocations the operation is restricted; empty: no restriction.
	project string
	// sent and id are the node or allocation of the path, as the client named it and as it was authorized. An empty
	// sent means that nothing was read. The operation uses id, so that a resource that takes over the name in the
	// meantime is not affected.
	sent string
	id   uuid.UUID
}

type grantedKey struct{}

func grantedOf(ctx context.Context) granted {
	found, _ := ctx.Value(grantedKey{}).(granted)
	return found
}

func (g granted) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, grantedKey{}, g)
}

// authorized returns the identifier with which the operation finds the resource of the path.
func authorized(ctx context.Context, sent string) string {
	if found := grantedOf(ctx); found.sent != "" && found.sent == sent {
		return found.id.String()
	}
	return sent
}

// projectOf returns the project to which the operation is restricted, or nil without a restriction.
func projectOf(ctx context.Context) *string {
	if found := grantedOf(ctx); found.project != "" {
		return &found.project
	}
	return nil
}

// unread returns the target before the node or the allocation is read. A permission for it holds for all of them:
// requests of system administrators need no query.
func unread(ctx context.Context) policy.Target {
	target := policy.TargetOf(auth.From(ctx))
	target.Unread = true
	return target
}

func nodeTarget(ctx context.Context, n *store.Node) policy.Target {
	target := policy.TargetOf(auth.From(ctx))
	target.NodeOwner, target.NodeLessee = textOf(n.Owner), textOf(n.Lessee)
	return target
}

func allocationTarget(ctx context.Context, a *store.NodeAllocation) policy.Target {
	target := policy.TargetOf(auth.From(ctx))
	target.AllocationOwner = textOf(a.Owner)
	return target
}

// mayAny returns nil if one of the rules permits the request, else the denial of the first rule.
func mayAny(ctx context.Context, target policy.Target, rules ...string) error {
	var first error
	for _, rule := range rules {
		err := route.May(ctx, rule, target)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// scopeDenial returns the denial of a token whose scope one of the rules excludes, or nil if all rules include it. It
// depends on the token alone. Therefore it precedes all reads and reveals no existing resource.
func scopeDenial(ctx context.Context, rules ...string) error {
	for _, rule := range rules {
		if err := route.May(ctx, rule, unread(ctx)); wrongScope(err) {
			return err
		}
	}
	return nil
}

// wrongScope reports whether a denial is independent of the target.
func wrongScope(err error) bool {
	var denied *policy.Denied
	return errors.As(err, &denied) && denied.Scope
}

// onNode authorizes operations on the node of the path by any of the rules.
func (o *operations) onNode(rules ...string) authorize {
	return func(r *http.Request) (context.Context, error) {
		return o.authorizeNode(r.Context(), r.PathValue("node"), rules...)
	}
}

// authorizeNode reads a node if the decision depends on its owner or lessee. If the caller may not see the node, the
// response is that it does not exist.
func (o *operations) authorizeNode(ctx context.Context, sent string, rules ...string) (context.Context, error) {
	if err := scopeDenial(ctx, rules...); err != nil {
		return nil, err
	}
	if route.May(ctx, policy.NodesShow, unread(ctx)) == nil && mayAny(ctx, unread(ctx), rules...) == nil {
		return ctx, nil
	}
	found, err := o.node(ctx, sent)
	if err != nil {
		return nil, err
	}
	target := nodeTarget(ctx, &found)
	if route.May(ctx, policy.NodesShow, target) != nil {
		return nil, noNode(sent)
	}
	return granted{sent: sent, id: found.UUID}.with(ctx), mayAny(ctx, target, rules...)
}

// onOwn authorizes operations on all resources by the rule all. Otherwise the rule own authorizes a token of a project,
// and the operation is restricted to the resources of that project.
func onOwn(all, own string) authorize {
	return func(r *http.Request) (context.Context, error) { return authorizeOwn(r.Context(), all, own) }
}

func authorizeOwn(ctx context.Context, all, own string) (context.Context, error) {
	caller := auth.From(ctx)
	denied := route.May(ctx, all, policy.TargetOf(caller))
	if denied == nil {
		return ctx, nil
	}
	if caller.ProjectID == "" || !caller.ProjectScoped() || route.May(ctx, own, policy.TargetOf(caller)) != nil {
		return nil, denied
	}
	limited := grantedOf(ctx)
	limited.project = caller.ProjectID
	return limited.with(ctx), nil
}

// onAllocation authorizes operations on the allocation of the path.
func (o *operations) onAllocation(rule string) authorize {
	return func(r *http.Request) (context.Context, error) {
		ctx, sent := r.Context(), r.PathValue("allocation")
		if err := scopeDenial(ctx, rule); err != nil {
			return nil, err
		}
		if mayAll(ctx, unread(ctx), policy.NodeAllocationsShow, rule) == nil {
			return ctx, nil
		}
		called, err := ident(sent)
		if err != nil {
			return nil, err
		}
		found, err := o.store.NodeAllocationShow(ctx, called)
		if err != nil {
			return nil, allocationFaults(sent).Translate(err)
		}
		target := allocationTarget(ctx, &found)
		if route.May(ctx, policy.NodeAllocationsShow, target) != nil {
			return nil, noAllocation(sent)
		}
		return granted{sent: sent, id: found.UUID}.with(ctx), route.May(ctx, rule, target)
	}
}

// onAllocationOfNode authorizes operations on the allocation of the node of the path.
func (o *operations) onAllocationOfNode(rule string) authorize {
	return func(r *http.Request) (context.Context, error) {
		sent := r.PathValue("node")
		if err := scopeDenial(r.Context(), rule); err != nil {
			return nil, err
		}
		ctx, err := o.authorizeNode(r.Context(), sent, policy.NodesShow)
		if err != nil || route.May(ctx, rule, unread(ctx)) == nil {
			return ctx, err
		}
		called, err := ident(authorized(ctx, sent))
		if err != nil {
			return nil, err
		}
		found, err := o.store.NodeAllocationShowByNode(ctx, called)
		if err != nil {
			return nil, nodeAllocationFaults(sent).Translate(err)
		}
		return ctx, route.May(ctx, rule, allocationTarget(ctx, &found))
	}
}

// onPort authorizes operations on the port of the path by its node.
func (o *operations) onPort(rule string) authorize {
	return func(r *http.Request) (context.Context, error) {
		ctx, sent := r.Context(), r.PathValue("port")
		if err := scopeDenial(ctx, rule); err != nil {
			return nil, err
		}
		if mayAll(ctx, unread(ctx), policy.NodesShow, rule) == nil {
			return ctx, nil
		}
		id, err := portID(sent)
		if err != nil {
			return nil, err
		}
		port, err := o.store.PortShow(ctx, id)
		if err != nil {
			return nil, portFaults(sent, &port).Translate(err)
		}
		node, err := o.store.NodeShow(ctx, port.NodeUUID.String())
		if store.AsRuleViolation(err) != nil {
			return nil, noPort(sent) // the node and its port were deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		target := nodeTarget(ctx, &node)
		if route.May(ctx, policy.NodesShow, target) != nil {
			return nil, noPort(sent)
		}
		return ctx, route.May(ctx, rule, target)
	}
}

// onNewPort denies requests that no node could permit. The node itself is named in the body.
func onNewPort(r *http.Request) (context.Context, error) {
	target := policy.TargetOf(auth.From(r.Context()))
	target.NodeOwner, target.NodeLessee = target.ProjectID, target.ProjectID
	return r.Context(), route.May(r.Context(), policy.PortsCreate, target)
}

// mayHavePort checks whether the caller may add a port to the node in the body. If the caller may not see the node, the
// response is that it does not exist.
func (o *operations) mayHavePort(ctx context.Context, node uuid.UUID) error {
	if mayAll(ctx, unread(ctx), policy.NodesShow, policy.PortsCreate) == nil {
		return nil
	}
	found, err := o.store.NodeShow(ctx, node.String())
	if store.AsRuleViolation(err) != nil {
		return noNodeInFilter(node.String())
	}
	if err != nil {
		return err
	}
	target := nodeTarget(ctx, &found)
	if route.May(ctx, policy.NodesShow, target) != nil {
		return noNodeInFilter(node.String())
	}
	return route.May(ctx, policy.PortsCreate, target)
}

func mayAll(ctx context.Context, target policy.Target, rules ...string) error {
	for _, rule := range rules {
		if err := route.May(ctx, rule, target); err != nil {
			return err
		}
	}
	return nil
}

// onNewAllocation authorizes the creation of allocations. Callers that may not choose the owner create allocations of
// their own project.
func onNewAllocation(r *http.Request) (context.Context, error) {
	ctx, err := authorizeOwn(r.Context(), policy.NodeAllocationsAnyone, policy.NodeAllocationsCreate)
	if err != nil {
		return nil, &policy.Denied{Rule: policy.NodeAllocationsCreate, Scope: wrongScope(err)}
	}
	return ctx, nil
}

// ownAllocation restricts a new allocation to the project of a caller without further permissions: its owner, its
// candidates and the node to backfill.
func (o *operations) ownAllocation(ctx context.Context, request *store.NodeAllocationRequest) error {
	project := grantedOf(ctx).project
	if project == "" {
		return nil
	}
	if request.Owner != nil && *request.Owner != project {
		return &policy.Denied{Rule: policy.NodeAllocationsAnyone}
	}
	request.Owner = &project
	if request.Node != nil {
		err := o.visible(ctx, *request.Node)
		if err != nil {
			return err
		}
	}
	for _, candidate := range request.CandidateNodes {
		found, err := o.store.NodeShow(ctx, candidate)
		if store.AsRuleViolation(err) != nil || err == nil && textOf(found.Owner) != project && textOf(found.Lessee) != project {
			return noCandidates(candidate)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visible returns an error if the node in a body or a filter does not exist for the caller.
func (o *operations) visible(ctx context.Context, node store.Ident) error {
	found, err := o.store.NodeShow(ctx, node)
	if store.AsRuleViolation(err) != nil || err == nil && route.May(ctx, policy.NodesShow, nodeTarget(ctx, &found)) != nil {
		return noNodeInFilter(node)
	}
	return err
}

// ownNode restricts a new node to the project of a caller without further permissions.
func ownNode(ctx context.Context, wanted *store.Node) error {
	project := projectOf(ctx)
	if project == nil {
		return nil
	}
	if wanted.Owner != nil && *wanted.Owner != *project {
		return fault.New(fault.Invalid, "Cannot create a node as a project scoped admin with an owner other than your own project.")
	}
	wanted.Owner = project
	return nil
}

// onNodeOfQuery authorizes the validation of the node in the query. The operation handles a query without a node.
func (o *operations) onNodeOfQuery(r *http.Request) (context.Context, error) {
	ctx := r.Context()
	var sent string
	if given, err := querystring.Parse(r.URL.RawQuery); err == nil {
		sent, _ = given.Last("node")
	}
	if sent == "" {
		return ctx, scopeDenial(ctx, policy.NodesValidate)
	}
	return o.authorizeNode(ctx, sent, policy.NodesValidate)
}

// onPortsOfNode authorizes the list of ports of the node in the path.
func (o *operations) onPortsOfNode(r *http.Request) (context.Context, error) {
	if err := scopeDenial(r.Context(), policy.PortsList); err != nil {
		return nil, err
	}
	ctx, err := o.authorizeNode(r.Context(), r.PathValue("node"), policy.NodesShow)
	if err != nil {
		return nil, err
	}
	return authorizeOwn(ctx, policy.PortsList, policy.PortsListOwn)
}
