package baremetal

import "github.com/berthd/berth/server/store"

// DriverInterfaces are the parts that a driver is put together of: for each the one that a
// node has unless it names another, and all that it may name.
type DriverInterfaces struct {
	DefaultBIOS       string   `json:"default_bios_interface,omitempty" since:"40" doc:"Part for its settings, unless the node names another." example:"fake"`
	EnabledBIOS       []string `json:"enabled_bios_interfaces,omitempty" since:"40" doc:"Parts for its settings that nodes may name."`
	DefaultBoot       string   `json:"default_boot_interface,omitempty" since:"30" doc:"Part for starting, unless the node names another." example:"fake"`
	EnabledBoot       []string `json:"enabled_boot_interfaces,omitempty" since:"30" doc:"Parts for starting that nodes may name."`
	DefaultConsole    string   `json:"default_console_interface,omitempty" since:"30" doc:"Part for consoles, unless the node names another." example:"fake"`
	EnabledConsole    []string `json:"enabled_console_interfaces,omitempty" since:"30" doc:"Parts for consoles that nodes may name."`
	DefaultDeploy     string   `json:"default_deploy_interface,omitempty" since:"30" doc:"Part for deploying, unless the node names another." example:"fake"`
	EnabledDeploy     []string `json:"enabled_deploy_interfaces,omitempty" since:"30" doc:"Parts for deploying that nodes may name."`
	DefaultInspect    string   `json:"default_inspect_interface,omitempty" since:"30" doc:"Part for inspecting, unless the node names another." example:"fake"`
	EnabledInspect    []string `json:"enabled_inspect_interfaces,omitempty" since:"30" doc:"Parts for inspecting that nodes may name."`
	DefaultManagement string   `json:"default_management_interface,omitempty" since:"30" doc:"Part for managing, unless the node names another." example:"fake"`
	EnabledManagement []string `json:"enabled_management_interfaces,omitempty" since:"30" doc:"Parts for managing that nodes may name."`
	DefaultNetwork    string   `json:"default_network_interface,omitempty" since:"30" doc:"Part for networks, unless the node names another." example:"noop"`
	EnabledNetwork    []string `json:"enabled_network_interfaces,omitempty" since:"30" doc:"Parts for networks that nodes may name."`
	DefaultPower      string   `json:"default_power_interface,omitempty" since:"30" doc:"Part for power, unless the node names another." example:"fake"`
	EnabledPower      []string `json:"enabled_power_interfaces,omitempty" since:"30" doc:"Parts for power that nodes may name."`
	DefaultRAID       string   `json:"default_raid_interface,omitempty" since:"30" doc:"Part for disks, unless the node names another." example:"fake"`
	EnabledRAID       []string `json:"enabled_raid_interfaces,omitempty" since:"30" doc:"Parts for disks that nodes may name."`
	DefaultRescue     string   `json:"default_rescue_interface,omitempty" since:"38" doc:"Part for rescuing, unless the node names another." example:"fake"`
	EnabledRescue     []string `json:"enabled_rescue_interfaces,omitempty" since:"38" doc:"Parts for rescuing that nodes may name."`
	DefaultStorage    string   `json:"default_storage_interface,omitempty" since:"33" doc:"Part for volumes, unless the node names another." example:"noop"`
	EnabledStorage    []string `json:"enabled_storage_interfaces,omitempty" since:"33" doc:"Parts for volumes that nodes may name."`
	DefaultVendor     string   `json:"default_vendor_interface,omitempty" since:"30" doc:"Part for what one vendor has, unless the node names another." example:"fake"`
	EnabledVendor     []string `json:"enabled_vendor_interfaces,omitempty" since:"30" doc:"Parts for what one vendor has that nodes may name."`
}

// driverInterfaces are the same for every driver: nodes may name any, and what they
// name changes nothing.
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
