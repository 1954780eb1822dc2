package baremetal

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
)

// Driver is a hardware type.
type Driver struct {
	Name       string   `json:"name" doc:"Name of the driver, as in the member driver of nodes." example:"fake-hardware"`
	Type       string   `json:"type" since:"30" doc:"Always dynamic." example:"dynamic"`
	Hosts      []string `json:"hosts" doc:"Host names of the conductors that have the driver."`
	Links      []Link   `json:"links" doc:"Links to the driver."`
	Properties []Link   `json:"properties,omitempty" since:"14" doc:"Links to the properties of the driver."`
	DriverInterfaces
}

// Drivers is the response with all drivers of conductors that are alive.
type Drivers struct {
	Drivers []view[Driver] `json:"drivers" doc:"Drivers, sorted by name."`
}

var driverShape = newShape[Driver]()

// driverBrief are the members of a driver in lists by default.
var driverBrief = []string{"name", "type", "hosts", "properties"}

// driverPath is the input of operations on one driver.
type driverPath struct {
	Name string `path:"driver" doc:"The driver." example:"fake-hardware"`
}

// driverType is the type of all drivers that consist of interfaces.
const driverType = "dynamic"

func noDriver(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Could not find the following driver(s) or hardware type(s): %s.", sent)
}

func (o *operations) driverOperations() []*route.Operation {
	filter := route.Params{
		{Name: "type", Since: v(30), Doc: "`dynamic` or `classic`. No driver is classic.", Example: driverType},
		{Name: "detail", Since: v(30), Type: huma.TypeBoolean, Doc: "Whether to include the interfaces of drivers. Cannot be combined with `fields`.", Example: true},
	}
	fields := route.Params{{Name: "fields", Since: v(77), Doc: fieldsArguments[0].Doc, Example: "name"}}
	unknown := []route.Failure{{Name: "driver-not-found", When: "No conductor that is alive has the driver.",
		Fault: noDriver("none")}}
	return []*route.Operation{{
		ID: "driver-list", Method: http.MethodGet, Path: "/v1/drivers", Tag: tagDrivers, Rule: policy.DriversShow,
		Summary: "List drivers", Description: "Lists the drivers of conductors that are alive.",
		Fails: []route.Failure{{Name: "invalid-driver-type", When: "The type is unknown.",
			Fault: badDriverType("none"), Since: v(30)}},
		Variants: []route.Variant{route.From(v(1), o.driverList, route.QueryOf(filter, fields), route.Example(func(ctx context.Context) any {
			return driversOf(ctx, driverShape.only(ctx, driverBrief...), []driver{exampleDriver})
		}))},
	}, {
		ID: "driver-show", Method: http.MethodGet, Path: "/v1/drivers/{driver}", Tag: tagDrivers, Rule: policy.DriversShow,
		Summary: "Show a driver", Fails: unknown,
		Variants: []route.Variant{route.From(v(1), o.driverShow, route.QueryOf(fields), route.Example(func(ctx context.Context) any {
			return driverOf(ctx, driverShape.all(ctx), exampleDriver)
		}))},
	}, {
		ID: "driver-properties", Method: http.MethodGet, Path: "/v1/drivers/{driver}/properties", Tag: tagDrivers, Rule: policy.DriverPropertiesShow,
		Summary: "Show the properties of a driver", Fails: unknown,
		Description: "The members that the driver reads from a node's `driver_info`, each with a description. Berth's drivers read none.",
		Variants:    []route.Variant{route.From(v(1), o.driverProperties, route.Example(func(context.Context) any { return object{} }))},
	}}
}

func badDriverType(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Invalid value '%s' for type: it is neither dynamic nor classic.", sent)
}

// driver is a driver with the conductors that have it.
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
	fields, err := listShows(ctx, driverShape, given, false, driverBrief)
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
	return &answer[Drivers]{Body: driversOf(ctx, fields, found)}, nil
}

