package conductor

import (
	"context"

	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/store"
)

// Power states as the API names them.
const (
	PowerOn       = "power on"
	PowerOff      = "power off"
	Rebooting     = "rebooting"
	SoftPowerOff  = "soft power off"
	SoftRebooting = "soft rebooting"
)

// Driver handles one kind of machines. Each step answers which power state the
// machine is in afterwards, empty if the step doesn't know; an error fails the step
// and its text becomes the node's last_error.
//
// A step must stand being done twice, and being broken off at any point: when the
// conductor at work dies, another one begins the step again. It ends when the
// context does.
type Driver interface {
	// Verify finds out whether the machine can be managed.
	Verify(ctx context.Context, node store.Node) (power string, err error)
	// Inspect finds out what the machine has.
	Inspect(ctx context.Context, node store.Node) (power string, err error)
	// Clean removes what the last user left.
	Clean(ctx context.Context, node store.Node) (power string, err error)
	// Deploy puts the user's system on the machine and starts it.
	Deploy(ctx context.Context, node store.Node) (power string, err error)
	// TearDown takes the machine from its user.
	TearDown(ctx context.Context, node store.Node) (power string, err error)
	// Adopt takes over a machine that somebody else deployed.
	Adopt(ctx context.Context, node store.Node) (power string, err error)
	// Power switches the machine; target is one of the power states above.
	Power(ctx context.Context, node store.Node, target string) (power string, err error)
	// Validate says for each interface, such as "power" or "deploy", what keeps it
	// from working; nil: nothing. What the driver doesn't have is not in the map.
	Validate(ctx context.Context, node store.Node) map[string]error
}

// steps says which step is the work of a transient state.
var steps = map[string]func(Driver, context.Context, store.Node) (string, error){
	provision.Verifying:  Driver.Verify,
	provision.Inspecting: Driver.Inspect,
	provision.Cleaning:   Driver.Clean,
	provision.Deploying:  Driver.Deploy,
	provision.Deleting:   Driver.TearDown,
	provision.Adopting:   Driver.Adopt,
}

// Drivers are the drivers built in, by the name that a node's driver field has.
func Drivers() map[string]Driver {
	return map[string]Driver{FakeHardware: fake{}}
}

// FakeHardware is the name of the driver without hardware.
const FakeHardware = "fake-hardware"

// Interfaces are the interfaces the API asks about, in the order of the alphabet.
var interfaces = []string{
	"bios", "boot", "console", "deploy", "inspect", "management", "network", "power", "raid", "rescue", "storage",
}

// fake touches no machine at all: every step succeeds at once, whatever the node
// says. It is for trying the API and for testing what uses it. Where the API's
// first server leaves the power state unknown after verifying, which keeps the node
// from ever being allocated until somebody switches it, this one says "power off".
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
