package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// debianSuite is the release of Debian in which the package is installed.
	debianSuite = "bookworm"
	// debianPackages are installed besides those of the variant minbase.
	debianPackages = "bash-completion,man-db"
	// debianCache is the directory of the Debian that each test copies. Deleting it is harmless.
	debianCache = "/var/cache/berth-debian/" + debianSuite + "-1"
)

// chroot is a root directory with a Debian.
type chroot struct{ root string }

// newChroot copies a Debian that debootstrap made. It fails where the tests do not run as root.
func newChroot(t *testing.T) *chroot {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("NOT CHECKED: installing the package requires root, for debootstrap and chroot; run this test as root, or leave it out with -skip")
	}
	if _, err := os.Stat(debianCache); err != nil {
		prepareDebian(t)
	}
	c := &chroot{root: filepath.Join(t.TempDir(), "debian")}
	if _, err := command(t.Context(), "/", nil, "cp", "-a", debianCache, c.root); err != nil {
		t.Fatal(err)
	}
	for directory := c.root; strings.HasPrefix(directory, os.TempDir()+"/"); directory = filepath.Dir(directory) {
		// The account of the service must be able to enter it.
		if err := os.Chmod(directory, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// prepareDebian makes the Debian of debianCache in another directory and renames it, so that the cache is complete or
// absent, also if two tests prepare it.
func prepareDebian(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(debianCache), 0o755); err != nil {
		t.Fatal(err)
	}
	prepare, err := os.MkdirTemp(filepath.Dir(debianCache), ".preparing-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(prepare)
	if err := os.Chmod(prepare, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t.Context(), "/", nil, "debootstrap", "--variant=minbase", "--include="+debianPackages, debianSuite, prepare); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(prepare, debianCache); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

// command returns a command in the chroot, without the environment of the test.
func (c *chroot) command(t *testing.T, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), name, arguments...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root}
	return cmd
}

// shell executes a line of shell in the chroot and returns what it printed.
func (c *chroot) shell(t *testing.T, line string) string {
	t.Helper()
	out, err := c.command(t, "/bin/sh", "-ec", line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// files returns the paths in the chroot, except those that every package or every account changes.
func (c *chroot) files(t *testing.T) []string {
	t.Helper()
	changing := []string{"proc", "sys", "dev", "tmp", "var/cache", "var/log", "var/lib/dpkg", "etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-"}
	var found []string
	err := filepath.WalkDir(c.root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(c.root, name)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(changing, relative) && entry.IsDir():
			return filepath.SkipDir
		case slices.Contains(changing, relative):
			return nil
		}
		found = append(found, relative)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// account returns the ids of the account berth in the chroot.
func (c *chroot) account(t *testing.T) *syscall.Credential {
	t.Helper()
	var uid, gid uint32
	if _, err := fmt.Sscan(c.shell(t, "id -u berth; id -g berth"), &uid, &gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uid, Gid: gid}
}

// serviceCommand returns the command line of berth.service as it is installed, and its variables.
func (c *chroot) serviceCommand(t *testing.T) (line, environment []string) {
	t.Helper()
	for setting := range strings.Lines(c.shell(t, "cat /usr/lib/systemd/system/berth.service /etc/berth/berth.env")) {
		setting = strings.TrimSpace(setting)
		if value, ok := strings.CutPrefix(setting, "ExecStart="); ok {
			line = strings.Fields(value)
		}
		if value, ok := strings.CutPrefix(setting, "Environment="); ok {
			environment = append(environment, value)
		}
		if strings.HasPrefix(setting, "BERTH_") {
			environment = append(environment, setting)
		}
	}
	return line, environment
}

// TestRelease_DebInstalledInChroot_ServesAndPurges installs the package on a Debian without systemd, upgrades it,
// starts the command of the unit as the unit's user, and removes and purges the package.
func TestRelease_DebInstalledInChroot_ServesAndPurges(t *testing.T) {
	b := firstBuild(t)
	c := newChroot(t)
	before := c.files(t)
	archive, err := os.ReadFile(b.file(runtime.GOARCH + ".deb"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.root, "tmp/berth.deb"), archive, 0o644); err != nil {
		t.Fatal(err)
	}
	c.shell(t, "dpkg --install /tmp/berth.deb")
	checkInstalled(t, b, c)
	c.shell(t, "sed -i 's|^#BERTH_DATABASE_URL=.*|BERTH_DATABASE_URL=changed|' /etc/berth/berth.env")
	changed := c.shell(t, "cat /etc/berth/berth.env")
	c.shell(t, "dpkg --install /tmp/berth.deb")
	if got := c.shell(t, "cat /etc/berth/berth.env"); got != changed || !strings.Contains(got, "\nBERTH_DATABASE_URL=changed\n") {
		t.Errorf("an upgrade changed the configuration to %q", got)
	}
	database := startPostgres(t)
	c.shell(t, "sed -i 's|^BERTH_DATABASE_URL=.*|BERTH_DATABASE_URL="+database+"|' /etc/berth/berth.env")
	checkServes(t, c)
	c.shell(t, "dpkg --remove berth")
	if got := c.shell(t, "ls /etc/berth; ls /usr/bin/berth /usr/lib/systemd/system/berth.* 2>/dev/null || true"); got != "berth.env\n" {
		t.Errorf("files after a removal = %q, want the configuration only", got)
	}
	c.shell(t, "mkdir -p /var/cache/berth/spool && dpkg --purge berth && test ! -e /var/cache/berth")
	after := c.files(t)
	if !slices.Equal(after, before) {
		added := slices.DeleteFunc(slices.Clone(after), func(name string) bool { return slices.Contains(before, name) })
		t.Errorf("files after the purge = %d, before the installation = %d; the purge left %q", len(after), len(before), added)
	}
	if got := c.shell(t, "getent passwd berth | cut -d: -f6-"); got != "/:/usr/sbin/nologin\n" {
		t.Errorf("account = %q, want one that cannot sign in", got)
	}
}

// checkInstalled checks what a user finds after the installation.
func checkInstalled(t *testing.T, b *built, c *chroot) {
	t.Helper()
	if got, want := c.shell(t, "berth --version"), fmt.Sprintf("berth v%s, commit %s, 2026-09-21\n", b.version, b.commit); got != want {
		t.Errorf("--version = %q, want %q", got, want)
	}
	if got := c.shell(t, "stat -c '%a %U %G' /etc/berth /etc/berth/berth.env"); got != "750 root berth\n600 root root\n" {
		t.Errorf("modes = %q", got)
	}
	for _, page := range []string{"berth", "berth-provider-list"} {
		if got := c.shell(t, "man --where "+page+" && man "+page); !strings.HasPrefix(got, "/usr/share/man/man1/"+page+".1.gz\n") || !strings.Contains(got, "SYNOPSIS") {
			t.Errorf("man %s = %.200q", page, got)
		}
	}
	script := `bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader berth; complete -p berth'`
	if got := c.shell(t, script); !strings.Contains(got, "__start_berth") {
		t.Errorf("completion of bash = %q", got)
	}
	for _, file := range []string{"/usr/share/zsh/vendor-completions/_berth", "/usr/share/fish/vendor_completions.d/berth.fish"} {
		if got := c.shell(t, "grep -c __complete "+file); strings.TrimSpace(got) == "0" {
			t.Errorf("%s completes nothing", file)
		}
	}
	if got := c.shell(t, "zcat /usr/share/doc/berth/third-party-licenses.txt.gz | grep -c '^Go: LICENSE'"); got != "1\n" {
		t.Errorf("license texts of Go = %q, want 1", got)
	}
}

// checkServes starts the command of the unit as its user and sends two requests.
func checkServes(t *testing.T, c *chroot) {
	t.Helper()
	line, environment := c.serviceCommand(t)
	if !slices.Equal(line, []string{"/usr/bin/berth", "serve"}) {
		t.Fatalf("ExecStart = %q", line)
	}
	// systemd creates the directory of CacheDirectory=, and passes the socket that --listen stands for here.
	c.shell(t, "install -d -m 700 -o berth -g berth /var/cache/berth")
	address := freeAddress(t)
	service := c.command(t, line[0], append(line[1:], "--listen", address)...)
	service.Env = append(service.Env, environment...)
	service.SysProcAttr.Credential = c.account(t)
	var log strings.Builder
	service.Stdout, service.Stderr = &log, &log
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if status, _ := get(address, "/readyz"); status == http.StatusOK {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the service ended: %v\n%s", err, &log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service is not ready\n%s", &log)
		}
	}
	if status, body := get(address, "/livez"); status != http.StatusOK {
		t.Errorf("/livez = %d %s", status, body)
	}
	if status, body := get(address, "/resource_providers"); status != http.StatusOK || strings.TrimSpace(body) != `{"resource_providers": []}` {
		t.Errorf("/resource_providers = %d %s", status, body)
	}
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the service ended with %v\n%s", err, &log)
	}
}

// get sends a request of an administrator and returns status and body of the response.
func get(address, path string) (status int, body string) {
	request, err := http.NewRequest(http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("X-Auth-Token", "admin")
	response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// unprivileged is the user and group of the kernel's overflow ids, which every Linux has an account for. PostgreSQL does
// not run as root.
const unprivileged = 65534

// startPostgres starts a PostgreSQL of this machine on a port of the loopback interface and returns the URL of its
// database.
func startPostgres(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		t.Fatalf("no PostgreSQL in /usr/lib/postgresql (%v); run tools/install-postgresql.sh", err)
	}
	binaries := found[len(found)-1]
	directory, err := os.MkdirTemp("", "berth-release-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	if err := os.Chown(directory, unprivileged, unprivileged); err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	data := filepath.Join(directory, "data")
	initdb := exec.CommandContext(t.Context(), filepath.Join(binaries, "initdb"), "--auth=trust", "--username=berth", "--no-sync", "-E", "UTF8", "--locale=C", data)
	initdb.Dir, initdb.SysProcAttr = directory, as
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(filepath.Join(binaries, "postgres"), "-D", data, "-p", port, "-k", directory, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off")
	server.Dir, server.SysProcAttr = directory, as
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		_ = server.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if exec.CommandContext(t.Context(), filepath.Join(binaries, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", port).Run() == nil {
			return "postgres://berth@127.0.0.1:" + port + "/postgres?sslmode=disable"
		}
		if time.Now().After(deadline) {
			t.Fatal("PostgreSQL is not ready")
		}
	}
}
