package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berthd/berth/server/data/cluster"
	"github.com/jackc/pgx/v5"
)

// ownerVariable makes this test binary the owner of a cluster, in a process that a test can kill: TestMain opens the
// directory in the variable.
const ownerVariable = "BERTH_CLUSTER_TEST_OWNER"

// ownerSettingVariable is a setting of its server, such as fsync=off.
const ownerSettingVariable = "BERTH_CLUSTER_TEST_SETTING"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerVariable); dir != "" {
		if err := own(dir, os.Stdout); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// own opens a cluster, prints its URL, waits for a SIGINT, prints whether the server has survived the signal, and
// closes the cluster.
func own(dir string, report io.Writer) error {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	ctx := context.Background()
	options := cluster.Options{Dir: dir}
	if name, value, set := strings.Cut(os.Getenv(ownerSettingVariable), "="); set {
		options.Settings = map[string]string{name: value}
	}
	c, err := cluster.Open(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintln(report, c.URL())
	<-interrupted
	answer, err := ask(ctx, c.URL(), "SELECT 'still up'")
	fmt.Fprintln(report, answer, err)
	return c.Close(ctx)
}

// startOwner runs own in a separate process group and returns the URL that it printed.
func startOwner(t *testing.T, dir string, settings ...string) (owner *exec.Cmd, url string, output *bufio.Reader) {
	t.Helper()
	owner = exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerVariable+"="+dir)
	for _, setting := range settings {
		owner.Env = append(owner.Env, ownerSettingVariable+"="+setting)
	}
	owner.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Process.Kill() })
	output = bufio.NewReader(pipe)
	line, err := output.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "postgres://") {
		t.Fatalf("output of the owner = %q, error = %v", line, err)
	}
	return owner, strings.TrimSpace(line), output
}