func (o *operations) driverShow(ctx context.Context, in *driverPath) (*answer[view[Driver]], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := driverShape.asked(ctx, given, driverShape.all(ctx))
	if err != nil {
		return nil, err
	}
	found, err := o.driver(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &answer[view[Driver]]{Body: driverOf(ctx, fields, found)}, nil
}

func (o *operations) driverProperties(ctx context.Context, in *driverPath) (*answer[object], error) {
	_, err := o.driver(ctx, in.Name)
	return &answer[object]{Body: object("{}")}, err
}

// driver returns the driver of a path.
func (o *operations) driver(ctx context.Context, name string) (driver, error) {
	found, err := o.drivers(ctx)
	if err != nil {
		return driver{}, err
	}
	at := slices.IndexFunc(found, func(item driver) bool { return item.name == name })
	if at < 0 {
		return driver{}, noDriver(name)
	}
	return found[at], nil
}

// drivers returns the drivers of the conductors that are alive, sorted by name.
func (o *operations) drivers(ctx context.Context) ([]driver, error) {
	conductors, err := o.store.ConductorList(ctx)
	if err != nil {
		return nil, err
	}
	return driversAt(conductors, o.heartbeatTimeout), nil
}

func driversAt(conductors []store.Conductor, heartbeatTimeout time.Duration) []driver {
	var found []driver
	for _, conductor := range conductors {
		if !conductor.Alive(heartbeatTimeout) {
			continue
		}
		for _, name := range conductor.Drivers {
			at, known := slices.BinarySearchFunc(found, name, func(item driver, name string) int {
				return strings.Compare(item.name, name)
			})
			if !known {
				found = slices.Insert(found, at, driver{name: name})
			}
			found[at].hosts = append(found[at].hosts, conductor.Hostname)
		}
	}
	return found
}

func driversOf(ctx context.Context, fields chosen, found []driver) Drivers {
	shown := Drivers{Drivers: []view[Driver]{}}
	for _, driver := range found {
		shown.Drivers = append(shown.Drivers, driverOf(ctx, fields, driver))
	}
	return shown
}

func driverOf(ctx context.Context, fields chosen, from driver) view[Driver] {
	path := "drivers/" + from.name
	return driverShape.show(fields, &Driver{
		Name: from.name, Type: driverType, Hosts: from.hosts,
		Links: links(ctx, path), Properties: links(ctx, path+"/properties"), DriverInterfaces: driverInterfaces(),
	})
}

// DriverInterfaces are the interfaces of a driver: for each type the default and all that a node may use.
type DriverInterfaces struct {
	DefaultBIOS       string   `json:"default_bios_interface,omitempty" since:"40" doc:"Default BIOS interface." example:"fake"`
	EnabledBIOS       []string `json:"enabled_bios_interfaces,omitempty" since:"40" doc:"BIOS interfaces that nodes may use."`
	DefaultBoot       string   `json:"default_boot_interface,omitempty" since:"30" doc:"Default boot interface." example:"fake"`
	EnabledBoot       []string `json:"enabled_boot_interfaces,omitempty" since:"30" doc:"Boot interfaces that nodes may use."`
	DefaultConsole    string   `json:"default_console_interface,omitempty" since:"30" doc:"Default console interface." example:"fake"`
	EnabledConsole    []string `json:"enabled_console_interfaces,omitempty" since:"30" doc:"Console interfaces that nodes may use."`
	DefaultDeploy     string   `json:"default_deploy_interface,omitempty" since:"30" doc:"Default deploy interface." example:"fake"`
	EnabledDeploy     []string `json:"enabled_deploy_interfaces,omitempty" since:"30" doc:"Deploy interfaces that nodes may use."`
	DefaultInspect    string   `json:"default_inspect_interface,omitempty" since:"30" doc:"Default inspect interface." example:"fake"`
	EnabledInspect    []string `json:"enabled_inspect_interfaces,omitempty" since:"30" doc:"Inspect interfaces that nodes may use."`
	DefaultManagement string   `json:"default_management_interface,omitempty" since:"30" doc:"Default management interface." example:"fake"`
	EnabledManagement []string `json:"enabled_management_interfaces,omitempty" since:"30" doc:"Management interfaces that nodes may use."`
	DefaultNetwork    string   `json:"default_network_interface,omitempty" since:"30" doc:"Default network interface." example:"noop"`
	EnabledNetwork    []string `json:"enabled_network_interfaces,omitempty" since:"30" doc:"Network interfaces that nodes may use."`
	DefaultPower      string   `json:"default_power_interface,omitempty" since:"30" doc:"Default power interface." example:"fake"`
	EnabledPower      []string `json:"enabled_power_interfaces,omitempty" since:"30" doc:"Power interfaces that nodes may use."`
	DefaultRAID       string   `json:"default_raid_interface,omitempty" since:"30" doc:"Default RAID interface." example:"fake"`
	EnabledRAID       []string `json:"enabled_raid_interfaces,omitempty" since:"30" doc:"RAID interfaces that nodes may use."`
	DefaultRescue     string   `json:"default_rescue_interface,omitempty" since:"38" doc:"Default rescue interface." example:"fake"`
	EnabledRescue     []string `json:"enabled_rescue_interfaces,omitempty" since:"38" doc:"Rescue interfaces that nodes may use."`
	DefaultStorage    string   `json:"default_storage_interface,omitempty" since:"33" doc:"Default storage interface." example:"noop"`
	EnabledStorage    []string `json:"enabled_storage_interfaces,omitempty" since:"33" doc:"Storage interfaces that nodes may use."`
	DefaultVendor     string   `json:"default_vendor_interface,omitempty" since:"30" doc:"Default vendor interface." example:"fake"`
	EnabledVendor     []string `json:"enabled_vendor_interfaces,omitempty" since:"30" doc:"Vendor interfaces that nodes may use."`
}

// driverInterfaces returns the same interfaces for every driver. A node may use any of them, and its choice has no
// effect.
func driverInterfaces() DriverInterfaces {
	of := interfacesOf(&store.Node{})
	only := func(name string) []string { return []string{name} }
	return DriverInterfaces{
		DefaultBIOS: of.BIOS, EnabledBIOS: only(of.BIOS),
		DefaultBoot: of.Boot, EnabledBoot: only(of.Boot),
		DefaultConsole: of.Console, EnabledConsole: only(of.Console),
		DefaultDeploy: of.Deploy, EnabledDeploy: only(of.Deploy),
		DefaultInspect: of.Inspect, EnabledInspect: only(of.Inspect),
		DefaultManagement: of.Management, EnabledManagement: only(of.Management),
		DefaultNetwork: of.Network, EnabledNetwork: only(of.Network),
		DefaultPower: of.Power, EnabledPower: only(of.Power),
		DefaultRAID: of.RAID, EnabledRAID: only(of.RAID),
		DefaultRescue: of.Rescue, EnabledRescue: only(of.Rescue),
		DefaultStorage: of.Storage, EnabledStorage: only(of.Storage),
		DefaultVendor: of.Vendor, EnabledVendor: only(of.Vendor),
	}
}
