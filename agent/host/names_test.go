package host

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// standard reads a list of standard names.
func standard(t testing.TB, file string) []string {
	t.Helper()
	content, err := os.ReadFile("../../server/data/store/names/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := json.Unmarshal(content, &names); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestAgent_DriverTraits_AreStandardTraits(t *testing.T) {
	t.Parallel()
	known := standard(t, "traits.json")
	all := slices.Concat(traitsOfProcessors(), traitsOfDevices(), []string{traitNUMARoot, traitSSD, traitHDD})
	if len(all) < 100 {
		t.Fatalf("%d traits, want more", len(all))
	}
	for _, trait := range all {
		if !slices.Contains(known, trait) {
			t.Errorf("%s is not a standard trait", trait)
		}
	}
}

func TestAgent_DriverClasses_AreStandardClasses(t *testing.T) {
	t.Parallel()
	known := standard(t, "resource_classes.json")
	for _, class := range []string{classVCPU, classPCPU, classMemory, classDisk, classPGPU, classVGPU, classVF} {
		if !slices.Contains(known, class) {
			t.Errorf("%s is not a standard class", class)
		}
	}
}

// TestAgent_StandardCPUTraits_KnownOrExcluded detects new CPU traits in a newer list.
func TestAgent_StandardCPUTraits_KnownOrExcluded(t *testing.T) {
	t.Parallel()
	excluded := []string{
		"HW_CPU_AMD_SEV",         // an older name of HW_CPU_X86_AMD_SEV
		"HW_CPU_X86_ASF",         // the kernel has no such flag
		"HW_CPU_X86_AMD_NO_SSB",  // the kernel does not show it
		"HW_CPU_X86_INTEL_TDX",   // the kernel shows what a guest sees of it
		"HW_CPU_PPC64LE_POWER8",  // no flags on this architecture
		"HW_CPU_PPC64LE_POWER9",  // the same
		"HW_CPU_X86_SGX_LC",      // no standard trait today
		"HW_CPU_X86_AMD_SEV_TIO", // the same
	}
	known := traitsOfProcessors()
	for _, trait := range standard(t, "traits.json") {
		if strings.HasPrefix(trait, "HW_CPU_") && !slices.Contains(known, trait) && !slices.Contains(excluded, trait) {
			t.Errorf("no CPU flag maps to %s", trait)
		}
	}
}

func TestAgent_CPUFlags_MapToVendorTraits(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name    string
		machine Machine
		wanted  []string
	}{
		{"what has no trait is skipped", Machine{Architecture: "x86_64", Flags: []string{"nopl", "rep_good"}}, []string{"HW_ARCH_X86_64"}},
		{"one of Intel", Machine{Architecture: "x86_64", Vendor: "GenuineIntel", Flags: []string{"ibpb", "ibrs", "ssbd", "vmx"}},
			[]string{"HW_ARCH_X86_64", "HW_CPU_X86_INTEL_SPEC_CTRL", "HW_CPU_X86_INTEL_SSBD", "HW_CPU_X86_INTEL_VMX", "HW_CPU_X86_VMX"}},
		{"one of AMD", Machine{Architecture: "x86_64", Vendor: "AuthenticAMD", Flags: []string{"ibpb", "ibrs", "ssbd", "svm"}},
			[]string{"HW_ARCH_X86_64", "HW_CPU_X86_AMD_IBPB", "HW_CPU_X86_AMD_SSBD", "HW_CPU_X86_AMD_SVM", "HW_CPU_X86_SVM"}},
		{"two flags of one trait", Machine{Architecture: "x86_64", Flags: []string{"hle", "rtm"}}, []string{"HW_ARCH_X86_64", "HW_CPU_X86_TSX"}},
		{"one of ARM", Machine{Architecture: "aarch64", Flags: []string{"aes", "asimd", "paca"}},
			[]string{"HW_ARCH_AARCH64", "HW_CPU_AARCH64_AES", "HW_CPU_AARCH64_ASIMD"}},
		{"x86 flags on another architecture", Machine{Flags: []string{"avx"}}, nil},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			if found := processorTraits(&one.machine); !slices.Equal(found, one.wanted) {
				t.Errorf("traits = %v, want %v", found, one.wanted)
			}
		})
	}
}

func TestAgent_MdevDescription_YieldsKnownTraitsOnly(t *testing.T) {
	t.Parallel()
	found := displayTraits("num_heads=4, frl_config=45, max_resolution=3840x2160, max_instance=16")
	if !slices.Equal(found, []string{"HW_GPU_MAX_DISPLAY_HEADS_4", "HW_GPU_RESOLUTION_W3840H2160"}) {
		t.Error(found)
	}
	if found := displayTraits("num_heads=3, max_resolution=5120x2880, num_heads=x, max_resolution"); found != nil {
		t.Error(found)
	}
}

func TestAgent_HugePagesFrom1MiB_HaveResourceClass(t *testing.T) {
	t.Parallel()
	for size, wanted := range map[int64]string{
		2048: "CUSTOM_MEMORY_HUGEPAGES_2MB", 1048576: "CUSTOM_MEMORY_HUGEPAGES_1GB", 524288: "CUSTOM_MEMORY_HUGEPAGES_512MB",
		16777216: "CUSTOM_MEMORY_HUGEPAGES_16GB", 64: "", 0: "",
	} {
		class, known := hugePagesClass(size)
		if class != wanted || known != (wanted != "") || known && !isHugePages(class) {
			t.Errorf("class of %d kB = %q", size, class)
		}
	}
}

func TestAgent_CustomNames_Normalized(t *testing.T) {
	t.Parallel()
	for wanted, words := range map[string][]string{
		"CUSTOM_PCI_8086_1572":     {"pci", "8086", "1572"},
		"CUSTOM_FAST_DISK":         {"custom_fast-disk"},
		"CUSTOM__":                 {""},
		"CUSTOM_GRID_T4_2B":        {"GRID T4.2B"},
		"CUSTOM___":                {"é"},
		"CUSTOM_CUSTOMARY":         {"customary"},
		"CUSTOM_NVIDIA_GPU_0000_3": {"nvidia gpu", "0000:3"},
	} {
		if found := Custom(words...); found != wanted {
			t.Errorf("Custom(%q) = %s, want %s", words, found, wanted)
		}
	}
	long := strings.Repeat("x", 300)
	if first, second := Custom(long, "a"), Custom(long, "b"); first == second || len(first) != maxNameLength {
		t.Errorf("long names = %s and %s", first, second)
	}
}

func FuzzCustomMakesAValidNameOfAnything(f *testing.F) {
	valid := regexp.MustCompile(`^CUSTOM_[A-Z0-9_]+$`)
	for _, seed := range []string{"", "custom_", "CUSTOM_X", "ß\xff", strings.Repeat("long ", 90), "a:b.c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, words string) {
		name := Custom(words)
		if !valid.MatchString(name) || len(name) > 255 || !utf8.ValidString(name) {
			t.Errorf("%q", name)
		}
		if again := Custom(name); again != name {
			t.Errorf("Custom(%q) = %q, want the same name", name, again)
		}
	})
}
