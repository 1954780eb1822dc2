//go:build client

package e2e

import "maps"

// What the session works with.
const (
	conductorName = "conductor-1"
	rack1         = "c0ffee00-5ca1-4b1e-8000-000000000011"
	rack2         = "c0ffee00-5ca1-4b1e-8000-000000000012"
	webID         = "c0ffee00-5ca1-4b1e-8000-000000000021"
	dbID          = "c0ffee00-5ca1-4b1e-8000-000000000022"
	oldID         = "c0ffee00-5ca1-4b1e-8000-000000000023"
	foreignID     = "c0ffee00-5ca1-4b1e-8000-000000000024"
	portID        = "c0ffee00-5ca1-4b1e-8000-000000000031"
)

// ironicSessionBuilder writes a session.
type ironicSessionBuilder struct {
	version apiVersion
	calls   []ironicCall
}

// ironicSession is a day of an operator: each call stands on those before it.
func ironicSession(version apiVersion) []ironicCall {
	b := &ironicSessionBuilder{version: version}
	b.surroundings()
	b.enroll()
	b.available()
	b.traits()
	b.allocate()
	b.deploy()
	b.backfill()
	b.maintain()
	b.ports()
	b.leave()
	return b.calls
}

// does appends a call with its output, "" for none.
func (b *ironicSessionBuilder) does(line string, want any) {
	b.calls = append(b.calls, ironicCall{line: line, want: want})
}

func (b *ironicSessionBuilder) fails(line, text string) {
	b.calls = append(b.calls, ironicCall{line: line, fails: text})
}

func (b *ironicSessionBuilder) surroundings() {
	b.does("driver list", []row{{"Supported driver(s)": "fake-hardware", "Active host(s)": conductorName}})
	b.does("conductor list", []row{{"Hostname": conductorName, "Conductor Group": "", "Alive": true}})
	b.does("conductor show "+conductorName, row{"hostname": conductorName, "conductor_group": "", "alive": true,
		"drivers": []string{"fake-hardware"}, "created_at": momentShown, "updated_at": momentShown})
	b.does("node list", []row{})
	b.does("allocation list", []row{})
}

// node is how the client shows a node, but for what is said. Members that came after
// the version are not there, which the client shows as nothing.
func (b *ironicSessionBuilder) node(uuid, name string, but row) row {
	shown := row{
		"allocation_uuid": nil, "automated_clean": nil, "bios_interface": "fake", "boot_interface": "fake",
		"chassis_uuid": nil, "clean_step": row{}, "conductor": nil, "conductor_group": "", "console_enabled": false,
		"console_interface": "fake", "created_at": momentShown, "deploy_interface": "fake", "deploy_step": row{},
		"description": nil, "driver": "fake-hardware", "driver_info": row{}, "driver_internal_info": row{}, "extra": row{},
		"fault": nil, "inspect_interface": "fake", "inspection_finished_at": nil, "inspection_started_at": nil,
		"instance_info": row{}, "instance_uuid": nil, "last_error": nil, "maintenance": false, "maintenance_reason": nil,
		"management_interface": "fake", "name": name, "network_interface": "noop", "owner": nil, "power_interface": "fake",
		"power_state": nil, "properties": row{}, "protected": false, "protected_reason": nil, "provision_state": "enroll",
		"provision_updated_at": nil, "raid_config": row{}, "raid_interface": "fake", "rescue_interface": "fake",
		"reservation": nil, "resource_class": nil, "storage_interface": "noop", "target_power_state": nil,
		"target_provision_state": nil, "target_raid_config": row{}, "traits": []string{}, "updated_at": nil, "uuid": uuid,
		"vendor_interface": "fake",
	}
	for since, later := range map[string]row{
		"1.61": {"retired": false, "retired_reason": nil}, "1.65": {"lessee": nil}, "1.66": {"network_data": row{}},
		"1.75": {"boot_mode": nil, "secure_boot": nil},
	} {
		if b.version.has(since) {
			maps.Copy(shown, later)
		}
	}
	maps.Copy(shown, but)
	return shown
}

