package run

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent/host"
	"github.com/berthd/berth/client"
)

// deviceVariables returns the variables that the runtimes of GPUs read, for a place in the tree of this host. A kind of GPUs of
// which the tree has none that `berth agent` reports has no variables. A claim without a GPU of the kind makes all of them
// invisible.
func (r *run) deviceVariables(ctx context.Context, at *place) (map[string]string, error) {
	gpus := host.GPUs(r.options.root)
	if len(gpus) == 0 || r.hostRoot == uuid.Nil || at.claim().Root == nil || *at.claim().Root != r.hostRoot {
		return nil, nil
	}
	tree, err := r.service.ProviderList(ctx, client.ProviderFilter{InTree: r.hostRoot.String()})
	if err != nil {
		return nil, err
	}
	reported := map[string]bool{}
	for _, provider := range tree {
		if address, is := host.DeviceAddress(r.hostName, provider.Name); is {
			reported[address] = true
		}
	}
	claimed := map[string]bool{}
	for _, allocation := range at.claim().Allocations {
		if address, is := host.DeviceAddress(r.hostName, allocation.Name); is {
			claimed[address] = true
		}
	}
	variables := map[string]string{}
	for vendor, name := range map[string]func([]host.GPU, map[string]string){host.VendorNVIDIA: nameNVIDIA, host.VendorAMD: nameAMD} {
		isKind := func(gpu host.GPU) bool { return gpu.Vendor == vendor && reported[gpu.Address] }
		if !slices.ContainsFunc(gpus, isKind) {
			continue
		}
		name(slices.DeleteFunc(slices.Clone(gpus), func(gpu host.GPU) bool { return !isKind(gpu) || !claimed[gpu.Address] }), variables)
	}
	return variables, nil
}

// nameNVIDIA sets the variables of CUDA and of NVIDIA's container runtime: the UUIDs, or the indexes if the driver does not
// show all UUIDs. CUDA counts the fastest GPU first unless CUDA_DEVICE_ORDER changes that.
func nameNVIDIA(gpus []host.GPU, variables map[string]string) {
	var names []string
	for _, gpu := range gpus {
		names = append(names, gpu.UUID)
	}
	if slices.Contains(names, "") {
		names = indexesOf(gpus)
		variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
	}
	visible := strings.Join(names, ",")
	variables["CUDA_VISIBLE_DEVICES"], variables["NVIDIA_VISIBLE_DEVICES"] = visible, visible
	if visible == "" {
		variables["NVIDIA_VISIBLE_DEVICES"] = "void" // an empty value means the same only to newer runtimes
	}
}

// nameAMD sets the variable of ROCm.
func nameAMD(gpus []host.GPU, variables map[string]string) {
	variables["ROCR_VISIBLE_DEVICES"] = strings.Join(indexesOf(gpus), ",")
}

func indexesOf(gpus []host.GPU) (indexes []string) {
	for _, gpu := range gpus {
		indexes = append(indexes, strconv.Itoa(gpu.Index))
	}
	return indexes
}
