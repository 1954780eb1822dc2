//go:build client

package e2e

import (
	"bytes"
	"database/sql"
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

	"github.com/berthd/berth/internal/test/dbtest"
)

// oldService is a real Placement service in Python on some database.
type oldService struct {
	url     string
	log     bytes.Buffer
	command *exec.Cmd
}

// startPython runs Debian's Placement on a database, whose schema it makes first unless
// it is there.
func startPython(t *testing.T, connection string, makeSchema bool) *oldService {
	t.Helper()
	directory := t.TempDir()
	for name, text := range map[string]string{
		"policy.yaml": "{}",
		"app.py":      "from placement.wsgi import init_application\napplication = init_application()\n",
		"placement.conf": fmt.Sprintf("[DEFAULT]\nuse_stderr = true\n[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = %s\n"+
			"sync_on_startup = %v\n[oslo_policy]\npolicy_file = %s/policy.yaml\npolicy_dirs = %s/none\n", connection, makeSchema, directory, directory),
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port := importPort(t)
	p := &oldService{url: "http://127.0.0.1:" + port}
	p.command = exec.Command("/usr/bin/uwsgi", "--plugin", "python3", "--http-socket", "127.0.0.1:"+port, "--wsgi-file", filepath.Join(directory, "app.py"),
		"--master", "--lazy-apps", "--need-app", "--processes", "1", "--buffer-size", "65535", "--die-on-term", "--add-header", "Connection: close")
	p.command.Dir = directory
	p.command.Env = append(withoutSettings(os.Environ()), "OS_PLACEMENT_CONFIG_DIR="+directory)
	p.command.Stdout, p.command.Stderr = &p.log, &p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		t.Fatalf("run Placement (Debian's packages python3-placement, placement-common, uwsgi-core and uwsgi-plugin-python3): %v", err)
	}
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("the log of Placement:\n%s", p.log.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if response, err := http.Get(p.url); err == nil {
			response.Body.Close()
			return p
		}
		if time.Now().After(deadline) {
			t.Fatal("Placement does not servedAnswer")
		}
	}
}

// stop ends it.
func (p *oldService) stop() {
	if p.command.ProcessState != nil {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	last := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) })
	defer last.Stop()
	_ = p.command.Wait()
}

func importPort(t *testing.T) string {
	t.Helper()
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	_, port, _ := net.SplitHostPort(listening.Addr().String())
	return port
}

// servedAnswer is what a service says.
type servedAnswer struct {
	status int
	body   string
	// newest is its header last-modified.
	newest string
}

// ask sends a request as an administrator.
func askService(t *testing.T, service, version, method, path, body string) servedAnswer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, service+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("X-Roles", "admin,service")
	request.Header.Set("OpenStack-API-Version", "placement "+version)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return servedAnswer{response.StatusCode, string(text), response.Header.Get("last-modified")}
}

// write sends one that must succeed.
func writeTo(t *testing.T, service, version, method, path, body string) {
	t.Helper()
	if got := askService(t, service, version, method, path, body); got.status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
}

// oldEngines make an empty database and return its address for SQLAlchemy, and driver and
// source for database/sql.
var oldEngines = map[string]func(t *testing.T) (address, driver, source string){
	"SQLite": func(t *testing.T) (string, string, string) {
		path := filepath.Join(t.TempDir(), "placement.db")
		return "sqlite:///" + path, "sqlite", path
	},
	"PostgreSQL": func(t *testing.T) (string, string, string) {
		empty := dbtest.NewEmpty(t)
		at, err := url.Parse(empty.URL)
		if err != nil {
			t.Fatal(err)
		}
		host, user := at.Hostname(), at.User.Username()
		if host == "" {
			host, user = at.Query().Get("host"), at.Query().Get("user")
		}
		port := at.Query().Get("port")
		if port == "" {
			port = at.Port()
		}
		return fmt.Sprintf("postgresql+psycopg2://%s@/%s?host=%s&port=%s", user, empty.Name, host, port), "pgx", empty.URL
	},
	"MariaDB": startMariaDB,
}

// startMariaDB runs a private server for the test.
func startMariaDB(t *testing.T) (address, driver, source string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "berth-my-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	account := "--user=root"
	made, err := exec.Command("mariadb-install-db", "--no-defaults", account, "--datadir="+directory+"/data",
		"--auth-root-authentication-method=normal", "--skip-test-db").CombinedOutput()
	if err != nil {
		t.Fatalf("make a database of MariaDB (Debian's packages mariadb-server-core and mariadb-client-core): %v\n%s", err, made)
	}
	port := importPort(t)
	server := exec.Command("mariadbd", "--no-defaults", account, "--datadir="+directory+"/data", "--socket="+directory+"/s",
		"--port="+port, "--bind-address=127.0.0.1", "--innodb-flush-log-at-trx-commit=0")
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGTERM)
		server.Wait()
	})
	pool, err := sql.Open("mysql", "root@tcp(127.0.0.1:"+port+")/")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for deadline := time.Now().Add(time.Minute); pool.Ping() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("MariaDB does not servedAnswer:\n%s", log.String())
		}
	}
	for _, name := range []string{"placement", "back"} {
		if _, err := pool.Exec("CREATE DATABASE " + name + " CHARACTER SET utf8mb4"); err != nil {
			t.Fatal(err)
		}
	}
	return "mysql+pymysql://root@127.0.0.1:" + port + "/placement?charset=utf8mb4", "mysql", "root@tcp(127.0.0.1:" + port + ")/placement"
}
