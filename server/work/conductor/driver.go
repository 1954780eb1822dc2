package conductor

import (
	"context"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// Power states, in the spelling of the API.
const (
	PowerOn       = "power on"
	PowerOff      = "power off"
	Rebooting     = "rebooting"
	SoftPowerOff  = "soft power off"
	SoftRebooting = "soft rebooting"
)

// Driver manages one type of machine. Each step returns the power state that the machine has afterwards, empty if
// unknown. An error fails the step and becomes the node's last_error.
//
// Every step must be idempotent and may be interrupted at any point: when a conductor dies, another one repeats the
// step. A step ends when the context does.
type Driver interface {
	// Verify checks whether the driver can manage the machine.
	Verify(ctx context.Context, node store.Node) (power string, err error)
	// Inspect discovers the hardware of the machine.
	Inspect(ctx context.Context, node store.Node) (power string, err error)
	// Clean removes the data of the last user.
	Clean(ctx context.Context, node store.Node) (power string, err error)
	// Deploy installs the user's system on the machine and starts it.
	Deploy(ctx context.Context, node store.Node) (power string, err error)
	// TearDown removes the user's system from the machine.
	TearDown(ctx context.Context, node store.Node) (power string, err error)
	// Adopt starts to manage a machine that is already deployed.
	Adopt(ctx context.Context, node store.Node) (power string, err error)
	// Power changes the power state; target is one of the power states above.
	Power(ctx context.Context, node store.Node, target string) (power string, err error)
	// Validate returns, for each interface such as "power" or "deploy", the error that prevents its use; nil if none.
	// Interfaces that the driver does not have are not in the map.
	Validate(ctx context.Context, node store.Node) map[string]error
}

// steps maps each transient state to the driver's step.
var steps = map[string]func(Driver, context.Context, store.Node) (string, error){
	provision.Verifying:  Driver.Verify,
	provision.Inspecting: Driver.Inspect,
	provision.Cleaning:   Driver.Clean,
	provision.Deploying:  Driver.Deploy,
	provision.Deleting:   Driver.TearDown,
	provision.Adopting:   Driver.Adopt,
}

// Drivers returns the built-in drivers by name, as in the driver field of a node.
func Drivers() map[string]Driver {
	return map[string]Driver{FakeHardware: fake{}}
}

// FakeHardware is the name of the driver without hardware.
const FakeHardware = "fake-hardware"

// interfaces are the interfaces that the API reports, in alphabetical order.
var interfaces = []string{
	"bios", "boot", "console", "deploy", "inspect", "management", "network", "power", "raid", "rescue", "storage",
}

// fake touches no machine: every step succeeds at once, whatever the node contains. It is for trials of the API and for
// tests of its clients. ironic leaves the power state unknown after verifying, so that the node is not allocatable
// until a client changes its power. This driver sets "power off".
type fake struct{}

func (fake) Verify(_ context.Context, node store.Node) (string, error) {
	if node.PowerState != nil {
		return "", nil
	}
	return PowerOff, nil
}

func (fake) Inspect(context.Context, store.Node) (string, error)  { return "", nil }
func (fake) Clean(context.Context, store.Node) (string, error)    { return "", nil }
func (fake) Deploy(context.Context, store.Node) (string, error)   { return PowerOn, nil }
func (fake) TearDown(context.Context, store.Node) (string, error) { return PowerOff, nil }
func (fake) Adopt(context.Context, store.Node) (string, error)    { return "", nil }

func (fake) Power(_ context.Context, _ store.Node, target string) (string, error) {
	if target == PowerOff || target == SoftPowerOff {
		return PowerOff, nil
	}
	return PowerOn, nil
}

func (fake) Validate(context.Context, store.Node) map[string]error {
	valid := make(map[string]error, len(interfaces))
	for _, name := range interfaces {
		valid[name] = nil
	}
	return valid
}
