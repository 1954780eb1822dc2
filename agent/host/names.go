package host

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Standard resource classes that the driver reports.
const (
	classVCPU   = "VCPU"
	classPCPU   = "PCPU"
	classMemory = "MEMORY_MB"
	classDisk   = "DISK_GB"
	classPGPU   = "PGPU"
	classVGPU   = "VGPU"
	classVF     = "SRIOV_NET_VF"
)

// Standard traits of providers, besides those of CPU flags.
const (
	traitNUMARoot       = "HW_NUMA_ROOT"
	traitHyperthreading = "HW_CPU_HYPERTHREADING"
	traitSRIOV          = "HW_NIC_SRIOV"
	traitSSD            = "STORAGE_DISK_SSD"
	traitHDD            = "STORAGE_DISK_HDD"
)

const (
	customPrefix = "CUSTOM_"
	// maxNameLength is the maximum length of the name of a class or trait.
	maxNameLength = 255
)

// validName matches valid names of classes and traits.
var validName = regexp.MustCompile(`^[A-Z0-9_]+$`)

// Custom returns the name of a custom resource class or trait. It joins the words with underscores, converts them to
// upper case, replaces invalid characters by underscores, and adds the prefix CUSTOM_ if it is missing. It truncates a
// name that is too long and appends a hash, so that two long names stay different.
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
	if len(name) > maxNameLength {
		hash := sha256.Sum256([]byte(name))
		tail := "_" + strings.ToUpper(hex.EncodeToString(hash[:4]))
		name = name[:maxNameLength-len(tail)] + tail
	}
	return name
}

// hugePagesClass returns the class of huge pages of a size, for example CUSTOM_MEMORY_HUGEPAGES_2MB. Its inventory is in
// MiB like MEMORY_MB. Pages smaller than 1 MiB have no class.
func hugePagesClass(sizeKB int64) (class string, known bool) {
	switch {
	case sizeKB >= 1<<20 && sizeKB%(1<<20) == 0:
		return Custom("MEMORY_HUGEPAGES", number(sizeKB>>20)+"GB"), true
	case sizeKB >= 1<<10 && sizeKB%(1<<10) == 0:
		return Custom("MEMORY_HUGEPAGES", number(sizeKB>>10)+"MB"), true
	}
	return "", false
}

// isHugePages reports whether a class is one of hugePagesClass.
func isHugePages(class string) bool { return hugePagesName.MatchString(class) }

var hugePagesName = regexp.MustCompile(`^CUSTOM_MEMORY_HUGEPAGES_[0-9]+[MG]B$`)

// pciClass returns the default class of a device that is neither a GPU nor a virtual function of a network card.
func pciClass(device Device) string { return Custom("PCI", device.Vendor, device.Product) }
