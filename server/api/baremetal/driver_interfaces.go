package baremetal

import "github.com/berthd/berth/server/data/store"

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