func (b *ironicSessionBuilder) enroll() {
	b.does("node create --driver fake-hardware --name rack-1 --resource-class gold --uuid "+rack1,
		b.node(rack1, "rack-1", row{"resource_class": "gold"}))
	b.does("node create --driver fake-hardware --name rack-two --resource-class silver --property cpus=4 --extra a=b --driver-info x=y --uuid "+rack2,
		b.node(rack2, "rack-two", row{"resource_class": "silver", "properties": row{"cpus": 4}, "extra": row{"a": "b"}, "driver_info": row{"x": "y"}}))
	b.fails("node create --driver fake-hardware --name rack-1", "A node with name rack-1 already exists. (HTTP 409)")
	b.fails("node create --driver none --name rack-3",
		`No valid host was found. Reason: No conductor service registered which supports driver none for conductor group "". (HTTP 400)`)
	b.fails("node provide rack-1", `The requested action "provide" can not be performed on node "`+rack1+`" while it is in state "enroll". (HTTP 400)`)
	b.does("node set rack-two --name rack-2 --owner lab --property memory_mb=1024 --description 'a spare one'", "")
	b.does("node unset rack-2 --property cpus --extra a", "")
	b.does("node show rack-2 --fields name owner properties extra description", row{
		"name": "rack-2", "owner": "lab", "properties": row{"memory_mb": 1024}, "extra": row{}, "description": "a spare one"})
	b.fails("node show rack-two", "Node rack-two could not be found. (HTTP 404)")
}

func (b *ironicSessionBuilder) available() {
	b.does("node manage rack-1 --wait", "Waiting for provision state manageable on node rack-1")
	b.does("node manage rack-2 --wait", "Waiting for provision state manageable on node rack-2")
	b.does("node provide rack-1 --wait", "Waiting for provision state available on node rack-1")
	b.does("node list", []row{
		{"UUID": rack1, "Name": "rack-1", "Instance UUID": nil, "Power State": "power off", "Provisioning State": "available", "Maintenance": false},
		{"UUID": rack2, "Name": "rack-2", "Instance UUID": nil, "Power State": "power off", "Provisioning State": "manageable", "Maintenance": false},
	})
	for _, filter := range []string{"--provision-state available", "--resource-class gold", "--driver fake-hardware --limit 1",
		"--unassociated --no-maintenance --resource-class gold"} {
		b.does("node list --fields uuid name "+filter, []row{{"UUID": rack1, "Name": "rack-1"}})
	}
	for _, filter := range []string{"--provision-state manageable", "--owner lab", "--marker " + rack1} {
		b.does("node list --fields uuid name "+filter, []row{{"UUID": rack2, "Name": "rack-2"}})
	}
	b.does("node list --fields name --sort name:desc", []row{{"Name": "rack-2"}, {"Name": "rack-1"}})
	b.does("node list --associated", []row{})
	b.does("node show rack-1", b.node(rack1, "rack-1", row{"resource_class": "gold", "provision_state": "available",
		"power_state": "power off", "provision_updated_at": momentShown, "updated_at": momentShown}))
	interfaces := []row{}
	for _, name := range []string{"bios", "boot", "console", "deploy", "inspect", "management", "network", "power", "raid", "rescue", "storage"} {
		interfaces = append(interfaces, row{"Interface": name, "Result": true, "Reason": ""})
	}
	b.does("node validate rack-1", interfaces)
}

func (b *ironicSessionBuilder) traits() {
	b.does("node add trait rack-1 CUSTOM_SSD HW_CPU_X86_AVX2", "Added trait CUSTOM_SSD\nAdded trait HW_CPU_X86_AVX2")
	b.does("node trait list rack-1", []row{{"Traits": "CUSTOM_SSD"}, {"Traits": "HW_CPU_X86_AVX2"}})
	b.does("node remove trait rack-1 HW_CPU_X86_AVX2", "Removed trait HW_CPU_X86_AVX2")
	b.fails("node remove trait rack-1 HW_CPU_X86_AVX2", "(HTTP 404)")
	b.does("node remove trait rack-2 --all", "")
	b.does("node trait list rack-1", []row{{"Traits": "CUSTOM_SSD"}})
}

