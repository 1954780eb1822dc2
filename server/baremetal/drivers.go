package baremetal

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// Driver is a kind of hardware.
type Driver struct {
	Name       string   `json:"name" doc:"What nodes name in their member driver." example:"fake-hardware"`
	Type       string   `json:"type" since:"30" doc:"Always dynamic." example:"dynamic"`
	Hosts      []string `json:"hosts" doc:"The conductors that have it."`
	Links      []Link   `json:"links" doc:"Where the driver is."`
	Properties []Link   `json:"properties" doc:"Where its settings would be."`
}

// Drivers are all that are at hand.
type Drivers struct {
	Drivers []view[Driver] `json:"drivers" doc:"In the order of their names."`
}

var driverShape = newShape[Driver]()

// driverPath is the input of operations on one driver.
type driverPath struct {
	Name string `path:"driver" doc:"The driver." example:"fake-hardware"`
}

// driverType is the one there is since drivers are put together of interfaces.
const driverType = "dynamic"

func noDriver(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Could not find the following driver(s) or hardware type(s): %s.", sent)
}

func (o *operations) driverOperations() []*route.Operation {
	filter := []argument{{Name: "type", Since: v(30), Doc: "`dynamic` or `classic`; there are none of the latter.", Example: driverType}}
	return []*route.Operation{{
		ID: "driver-list", Method: http.MethodGet, Path: "/v1/drivers", Tag: tagDrivers, Rule: policy.DriversShow,
		Summary: "List drivers", Description: "Those that a conductor has which is alive.",
		Fails: []route.Failure{{When: "The type is unknown.", Fault: badDriverType("none"), Since: v(30)}},
		Variants: []route.Variant{route.From(v(1), o.driverList, query(filter), route.Example(func(ctx context.Context) any {
			return driversOf(ctx, []driver{exampleDriver})
		}))},
	}, {
		ID: "driver-show", Method: http.MethodGet, Path: "/v1/drivers/{driver}", Tag: tagDrivers, Rule: policy.DriversShow,
		Summary: "Show a driver",
		Fails:   []route.Failure{{When: "No conductor that is alive has the driver.", Fault: noDriver("none")}},
		Variants: []route.Variant{route.From(v(1), o.driverShow, route.Example(func(ctx context.Context) any {
			return driverOf(ctx, exampleDriver)
		}))},
	}}
}

func badDriverType(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Invalid value '%s' for type: it is neither dynamic nor classic.", sent)
}

// driver is one with the conductors that have it.
type driver struct {
	name  string
	hosts []string
}

var exampleDriver = driver{name: "fake-hardware", hosts: []string{"berth-1"}}

func (o *operations) driverList(ctx context.Context, _ *none) (*answer[Drivers], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	wanted, filtered := given.Last("type")
	if filtered && wanted != driverType && wanted != "classic" {
		return nil, badDriverType(wanted)
	}
	found, err := o.drivers(ctx)
	if err != nil {
		return nil, err
	}
	if filtered && wanted != driverType {
		found = nil
	}
	return &answer[Drivers]{Body: driversOf(ctx, found)}, nil
}

func (o *operations) driverShow(ctx context.Context, in *driverPath) (*answer[view[Driver]], error) {
	found, err := o.drivers(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(found, func(one driver) bool { return one.name == in.Name })
	if at < 0 {
		return nil, noDriver(in.Name)
	}
	return &answer[view[Driver]]{Body: driverOf(ctx, found[at])}, nil
}

// drivers are those of the conductors that are alive, by name.
func (o *operations) drivers(ctx context.Context) ([]driver, error) {
	conductors, err := o.store.ConductorList(ctx)
	if err != nil {
		return nil, err
	}
	return driversAt(conductors, o.silence), nil
}

func driversAt(conductors []store.Conductor, silence time.Duration) []driver {
	var found []driver
	for _, conductor := range conductors {
		if !conductor.Alive(silence) {
			continue
		}
		for _, name := range conductor.Drivers {
			at, known := slices.BinarySearchFunc(found, name, func(one driver, name string) int {
				return strings.Compare(one.name, name)
			})
			if !known {
				found = slices.Insert(found, at, driver{name: name})
			}
			found[at].hosts = append(found[at].hosts, conductor.Hostname)
		}
	}
	return found
}

func driversOf(ctx context.Context, found []driver) Drivers {
	shown := Drivers{Drivers: []view[Driver]{}}
	for _, one := range found {
		shown.Drivers = append(shown.Drivers, driverOf(ctx, one))
	}
	return shown
}

func driverOf(ctx context.Context, from driver) view[Driver] {
	path := "drivers/" + from.name
	return driverShape.show(driverShape.all(ctx), &Driver{
		Name: from.name, Type: driverType, Hosts: from.hosts,
		Links: links(ctx, path), Properties: links(ctx, path+"/properties"),
	})
}
