//go:build client

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"debug/elf"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/authority"
	"github.com/berthd/berth/internal/test/dbtest"
)

// dockerRun is a `docker run` of the comment of the Dockerfile.
type dockerRun struct {
	readOnly                             bool
	tmpfs, volumes, published, variables []string
	// arguments replace those of the image, if there are any.
	arguments []string
}

// dockerRuns parses the comment of the Dockerfile.
func dockerRuns(t *testing.T) []*dockerRun {
	t.Helper()
	text, err := os.ReadFile(deploy + "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var found []*dockerRun
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n#", "")) {
		if words, ok := strings.CutPrefix(line, "#   docker run "); ok {
			found = append(found, parseDockerRun(t, strings.Fields(words)))
		}
	}
	return found
}

func parseDockerRun(t *testing.T, words []string) *dockerRun {
	t.Helper()
	run := &dockerRun{}
	lists := map[string]*[]string{"--tmpfs": &run.tmpfs, "-v": &run.volumes, "-p": &run.published, "-e": &run.variables}
	for len(words) > 1 && strings.HasPrefix(words[0], "-") {
		list, known := lists[words[0]]
		switch {
		case words[0] == "--read-only":
			run.readOnly, words = true, words[1:]
		case known:
			*list, words = append(*list, words[1]), words[2:]
		default:
			t.Fatalf("this test cannot execute docker run %s", words[0])
		}
	}
	if len(words) == 0 || words[0] != "berth" {
		t.Fatalf("docker run names the image %q, want berth", words)
	}
	run.arguments = words[1:]
	return run
}

// TestDocs_Dockerfile_ImageRunsStaticBinary builds the image of the Dockerfile, or unpacks that of -image, and executes
// the commands of the Dockerfile's comment. It replaces only the host of the database and the directories of volumes.
func TestDocs_Dockerfile_ImageRunsStaticBinary(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root, for chroot and namespaces")
	}
	var made *image
	if *imageArchive != "" {
		made = unpack(t, *imageArchive)
	} else {
		made = build(t)
	}
	t.Run("static", made.checkStatic)
	runs := dockerRuns(t)
	if len(runs) != 2 {
		t.Fatalf("the comment has %d docker run, want 2", len(runs))
	}
	t.Run("to try", func(t *testing.T) {
		c := startContainer(t, made, runs[0], func(database string) {
			for n, variable := range runs[0].variables {
				if strings.HasPrefix(variable, "BERTH_DATABASE_URL=") {
					runs[0].variables[n] = "BERTH_DATABASE_URL=" + database
				}
			}
		})
		c.checkServing("http", nil)
		c.stop()
	})
	t.Run("with Keystone", func(t *testing.T) {
		files := t.TempDir()
		runs[1].volumes = []string{files + strings.TrimPrefix(runs[1].volumes[0], "/etc/berth")}
		issuer := authority.New(t)
		c := startContainer(t, made, runs[1], func(database string) { writeSecrets(t, files, database, issuer) })
		c.checkServing("https", issuer.Pool())
		c.stop()
	})
}

// checkStatic checks that the program needs no file of the image, and that it contains its version.
func (i *image) checkStatic(t *testing.T) {
	path := filepath.Join(i.root, i.entry[0])
	program, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is not static: it has %v", part.Type)
		}
	}
	out, err := exec.Command(path, "version").Output()
	if err != nil || *imageArchive == "" && !strings.Contains(string(out), imageVersion) {
		t.Errorf("berth version: %v, %s; want version %s", err, out, imageVersion)
	}
}

// writeSecrets writes the files that the second docker run names. A bind mount keeps the owner, so they are of the
// user of the image.
func writeSecrets(t *testing.T, directory, database string, issuer *authority.Authority) {
	t.Helper()
	certificate, key := issuer.Pair("berth")
	for name, text := range map[string][]byte{
		"database-url": []byte(database + "\n"), "keystone-password": []byte("secret\n"),
		"cert.pem": certificate, "key.pem": key,
	} {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, text, 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 65532, 65532); err != nil {
			t.Fatal(err)
		}
	}
}

// container is a running image in namespaces of its own.
type container struct {
	t       *testing.T
	network *network
	command *exec.Cmd
	ended   chan error
	log     *strings.Builder
	port    string
	user    string
}

