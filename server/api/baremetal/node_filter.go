package baremetal

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/work/provision"
)

// nodeArguments are the filters of nodes.
var nodeArguments = route.Params{
	{Name: "instance_uuid", Since: v(1), Doc: "The node with this instance UUID.", Example: "c0ffee00-5ca1-4b1e-8000-000000000009"},
	{Name: "associated", Since: v(1), Type: huma.TypeBoolean, Doc: "`true`: nodes with an `instance_uuid`; `false`: nodes without.", Example: false},
	{Name: "maintenance", Since: v(1), Type: huma.TypeBoolean, Doc: "`true`: nodes in maintenance; `false`: all others.", Example: false},
	{Name: "chassis_uuid", Since: v(1), Doc: "Nodes in this chassis. Berth has no chassis, so the list is empty.", Example: "c0ffee00-5ca1-4b1e-8000-00000000000c"},
	{Name: "provision_state", Since: v(9), Doc: "Nodes in this provision state.", Example: provision.Available},
	{Name: "driver", Since: v(16), Doc: "Nodes with this driver.", Example: "fake-hardware"},
	{Name: "resource_class", Since: v(21), Doc: "Nodes of this resource class.", Example: "baremetal.gold"},
	{Name: "fault", Since: v(42), Doc: "Nodes that the server put into maintenance because of this fault.", Example: "clean failure"},
	{Name: "conductor_group", Since: v(46), Doc: "Nodes of this conductor group.", Example: ""},
	{Name: "conductor", Since: v(49), Doc: "Nodes that this conductor has reserved.", Example: "berth-1"},
	{Name: "owner", Since: v(50), Doc: "Nodes of this owner.", Example: "compute-team"},
	{Name: "description_contains", Since: v(51), Doc: "Nodes whose description contains this text.", Example: "window"},
	{Name: "retired", Since: v(61), Type: huma.TypeBoolean, Doc: "`true`: retired nodes; `false`: all others.", Example: false},
	{Name: "lessee", Since: v(65), Doc: "Nodes of this lessee.", Example: "web-team"},
	{Name: "shard", Since: v(82), Doc: "Nodes in one of these shards, separated by commas.", Example: "a,b"},
	{Name: "sharded", Since: v(82), Type: huma.TypeBoolean, Doc: "`true`: nodes with a shard; `false`: nodes without.", Example: true},
}

// detailArgument makes a list return all members.
var detailArgument = route.Params{{
	Name: "detail", Since: v(43), Type: huma.TypeBoolean, Doc: "Whether to return all members. Cannot be combined with `fields`.", Example: true,
}}

func badState(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Provision state \"%s\" is not valid", sent)
}

// nodeFilterOf parses the filters.
func nodeFilterOf(given args) (store.NodeFilter, error) {
	filter := store.NodeFilter{
		ProvisionState: given.text("provision_state"), ResourceClass: given.text("resource_class"),
		Driver: given.text("driver"), Fault: given.text("fault"), Conductor: given.text("conductor"),
		Owner: given.text("owner"), Lessee: given.text("lessee"), DescriptionContains: given.text("description_contains"),
	}
	if filter.ProvisionState != nil && !provision.IsState(*filter.ProvisionState) {
		return filter, badState(*filter.ProvisionState)
	}
	if group := given.text("conductor_group"); group != nil {
		filter.ConductorGroup = new(strings.ToLower(*group))
	}
	if shards := given.text("shard"); shards != nil {
		filter.Shards = strings.Split(*shards, ",")
	}
	var errs [6]error
	filter.Associated, errs[0] = given.flag("associated")
	filter.Maintenance, errs[1] = given.flag("maintenance")
	filter.Retired, errs[2] = given.flag("retired")
	filter.Sharded, errs[3] = given.flag("sharded")
	filter.InstanceUUID, errs[4] = given.id("instance_uuid")
	filter.ChassisUUID, errs[5] = given.id("chassis_uuid")
	return filter, cmp.Or(errs[:]...)
}

// id returns the value of a UUID argument, or nil if the request does not contain it.
func (a args) id(name string) (*uuid.UUID, error) {
	sent := a.text(name)
	if sent == nil {
		return nil, nil
	}
	id, ok := asUUID(*sent)
	if !ok {
		return nil, badUUID(name, *sent)
	}
	return &id, nil
}

func badUUID(name, sent string) *fault.Error {
	return fault.New(fault.Invalid, "Expected UUID for %s: %s", name, sent)
}

var errDetailAndFields = fault.New(fault.Invalid, "Can't fetch a subset of fields with 'detail' set")

// listShows returns the members in a list: all with detail, those in fields, else the brief ones.
func listShows[T any](ctx context.Context, of *shape[T], given args, whole bool, brief []string) (chosen, error) {
	detailed, err := given.flag("detail")
	if err != nil {
		return nil, err
	}
	if detailed != nil && *detailed {
		if slices.Contains(given.Names(), "fields") {
			return nil, errDetailAndFields
		}
		whole = true
	}
	if whole {
		return of.all(ctx), nil
	}
	return of.asked(ctx, given, of.only(ctx, brief...))
}
