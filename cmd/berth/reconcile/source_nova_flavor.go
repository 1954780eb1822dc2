package reconcile

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// novaFlavor is the flavor of a server, as it was when the server got it.
type novaFlavor struct {
	VCPUs      int64             `json:"vcpus"`
	RAM        int64             `json:"ram"`
	Disk       int64             `json:"disk"`
	Ephemeral  int64             `json:"ephemeral"`
	Swap       int64             `json:"swap"` // MiB
	ExtraSpecs map[string]string `json:"extra_specs"`
}

// unknownSpecs are the beginnings of extra specs that change amounts in ways that only nova's scheduler knows.
var unknownSpecs = []string{
	"resources", "hw:cpu_policy", "hw:cpu_dedicated_mask", "hw:mem_encryption", "hw:pci", "pci_passthrough", "accel:", "hw:tpm",
}

// amounts returns what nova claims for the flavor; nil if extra specs or their absence make it unknown. The root disk of a
// server that boots from a volume is not on its host.
func (f *novaFlavor) amounts(bootsFromVolume bool) map[string]int64 {
	if f.ExtraSpecs == nil {
		return nil // policy hides them
	}
	disk := f.Ephemeral + (f.Swap+1023)/1024
	if !bootsFromVolume {
		disk += f.Disk
	}
	amounts := map[string]int64{"VCPU": f.VCPUs, "MEMORY_MB": f.RAM, "DISK_GB": disk}
	for key, value := range f.ExtraSpecs {
		if class, isOverride := strings.CutPrefix(key, "resources:"); isOverride {
			amount, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil
			}
			amounts[class] = amount
			continue
		}
		for _, unknown := range unknownSpecs {
			if strings.HasPrefix(key, unknown) {
				return nil
			}
		}
	}
	return amounts
}

// optional is a text that may be null or missing.
type optional struct {
	text  string
	isSet bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *optional) UnmarshalJSON(text []byte) error {
	o.isSet = true
	return json.Unmarshal(text, &o.text)
}

// timeText is a time of the Compute API; zero if it is missing.
type timeText struct{ time time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *timeText) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &t.time) }