// allocation is how the client shows an allocation, but for what is said.
func (b *ironicSessionBuilder) allocation(uuid string, but row) row {
	shown := row{"uuid": uuid, "name": nil, "state": "active", "resource_class": "gold", "traits": []string{}, "candidate_nodes": []string{},
		"node_uuid": nil, "last_error": nil, "extra": row{}, "created_at": momentShown, "updated_at": momentShown}
	if b.version.has("1.60") {
		shown["owner"] = nil
	}
	maps.Copy(shown, but)
	return shown
}

// created is how the client shows what it has made: a member that came after the
// version is empty there, and missing wherever else it is shown.
func (b *ironicSessionBuilder) created(since, member string, shown row) row {
	shown = maps.Clone(shown)
	if !b.version.has(since) {
		shown[member] = ""
	}
	return shown
}

func (b *ironicSessionBuilder) allocate() {
	none := "Failed to process allocation " + dbID + ": no available nodes match the resource class gold."
	b.does("allocation create --resource-class gold --name web --trait CUSTOM_SSD --candidate-node rack-1 --extra k=v --uuid "+webID+" --wait",
		b.created("1.60", "owner", b.allocation(webID, row{"name": "web", "traits": []string{"CUSTOM_SSD"}, "candidate_nodes": []string{rack1}, "node_uuid": rack1, "extra": row{"k": "v"}})))
	b.fails("allocation create --resource-class gold --name db --uuid "+dbID+" --wait", "Allocation "+dbID+" failed: "+none)
	b.fails("allocation create --resource-class gold --name web", "An allocation with name web already exists. (HTTP 409)")
	b.fails("allocation create --resource-class gold --candidate-node nowhere", "Nodes cannot be found: nowhere (HTTP 400)")
	web := row{"UUID": webID, "Name": "web", "Resource Class": "gold", "State": "active", "Node UUID": rack1}
	db := row{"UUID": dbID, "Name": "db", "Resource Class": "gold", "State": "error", "Node UUID": nil}
	b.does("allocation list", []row{web, db})
	for _, filter := range []string{"--node rack-1", "--node " + rack1, "--state active", "--resource-class gold --limit 1"} {
		b.does("allocation list "+filter, []row{web})
	}
	b.does("allocation list --state error", []row{db})
	b.does("allocation list --sort name", []row{db, web})
	b.does("allocation list --marker "+webID, []row{db})
	b.does("allocation list --resource-class lead", []row{})
	b.fails("allocation list --node nowhere", "(HTTP 400)")
	b.does("allocation show db", b.allocation(dbID, row{"name": "db", "state": "error", "last_error": none}))
	b.does("allocation show web --fields name node_uuid", row{"name": "web", "node_uuid": rack1})
	if b.version.has("1.57") {
		b.does("allocation set web --name www --extra x=1", "")
		b.does("allocation unset www --extra k", "")
		b.does("allocation show www --fields name extra", row{"name": "www", "extra": row{"x": 1}})
		b.does("allocation set www --name web", "")
	} else {
		b.fails("allocation set web --name www", "(HTTP 405)")
	}
	if b.version.has("1.60") {
		b.does("allocation list --owner missing", []row{})
	} else {
		b.fails("allocation list --owner missing", "is not supported by the server, client, or the requested operation is not supported by the requested version")
	}
	b.does("allocation delete db", "Deleted allocation db")
	b.fails("allocation show db", "Allocation db could not be found. (HTTP 404)")
	b.does("node list --associated --fields uuid instance_uuid allocation_uuid", []row{{"UUID": rack1, "Instance UUID": webID, "Allocation UUID": webID}})
	b.does("node show --instance "+webID+" --fields name instance_info", row{"name": "rack-1", "instance_info": row{"traits": []string{"CUSTOM_SSD"}}})
}