// mounts is the part of a container runtime that prepares the file systems and drops the rights of root. Its arguments
// are the root directory, the user, "ro" or "rw", the number of mounts, pairs of a source and a target, and the command.
const mounts = `
root=$1 user=$2 mode=$3 count=$4
shift 4
mount --bind "$root" "$root"
while [ "$count" -gt 0 ]; do
    mkdir -p "$root$2"
    if [ "$1" = tmpfs ]; then
        mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root$2"
    else
        mount --bind "$1" "$root$2"
        mount -o remount,bind,ro "$root$2"
    fi
    shift 2
    count=$((count - 1))
done
mount -o "remount,bind,$mode" "$root"
exec chroot --userspec="$user" "$root" "$@"`

// startContainer executes run with an empty database. Function configure gets the URL of the database before the start.
func startContainer(t *testing.T, of *image, run *dockerRun, configure func(database string)) *container {
	t.Helper()
	c := &container{t: t, network: newNetwork(t), ended: make(chan error, 1), log: &strings.Builder{}, user: of.user}
	configure(c.network.forwardDatabase(dbtest.NewEmpty(t).URL))
	published := strings.Split(run.published[0], ":")
	c.port = published[len(published)-1]
	var pairs []string
	for _, target := range run.tmpfs {
		pairs = append(pairs, "tmpfs", target)
	}
	for _, volume := range run.volumes {
		from, to, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":")
		pairs = append(pairs, from, to)
	}
	mode := "rw"
	if run.readOnly {
		mode = "ro"
	}
	words := append([]string{"--mount", "sh", "-ec", mounts, "sh", of.root, of.user, mode, fmt.Sprint(len(pairs) / 2)}, pairs...)
	words = append(words, of.entry...)
	if len(run.arguments) > 0 {
		words = append(words, run.arguments...)
	} else {
		words = append(words, of.arguments...)
	}
	c.command = exec.Command("unshare", words...)
	c.command.Env = append(append([]string{"PATH=" + os.Getenv("PATH")}, of.environment...), run.variables...)
	c.command.Stderr = c.log
	var err error
	c.network.do(func() { err = c.command.Start() })
	if err != nil {
		t.Fatal(err)
	}
	go func() { c.ended <- c.command.Wait() }()
	t.Cleanup(func() { _ = c.command.Process.Kill() })
	return c
}

// checkServing waits for GET /livez, then checks GET / and the rights of the process. The certificate of the server must
// be one of authorities.
func (c *container) checkServing(scheme string, authorities *x509.CertPool) {
	c.t.Helper()
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: authorities},
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) { return c.network.dial(address) },
	}}
	get := func(path string) (int, string, error) {
		response, err := client.Get(scheme + "://127.0.0.1:" + c.port + path)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, string(body), err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		status, body, err := get("/livez")
		if status == http.StatusOK {
			break
		}
		select {
		case err := <-c.ended:
			c.t.Fatalf("it ended with %v\n%s", err, c.log)
		default:
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("GET /livez: %d %s %v", status, body, err)
		}
	}
	c.checkRights()
	if status, body, err := get("/"); status != http.StatusOK || !strings.Contains(body, `"max_version":"1.39"`) {
		c.t.Errorf("GET /: %d %s %v", status, body, err)
	}
}

// checkRights checks the user of the process and the file systems that it sees.
func (c *container) checkRights() {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.command.Process.Pid))
	uid, _, _ := strings.Cut(c.user, ":")
	if err != nil || !strings.Contains(string(status), "\nUid:\t"+uid+"\t"+uid+"\t"+uid+"\t"+uid+"\n") {
		c.t.Errorf("status of the process: %v, %s; want user %s", err, status, uid)
	}
	mounted, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", c.command.Process.Pid))
	if err != nil || !strings.Contains(string(mounted), " / ro") || !strings.Contains(string(mounted), " /tmp rw") {
		c.t.Errorf("mounts of the process: %v, %s; want / read-only and /tmp writable", err, mounted)
	}
}

// stop sends SIGTERM and waits for exit code 0.
func (c *container) stop() {
	c.t.Helper()
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	select {
	case err := <-c.ended:
		if err != nil {
			c.t.Errorf("it ended with %v\n%s", err, c.log)
		}
	case <-time.After(30 * time.Second):
		c.t.Errorf("it still ran 30 s after SIGTERM")
	}
}
