package host

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Classes that this driver gives inventory of, all of them standard ones.
const (
	classVCPU   = "VCPU"
	classPCPU   = "PCPU"
	classMemory = "MEMORY_MB"
	classDisk   = "DISK_GB"
	classPGPU   = "PGPU"
	classVGPU   = "VGPU"
	classVF     = "SRIOV_NET_VF"
)

// Traits that are about a provider's place or kind, not about a processor's flag.
const (
	traitNUMARoot       = "HW_NUMA_ROOT"
	traitHyperthreading = "HW_CPU_HYPERTHREADING"
	traitSRIOV          = "HW_NIC_SRIOV"
	traitSSD            = "STORAGE_DISK_SSD"
	traitHDD            = "STORAGE_DISK_HDD"
)

const (
	customPrefix = "CUSTOM_"
	// longestName is what the service takes for a class or a trait.
	longestName = 255
)

// validName is what the service takes for the name of a class or a trait.
var validName = regexp.MustCompile(`^[A-Z0-9_]+$`)

// Custom makes a name for a custom resource class or trait out of words: upper
// case, an underscore between two words and for every character that names cannot
// have, and CUSTOM_ in front unless it is there. A name that would be too long
// is cut and gets a hash of the whole, so that two long ones stay different.
func Custom(words ...string) string {
	written := []byte(strings.ToUpper(strings.Join(words, "_")))
	for i, letter := range written {
		if (letter < 'A' || letter > 'Z') && (letter < '0' || letter > '9') {
			written[i] = '_'
		}
	}
	name := customPrefix + strings.TrimPrefix(string(written), customPrefix)
	if name == customPrefix {
		name += "_"
	}
	if len(name) > longestName {
		hash := sha256.Sum256([]byte(name))
		tail := "_" + strings.ToUpper(hex.EncodeToString(hash[:4]))
		name = name[:longestName-len(tail)] + tail
	}
	return name
}

// hugePagesClass is such as CUSTOM_MEMORY_HUGEPAGES_2MB, of which an inventory is in
// MiB, like MEMORY_MB. Pages below a MiB have no class.
func hugePagesClass(sizeKB int64) (class string, known bool) {
	switch {
	case sizeKB >= 1<<20 && sizeKB%(1<<20) == 0:
		return Custom("MEMORY_HUGEPAGES", number(sizeKB>>20)+"GB"), true
	case sizeKB >= 1<<10 && sizeKB%(1<<10) == 0:
		return Custom("MEMORY_HUGEPAGES", number(sizeKB>>10)+"MB"), true
	}
	return "", false
}

// isHugePages tells whether a class is one of hugePagesClass.
func isHugePages(class string) bool { return hugePagesName.MatchString(class) }

var hugePagesName = regexp.MustCompile(`^CUSTOM_MEMORY_HUGEPAGES_[0-9]+[MG]B$`)

// pciClass is the class of a device that is none of the known kinds.
func pciClass(device Device) string { return Custom("PCI", device.Vendor, device.Product) }