func (b *ironicSessionBuilder) deploy() {
	b.does("node deploy rack-1 --wait", "Waiting for provision state active on node rack-1")
	b.fails("allocation delete web", "Cannot remove allocation "+webID+" for node "+rack1+", because the node is active (and maintenance mode is off) (HTTP 409)")
	b.fails("node delete rack-1", "Node "+rack1+" is associated with instance "+webID+". (HTTP 409)")
	b.does("node undeploy rack-1 --wait", "Waiting for provision state available on node rack-1")
	b.fails("allocation show web", "Allocation web could not be found. (HTTP 404)")
	b.does("node show rack-1 --fields instance_uuid instance_info provision_state", row{"instance_uuid": nil, "instance_info": row{}, "provision_state": "available"})
}

func (b *ironicSessionBuilder) backfill() {
	b.does("node adopt rack-2 --wait", "Waiting for provision state active on node rack-2")
	if b.version.has("1.58") {
		b.does("allocation create --node rack-2 --name old --uuid "+oldID,
			b.created("1.60", "owner", b.allocation(oldID, row{"name": "old", "resource_class": "silver", "node_uuid": rack2})))
		b.fails("allocation create --node rack-1", "(HTTP 409)")
	} else {
		b.fails("allocation create --node rack-2", "(HTTP 400)")
	}
	b.does("node undeploy rack-2 --wait", "Waiting for provision state available on node rack-2")
	b.does("allocation list", []row{})
	b.does("node set rack-2 --instance-uuid "+foreignID, "")
	b.fails("node set rack-2 --instance-uuid "+webID, "Node "+rack2+" is associated with instance "+foreignID+". (HTTP 409)")
	b.does("node unset rack-2 --instance-uuid", "")
}

func (b *ironicSessionBuilder) maintain() {
	b.does("node maintenance set rack-1 --reason 'new disks'", "")
	b.does("node list --maintenance --fields name maintenance", []row{{"Name": "rack-1", "Maintenance": true}})
	b.does("node show rack-1 --fields maintenance_reason", row{"maintenance_reason": "new disks"})
	b.does("node maintenance unset rack-1", "")
	b.does("node power on rack-1", "")
	b.does("node power off rack-1 --soft", "")
	b.does("node reboot rack-2", "")
	b.fails("node power on nowhere", "Node nowhere could not be found. (HTTP 404)")
	b.fails("node inspect rack-1", `The requested action "inspect" can not be performed on node "`+rack1+`" while it is in state "available". (HTTP 400)`)
}

func (b *ironicSessionBuilder) ports() {
	port := row{"uuid": portID, "address": "52:54:00:12:34:ab", "node_uuid": rack1, "extra": row{"k": "v"}, "internal_info": row{},
		"local_link_connection": row{}, "physical_network": "blue", "portgroup_uuid": nil, "pxe_enabled": true,
		"created_at": momentShown, "updated_at": nil}
	if b.version.has("1.53") {
		port["is_smartnic"] = false
	}
	b.does("port create --node "+rack1+" 52:54:00:12:34:AB --physical-network blue --extra k=v --uuid "+portID, b.created("1.53", "is_smartnic", port))
	b.fails("port create --node "+rack1+" 52:54:00:12:34:AB", "(HTTP 409)")
	b.does("port show --address 52:54:00:12:34:ab", port)
	b.does("port list --node rack-1", []row{{"UUID": portID, "Address": "52:54:00:12:34:ab"}})
	b.does("port list --node rack-2", []row{})
	b.does("port set "+portID+" --extra more=1", "")
	b.does("port unset "+portID+" --extra k", "")
	b.does("port show "+portID+" --fields extra", row{"extra": row{"more": 1}})
	b.does("port delete "+portID, "Deleted port "+portID)
	b.fails("port show "+portID, "(HTTP 404)")
}

func (b *ironicSessionBuilder) leave() {
	b.does("node delete rack-1 rack-2", "Deleted node rack-1\nDeleted node rack-2")
	b.does("node list", []row{})
}
