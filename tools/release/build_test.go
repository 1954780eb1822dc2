package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// built is the release of a clone of the sources, tagged with the newest version of CHANGELOG.md and signed.
type built struct {
	*release
	// publicKey is the file with the public key of the signature.
	publicKey string
}

// first and second return two builds of the same commit in two directories. All tests share them, because each builds
// the program twice. The second begins after the first, whose compiled packages it finds in Go's cache, beside the tests of
// the first, where all tests run.
var (
	first = sync.OnceValues(func() (*built, error) {
		b, err := buildIn("first")
		if flag.Lookup("test.run").Value.String() == "" {
			beside.Go(func() { _, _ = second() })
		}
		return b, err
	})
	second = sync.OnceValues(func() (*built, error) { return buildIn("second/with a space") })
	// beside ends with the second build.
	beside sync.WaitGroup
)

// scratch is the directory of both builds. TestMain deletes it.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "berth-release-"); err != nil {
		panic(err)
	}
	// The account of the server in the chroot reads the packages.
	if err := os.Chmod(scratch, 0o755); err != nil {
		panic(err)
	}
	code := m.Run()
	beside.Wait()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// firstBuild returns the first build.
func firstBuild(t *testing.T) *built {
	t.Helper()
	b, err := first()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// buildIn copies the sources, commits and tags them, and releases them.
func buildIn(name string) (*built, error) {
	ctx := context.Background()
	root := filepath.Join(scratch, name)
	if err := copySources(ctx, root); err != nil {
		return nil, err
	}
	versions, err := (&release{root: root}).changelogVersions()
	if err != nil {
		return nil, err
	}
	if err := commit(ctx, root, "v"+versions[0]); err != nil {
		return nil, err
	}
	key := filepath.Join(scratch, "key")
	if err := writeKey(ctx, key); err != nil {
		return nil, err
	}
	var progress bytes.Buffer
	if err := run(ctx, []string{"-root", root, "-key", key}, &progress); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, progress.String())
	}
	r, err := newRelease(ctx, root, "", true)
	if err != nil {
		return nil, err
	}
	r.version, r.snapshot = versions[0], false
	r.out = r.destination()
	return &built{release: r, publicKey: key + ".pub"}, nil
}

var keyOnce sync.Mutex

func writeKey(ctx context.Context, path string) error {
	keyOnce.Lock()
	defer keyOnce.Unlock()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	_, err := command(ctx, scratch, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path)
	return err
}

// copySources copies the files that git tracks or would add, as they are in the working tree.
func copySources(ctx context.Context, root string) error {
	repository, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	// git trusts this checkout even if another account owns it.
	trust := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
	listed, err := command(ctx, repository, trust, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		source := filepath.Join(repository, name)
		info, err := os.Stat(source)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted and not committed
		}
		if err != nil {
			return err
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		target := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// commit makes the directory a repository with one commit, whose id depends on the files only, and tags it.
func commit(ctx context.Context, root string, tags ...string) error {
	environment := []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_DATE=1790000000 +0000", "GIT_COMMITTER_DATE=1790000000 +0000",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	commands := [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "sources"}}
	for _, tag := range tags {
		commands = append(commands, []string{"tag", tag})
	}
	for _, arguments := range commands {
		if _, err := command(ctx, root, environment, "git", arguments...); err != nil {
			return err
		}
	}
	return nil
}

func TestRelease_TwoDirectories_WritesEqualBytes(t *testing.T) {
	one := firstBuild(t)
	other, err := second()
	if err != nil {
		t.Fatal(err)
	}
	if one.commit != other.commit {
		t.Fatalf("commits = %s and %s, want equal ones", one.commit, other.commit)
	}
	var names []string
	for _, b := range []*built{one, other} {
		entries, err := os.ReadDir(b.out)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var want []string
	for _, suffix := range []string{"amd64.deb", "amd64.rpm", "arm64.deb", "arm64.rpm", "linux_amd64", "linux_amd64.cdx.json",
		"linux_arm64", "linux_arm64.cdx.json", "oci.tar", "openapi.tar.gz", "third-party-licenses.txt"} {
		want = append(want, "berth_"+one.version+"_"+suffix)
	}
	if want = append([]string{"SHA256SUMS", "SHA256SUMS.sig"}, want...); !slices.Equal(names, want) {
		t.Errorf("files = %q, want %q", names, want)
	}
	for _, name := range names {
		a, errA := os.ReadFile(filepath.Join(one.out, name))
		b, errB := os.ReadFile(filepath.Join(other.out, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %d and %d bytes differ, or %v, %v", name, len(a), len(b), errA, errB)
		}
	}
	for _, b := range []*built{one, other} {
		if left, err := os.ReadDir(filepath.Join(b.root, "dist")); err != nil || len(left) != 1 {
			t.Errorf("dist has %v (%v), want the release only", left, err)
		}
		if changed, err := b.uncommitted(t.Context()); err != nil || len(changed) > 0 {
			t.Errorf("the build changed %q (%v), want no file", changed, err)
		}
	}
}

func TestRelease_Programs_AreStaticAndStamped(t *testing.T) {
	b := firstBuild(t)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		program, err := elf.Open(b.program(arch))
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		if program.Machine != machine || program.Section(".symtab") != nil || program.Section(".note.go.buildid") != nil && buildID(t, program) != "" {
			t.Errorf("%s: machine = %v, want %v, without symbols and build id", arch, program.Machine, machine)
		}
		for _, part := range program.Progs {
			if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
				t.Errorf("%s is not static: it has %v", arch, part.Type)
			}
		}
		info, err := buildinfo.ReadFile(b.program(arch))
		if err != nil {
			t.Fatal(err)
		}
		for _, fact := range info.Settings {
			if strings.HasPrefix(fact.Key, "vcs") || strings.Contains(fact.Value, scratch) {
				t.Errorf("%s records %s=%s", arch, fact.Key, fact.Value)
			}
		}
	}
	if !slices.Contains(architectures, runtime.GOARCH) {
		t.Fatalf("no program of the release runs on %s", runtime.GOARCH)
	}
	line, err := command(t.Context(), t.TempDir(), nil, b.program(runtime.GOARCH), "--version")
	if want := fmt.Sprintf("berth v%s, commit %s, 2026-09-21\n", b.version, b.commit); err != nil || string(line) != want {
		t.Errorf("--version = %q, %v, want %q", line, err, want)
	}
}

// buildID returns the build id that Go records in a note, or an empty string.
func buildID(t *testing.T, program *elf.File) string {
	t.Helper()
	note, err := program.Section(".note.go.buildid").Data()
	if err != nil || len(note) < 16 {
		t.Fatalf("note = %x, %v", note, err)
	}
	return strings.TrimRight(string(note[16:]), "\x00")
}