// newHome returns a directory for a cluster that the server's account can enter.
func newHome(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	if err := os.Chmod(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(base, "home")
}

func open(t *testing.T, options cluster.Options) *cluster.Cluster {
	t.Helper()
	options.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	c, err := cluster.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	// The test may have called Close already, so this error does not matter.
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func closeCluster(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func ask(ctx context.Context, url, query string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var answer string
	err = conn.QueryRow(ctx, query).Scan(&answer)
	return answer, err
}

func wantAnswer(t *testing.T, url, query, want string) {
	t.Helper()
	got, err := ask(t.Context(), url, query)
	if err != nil || got != want {
		t.Errorf("%s: got %q, %v, want %q", query, got, err, want)
	}
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestCluster_New_PrivateAndKeepsData(t *testing.T) {
	t.Parallel()
	options := cluster.Options{
		Dir:              newHome(t),
		Database:         "harbour",
		DatabaseSettings: map[string]string{"plan_cache_mode": "force_generic_plan", "jit": "off"},
		Settings:         map[string]string{"max_connections": "17"},
	}
	first := open(t, options)
	if first.Adopted() {
		t.Error("a new server counts as adopted")
	}
	for query, want := range map[string]string{
		"SELECT current_database()": "harbour",
		"SELECT current_user":       cluster.Superuser,
		"SHOW listen_addresses":     "",
		"SHOW fsync":                "on",
		"SHOW data_checksums":       "on",
		"SHOW server_encoding":      "UTF8",
		"SHOW timezone":             "UTC",
		"SHOW max_connections":      "17",
		"SHOW plan_cache_mode":      "force_generic_plan",
		"SHOW jit":                  "off",
		"SELECT string_agg(n, '' ORDER BY n) FROM unnest('{b,B,a,_,A}'::text[]) n": "AB_ab",
	} {
		wantAnswer(t, first.URL(), query, want)
	}
	wantAnswer(t, first.ConnString(), "SELECT current_database()", "harbour")
	socket := socketDir(t, first)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the socket is not private: %v, %v", info, err)
	}
	execute(t, first.URL(), "CREATE TABLE cargo AS SELECT 'tea' AS name")
	closeCluster(t, first)
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the socket still exists: %v", err)
	}
	second := open(t, options)
	wantAnswer(t, second.URL(), "SELECT name FROM cargo", "tea")
}

func socketDir(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	config, err := pgx.ParseConfig(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	return config.Host
}

func TestCluster_DataDirInUse_ErrorNamesOwnerPID(t *testing.T) {
	t.Parallel()
	c := open(t, cluster.Options{Dir: newHome(t)})
	_, err := cluster.Open(t.Context(), cluster.Options{Dir: c.Dir()})
	var held *cluster.InUseError
	if !errors.As(err, &held) || *held != (cluster.InUseError{Dir: c.Dir(), PID: os.Getpid()}) {
		t.Fatalf("got %v", err)
	}
	want := fmt.Sprintf("the database in %s is in use by another berth (pid %d)", c.Dir(), os.Getpid())
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestCluster_OwnerKilled_ServerAttached(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	owner, url, _ := startOwner(t, dir)
	execute(t, url, "CREATE TABLE cargo AS SELECT 'tea' AS name")
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	c := open(t, cluster.Options{Dir: dir})
	if !c.Adopted() || c.URL() != url {
		t.Errorf("adopted %v at %s, want the server at %s", c.Adopted(), c.URL(), url)
	}
	wantAnswer(t, c.URL(), "SELECT name FROM cargo", "tea")
	socket := socketDir(t, c)
	closeCluster(t, c)
	<-c.Exited()
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the socket still exists: %v", err)
	}
	if again := open(t, cluster.Options{Dir: dir}); again.Adopted() {
		t.Error("the adopted server is still running")
	}
}

func TestCluster_CtrlC_SignalsOwnerNotServer(t *testing.T) {
	t.Parallel()
	owner, url, output := startOwner(t, newHome(t))
	// A terminal does the same: it sends the signal to the whole foreground group.
	if err := syscall.Kill(-owner.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	line, err := output.ReadString('\n')
	if err != nil || line != "still up <nil>\n" {
		t.Errorf("output of the owner = %q, error = %v", line, err)
	}
	if err := owner.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := ask(t.Context(), url, "SELECT 'x'"); err == nil {
		t.Error("the server is running without its owner")
	}
}

func TestCluster_ServerKilled_Recovers(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	owner, url, _ := startOwner(t, dir)
	execute(t, url, "CREATE TABLE cargo AS SELECT 'tea' AS name")
	kill(t, dir)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	first := open(t, cluster.Options{Dir: dir})
	wantAnswer(t, first.URL(), "SELECT name FROM cargo", "tea")
	if first.Adopted() {
		t.Error("a dead server was adopted")
	}

	kill(t, dir)
	<-first.Exited()
	closeCluster(t, first)
	second := open(t, cluster.Options{Dir: dir})
	wantAnswer(t, second.URL(), "SELECT name FROM cargo", "tea")
}

// kill ends the server with SIGKILL.
func kill(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestCluster_StalePidFile_StartSucceeds(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	closeCluster(t, open(t, cluster.Options{Dir: dir}))
	content := fmt.Sprintf("%d\n%s\n1\n5432\n/nowhere\n\n1 2\nready\n", os.Getpid(), filepath.Join(dir, "data"))
	if err := os.WriteFile(filepath.Join(dir, "data", "postmaster.pid"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	c := open(t, cluster.Options{Dir: dir})
	wantAnswer(t, c.URL(), "SELECT 'up'", "up")
}

func TestCluster_PartialDataDir_Recreated(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	partial := filepath.Join(dir, "data.partial-123")
	write(t, filepath.Join(partial, "PG_VERSION"), "15\n")
	c := open(t, cluster.Options{Dir: dir})
	wantAnswer(t, c.URL(), "SELECT 'up'", "up")
	if _, err := os.Stat(partial); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the partial database still exists: %v", err)
	}
}

func TestCluster_ForeignDirectory_NotTouched(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"a directory with other files":        "holiday.jpg",
		"a data directory without PG_VERSION": "data/base",
		"a data directory of another server":  "PG_VERSION",
		"a data directory with a hidden file": "data/.keep",
		"a directory with a similar name":     "data2/PG_VERSION",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, disposable := range []bool{false, true} {
				dir := newHome(t)
				write(t, filepath.Join(dir, file), "precious")
				_, err := cluster.Open(t.Context(), cluster.Options{Dir: dir, Disposable: disposable})
				if err == nil || !strings.Contains(err.Error(), "is not empty") {
					t.Errorf("got %v", err)
				}
				if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(text) != "precious" {
					t.Errorf("the file has changed: %q, %v", text, err)
				}
			}
		})
	}
}

func TestCluster_Disposable_StartsEmpty(t *testing.T) {
	t.Parallel()
	options := cluster.Options{Dir: newHome(t), Disposable: true}
	first := open(t, options)
	execute(t, first.URL(), "CREATE TABLE cargo AS SELECT 'tea' AS name")
	closeCluster(t, first)
	second := open(t, options)
	wantAnswer(t, second.URL(), "SELECT count(*)::text FROM pg_class WHERE relname = 'cargo'", "0")
}

func TestCluster_StartFails_ReportsLogAndUnlocksData(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	_, err := cluster.Open(t.Context(), cluster.Options{
		Dir:      dir,
		Settings: map[string]string{"shared_buffers": "plenty"},
	})
	want := `invalid value for parameter "shared_buffers": "plenty"`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want one with %s", err, want)
	}
	c := open(t, cluster.Options{Dir: dir})
	wantAnswer(t, c.URL(), "SELECT 'up'", "up")
}

func TestCluster_DataOfMissingVersion_ErrorNamesPackage(t *testing.T) {
	t.Parallel()
	dir := newHome(t)
	write(t, filepath.Join(dir, "data", "PG_VERSION"), "99\n")
	_, err := cluster.Open(t.Context(), cluster.Options{Dir: dir})
	if !errors.Is(err, cluster.ErrNoPostgres) || !strings.Contains(err.Error(), "postgresql-99") {
		t.Errorf("got %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
