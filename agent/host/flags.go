package host

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// x86Flags maps the kernel's names of x86 CPU flags to standard traits. It omits flags without a standard trait.
var x86Flags = map[string][]string{
	"3dnow":            {"HW_CPU_X86_3DNOW"},
	"abm":              {"HW_CPU_X86_ABM"},
	"aes":              {"HW_CPU_X86_AESNI"},
	"amx_bf16":         {"HW_CPU_X86_AMXBF16"},
	"amx_int8":         {"HW_CPU_X86_AMXINT8"},
	"amx_tile":         {"HW_CPU_X86_AMXTILE"},
	"avx":              {"HW_CPU_X86_AVX"},
	"avx2":             {"HW_CPU_X86_AVX2"},
	"avx512_bitalg":    {"HW_CPU_X86_AVX512BITALG"},
	"avx512_vbmi2":     {"HW_CPU_X86_AVX512VBMI2"},
	"avx512_vnni":      {"HW_CPU_X86_AVX512VNNI"},
	"avx512_vpopcntdq": {"HW_CPU_X86_AVX512VPOPCNTDQ"},
	"avx512bw":         {"HW_CPU_X86_AVX512BW"},
	"avx512cd":         {"HW_CPU_X86_AVX512CD"},
	"avx512dq":         {"HW_CPU_X86_AVX512DQ"},
	"avx512er":         {"HW_CPU_X86_AVX512ER"},
	"avx512f":          {"HW_CPU_X86_AVX512F"},
	"avx512ifma":       {"HW_CPU_X86_AVX512IFMA"},
	"avx512pf":         {"HW_CPU_X86_AVX512PF"},
	"avx512vbmi":       {"HW_CPU_X86_AVX512VBMI"},
	"avx512vl":         {"HW_CPU_X86_AVX512VL"},
	"bmi1":             {"HW_CPU_X86_BMI"},
	"bmi2":             {"HW_CPU_X86_BMI2"},
	"f16c":             {"HW_CPU_X86_F16C"},
	"fma":              {"HW_CPU_X86_FMA3"},
	"fma4":             {"HW_CPU_X86_FMA4"},
	"gfni":             {"HW_CPU_X86_AVX512GFNI"},
	"hle":              {"HW_CPU_X86_TSX"},
	"md_clear":         {"HW_CPU_X86_INTEL_MD_CLEAR"},
	"mmx":              {"HW_CPU_X86_MMX"},
	"mpx":              {"HW_CPU_X86_MPX"},
	"pcid":             {"HW_CPU_X86_INTEL_PCID"},
	"pclmulqdq":        {"HW_CPU_X86_CLMUL"},
	"pdpe1gb":          {"HW_CPU_X86_PDPE1GB"},
	"pni":              {"HW_CPU_X86_SSE3"},
	"rtm":              {"HW_CPU_X86_TSX"},
	"sev":              {"HW_CPU_X86_AMD_SEV"},
	"sev_es":           {"HW_CPU_X86_AMD_SEV_ES"},
	"sev_snp":          {"HW_CPU_X86_AMD_SEV_SNP"},
	"sgx":              {"HW_CPU_X86_SGX"},
	"sha_ni":           {"HW_CPU_X86_SHA"},
	"sse":              {"HW_CPU_X86_SSE"},
	"sse2":             {"HW_CPU_X86_SSE2"},
	"sse4_1":           {"HW_CPU_X86_SSE41"},
	"sse4_2":           {"HW_CPU_X86_SSE42"},
	"sse4a":            {"HW_CPU_X86_SSE4A"},
	"ssse3":            {"HW_CPU_X86_SSSE3"},
	"stibp":            {"HW_CPU_X86_STIBP"},
	// Virtualization has two traits per vendor: queries still use the older one, too.
	"svm":        {"HW_CPU_X86_SVM", "HW_CPU_X86_AMD_SVM"},
	"tbm":        {"HW_CPU_X86_TBM"},
	"vaes":       {"HW_CPU_X86_AVX512VAES"},
	"virt_ssbd":  {"HW_CPU_X86_AMD_VIRT_SSBD"},
	"vmx":        {"HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX"},
	"vpclmulqdq": {"HW_CPU_X86_AVX512VPCLMULQDQ"},
	"xop":        {"HW_CPU_X86_XOP"},
}

