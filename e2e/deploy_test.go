//go:build client

package e2e

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
)

const deploy = "../docs/deploy/"

// highestExposure is what `systemd-analyze security` may say, in tenths: 0 is a
// service that may do nothing, 100 one that may do everything. Below 25 it is "OK".
const highestExposure = "15"

func TestDocs_SystemdUnits_VerifyAndHardened(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, name := range []string{"berth.service", "berth.socket"} {
		text, err := os.ReadFile(deploy + name)
		if err != nil {
			t.Fatal(err)
		}
		// The program need not be installed where the unit looks for it.
		text = []byte(strings.ReplaceAll(string(text), "/usr/bin/berth", "/bin/true"))
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	unit, socket := filepath.Join(directory, "berth.service"), filepath.Join(directory, "berth.socket")
	for _, arguments := range [][]string{
		{"verify", unit, socket},
		{"security", "--offline=true", "--no-pager", "--threshold=" + highestExposure, unit},
	} {
		if out, err := exec.Command("systemd-analyze", arguments...).CombinedOutput(); err != nil || strings.Contains(string(out), "Unknown") {
			t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}

// instruction is a line of a Dockerfile.
type instruction struct{ name, arguments string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	file, err := os.Open(deploy + "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []instruction
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, arguments, _ := strings.Cut(line, " ")
		all = append(all, instruction{name, arguments})
	}
	return all
}

// image is what the last stage of a Dockerfile leaves: a root directory, an
// environment and a command line.
type image struct {
	root        string
	environment []string
	entry       []string
	user        uint32
}

// build does what the Dockerfile says, with this machine in the place of its first
// stage.
func build(t *testing.T) *image {
	t.Helper()
	sources, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	first, made := t.TempDir(), &image{root: t.TempDir()}
	environment := os.Environ()
	stage := 0
	for _, line := range dockerfile(t) {
		switch words := strings.Fields(line.arguments); {
		case line.name == "FROM":
			stage++
			if stage == 2 && line.arguments != "scratch" {
				t.Fatalf("the last stage begins with %s", line.arguments)
			}
		case stage == 1 && line.name == "ENV":
			environment = append(environment, words...)
		case stage == 1 && line.name == "RUN":
			command := exec.Command("sh", "-ec", strings.ReplaceAll(line.arguments, "/out/", first+"/"))
			command.Dir, command.Env = sources, environment
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line.arguments, err, out)
			}
		case stage == 1: // WORKDIR and COPY: the sources are here
		case line.name == "COPY" && len(words) == 3 && words[0] == "--from=build":
			copyInto(t, made.root, strings.Replace(words[1], "/out/", first+"/", 1), words[2])
		case line.name == "USER":
			if _, err := fmt.Sscanf(line.arguments, "%d:", &made.user); err != nil {
				t.Fatal(err)
			}
		case line.name == "ENV":
			made.environment = append(made.environment, words...)
		case line.name == "ENTRYPOINT" || line.name == "CMD":
			for word := range strings.SplitSeq(strings.Trim(line.arguments, "[]"), ",") {
				made.entry = append(made.entry, strings.Trim(strings.TrimSpace(word), `"`))
			}
		case line.name != "EXPOSE":
			t.Fatalf("this test does not know %s %s", line.name, line.arguments)
		}
	}
	return made
}

func copyInto(t *testing.T, root, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to = filepath.Join(root, to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestDocs_Dockerfile_ImageRunsStaticBinary runs the program of the Dockerfile, as the user it
// names, in a root directory with what it copies.
func TestDocs_Dockerfile_ImageRunsStaticBinary(t *testing.T) {
	t.Parallel()
	made := build(t)
	program, err := elf.Open(filepath.Join(made.root, made.entry[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is not static: it has %v", part.Type)
		}
	}
	if err := os.Chmod(filepath.Dir(made.root), 0o755); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	command := exec.Command(made.entry[0], append(made.entry[1:], "--listen", address, "--auth", "noauth2")...)
	command.Dir = "/"
	command.Env = append(made.environment, "BERTH_DATABASE_URL="+overTCP(t, dbtest.NewEmpty(t).URL))
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: made.root, Credential: &syscall.Credential{Uid: made.user, Gid: made.user}}
	var log strings.Builder
	command.Stderr = &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		response, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				break
			}
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended with %v\n%s", err, &log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is not ready: %v\n%s", err, &log)
		}
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v\n%s", err, &log)
	}
}

// overTCP is the address of a database that is reached by a port: what listens on a
// Unix socket is led there.
func overTCP(t *testing.T, database string) string {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	network, at := "tcp", net.JoinHostPort(config.Host, fmt.Sprint(config.Port))
	if strings.HasPrefix(config.Host, "/") {
		network, at = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(network, at)
			if err != nil {
				near.Close()
				continue
			}
			go func() { _, _ = io.Copy(far, near); far.Close() }()
			go func() { _, _ = io.Copy(near, far); near.Close() }()
		}
	}()
	led := url.URL{Scheme: "postgres", Host: listener.Addr().String(), Path: "/" + config.Database, RawQuery: "sslmode=disable",
		User: url.UserPassword(config.User, config.Password)}
	return led.String()
}
