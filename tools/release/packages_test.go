package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lintianKnown are the remarks that stay: troff cannot justify lines with long words, such as URLs and names of settings.
var lintianKnown = regexp.MustCompile(`^W: berth: groff-message .* cannot adjust line `)

func TestRelease_Deb_LintianReportsNothingNew(t *testing.T) {
	b := firstBuild(t)
	for _, arch := range architectures {
		out, err := exec.CommandContext(t.Context(), "lintian", "--no-cfg", "--fail-on", "error", b.file(arch+".deb")).Output()
		if err != nil {
			t.Errorf("%s: %v", arch, err)
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSpace(line); line != "" && !lintianKnown.MatchString(line) {
				t.Errorf("%s: %s", arch, line)
			}
		}
	}
}

// lines returns the sorted lines of the output of a program.
func lines(t *testing.T, name string, arguments ...string) []string {
	t.Helper()
	out, err := command(t.Context(), t.TempDir(), nil, name, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(strings.SplitSeq(strings.TrimSpace(string(out)), "\n"))
}

// debFiles returns the files of a .deb, without directories, as mode and path.
func debFiles(t *testing.T, path string) []string {
	t.Helper()
	var files []string
	for _, line := range lines(t, "dpkg-deb", "--contents", path) {
		fields := strings.Fields(line)
		if fields[1] != "root/root" {
			t.Errorf("owner = %s, want root/root: %s", fields[1], line)
		}
		if !strings.HasPrefix(line, "d") {
			files = append(files, fields[0]+" "+strings.TrimPrefix(fields[5], "."))
		}
	}
	return files
}

func TestRelease_Rpm_HasFilesOfDeb(t *testing.T) {
	b := firstBuild(t)
	names := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	for _, arch := range architectures {
		deb, rpm := b.file(arch+".deb"), b.file(arch+".rpm")
		var want []string
		for _, file := range debFiles(t, deb) {
			switch _, path, _ := strings.Cut(file, " "); path {
			case "/usr/share/lintian/overrides/berth", documentation + "/changelog.gz", documentation + "/copyright":
			case "/usr/share/zsh/vendor-completions/_berth":
				want = append(want, strings.Replace(file, "vendor-completions", "site-functions", 1))
			default:
				want = append(want, file)
			}
		}
		want = append(want, "-rw-r--r-- /usr/share/licenses/berth/LICENSE")
		slices.Sort(want)
		var got []string
		for _, file := range lines(t, "rpm", "-qp", "--queryformat", `[%{FILEMODES:perms} %{FILENAMES}\n]`, rpm) {
			if !strings.HasPrefix(file, "d") {
				got = append(got, file)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: files of the rpm = %q, want %q", arch, got, want)
		}
		if got := lines(t, "rpm", "-qp", "--queryformat", "%{ARCH} %{VERSION} %{LICENSE}", rpm); got[0] != names[arch]+" "+b.version+" Apache-2.0" {
			t.Errorf("rpm = %q", got)
		}
		if got := lines(t, "dpkg-deb", "--show", "--showformat", "${Architecture} ${Version}", deb); got[0] != arch+" "+b.version {
			t.Errorf("deb = %q", got)
		}
		if got := lines(t, "rpm", "-qp", "--configfiles", rpm); !slices.Equal(got, []string{"/etc/berth/berth.env"}) {
			t.Errorf("configuration files = %q", got)
		}
		// The digests of the header and the content. There is no signature of a key.
		lines(t, "rpm", "-K", "--nosignature", rpm)
	}
}

// TestRelease_Scripts_AreValidShell parses the scripts as the packages contain them.
func TestRelease_Scripts_AreValidShell(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		for _, name := range []string{f.scripts.PostInstall, f.scripts.PreRemove, f.scripts.PostRemove} {
			if out, err := exec.CommandContext(t.Context(), "sh", "-n", "packaging/"+name).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", name, err, out)
			}
		}
	}
}