// vendorFlags maps CPU flags that both vendors have to the trait of each vendor.
var vendorFlags = map[string]map[string]string{
	"GenuineIntel": {"ibrs": "HW_CPU_X86_INTEL_SPEC_CTRL", "ssbd": "HW_CPU_X86_INTEL_SSBD"},
	"AuthenticAMD": {"ibpb": "HW_CPU_X86_AMD_IBPB", "ssbd": "HW_CPU_X86_AMD_SSBD"},
}

// armFlags lists the ARM CPU features whose trait is HW_CPU_AARCH64_ and the name in upper case.
var armFlags = []string{
	"aes", "asimd", "asimddp", "asimdhp", "asimdrdm", "atomics", "cpuid", "crc32", "dcpop", "evtstrm",
	"fcma", "fp", "fphp", "jscvt", "lrcpc", "pmull", "sha1", "sha2", "sha3", "sha512", "sm3", "sm4", "sve",
}

const armPrefix = "HW_CPU_AARCH64_"

// architectures maps Machine.Architecture to traits.
var architectures = map[string]string{"x86_64": "HW_ARCH_X86_64", "aarch64": "HW_ARCH_AARCH64"}

// resolutions lists the display resolutions that have a standard trait.
var resolutions = []string{
	"W320H240", "W640H480", "W800H600", "W1024H600", "W1024H768", "W1152H864", "W1280H720", "W1280H768", "W1280H800",
	"W1280H1024", "W1360H768", "W1366H768", "W1440H900", "W1600H900", "W1600H1200", "W1680H1050", "W1920H1080",
	"W1920H1200", "W2560H1440", "W2560H1600", "W3840H2160", "W7680H4320",
}

const resolutionPrefix, headsPrefix = "HW_GPU_RESOLUTION_", "HW_GPU_MAX_DISPLAY_HEADS_"

// displayHeads lists the numbers of display heads that have a standard trait.
var displayHeads = []int{1, 2, 4, 6, 8}

// processorTraits returns the sorted standard traits of the CPUs of a host.
func processorTraits(machine *Machine) []string {
	var traits []string
	if trait := architectures[machine.Architecture]; trait != "" {
		traits = append(traits, trait)
	}
	for _, flag := range machine.Flags {
		switch machine.Architecture {
		case "x86_64":
			traits = append(traits, x86Flags[flag]...)
			if trait := vendorFlags[machine.Vendor][flag]; trait != "" {
				traits = append(traits, trait)
			}
		case "aarch64":
			if slices.Contains(armFlags, flag) {
				traits = append(traits, armPrefix+strings.ToUpper(flag))
			}
		}
	}
	if machine.hyperthreading() {
		traits = append(traits, traitHyperthreading)
	}
	slices.Sort(traits)
	return slices.Compact(traits)
}

// displayTraits returns the traits in the description of a mediated device type, for example
// "num_heads=4, framebuffer=1024M, max_resolution=3840x2160".
func displayTraits(description string) []string {
	var traits []string
	for item := range strings.SplitSeq(description, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		switch name {
		case "num_heads":
			if heads, err := strconv.Atoi(value); err == nil && slices.Contains(displayHeads, heads) {
				traits = append(traits, headsPrefix+value)
			}
		case "max_resolution":
			width, height, _ := strings.Cut(value, "x")
			if size := "W" + width + "H" + height; slices.Contains(resolutions, size) {
				traits = append(traits, resolutionPrefix+size)
			}
		}
	}
	return traits
}

// traitsOfProcessors returns all traits that processorTraits may return.
func traitsOfProcessors() []string {
	all := slices.Collect(maps.Values(architectures))
	for _, traits := range x86Flags {
		all = append(all, traits...)
	}
	for _, traits := range vendorFlags {
		all = slices.AppendSeq(all, maps.Values(traits))
	}
	for _, flag := range armFlags {
		all = append(all, armPrefix+strings.ToUpper(flag))
	}
	all = append(all, traitHyperthreading)
	slices.Sort(all)
	return slices.Compact(all)
}

// traitsOfDevices returns all traits that a device may have without a rule.
func traitsOfDevices() []string {
	all := []string{traitSRIOV}
	for _, size := range resolutions {
		all = append(all, resolutionPrefix+size)
	}
	for _, heads := range displayHeads {
		all = append(all, headsPrefix+strconv.Itoa(heads))
	}
	return all
}
