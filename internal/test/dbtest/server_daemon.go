package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berthd/berth/server/cluster"
	"github.com/jackc/pgx/v5"
)

// The server for tests is run by a keeper: a detached process, started from the first test binary that needs the
// server, which stops the server when it has not been used for a while. Every test process holds a shared lock on one
// file for as long as it lives; the keeper stops the server only while it holds that lock alone. A later test binary
// starts another keeper.
const (
	// daemonVariable makes a test binary a keeper of the named directory.
	daemonVariable = "BERTH_DBTEST_KEEPER"
	// intervalVariable is how often that keeper looks for users.
	intervalVariable = "BERTH_DBTEST_KEEPER_INTERVAL"
	// keeperInterval times idleRounds is how long the server stays up unused.
	keeperInterval = 5 * time.Second
	idleRounds     = 12
	// startTimeout bounds the wait for a server.
	startTimeout = 90 * time.Second
	// retryInterval is the pause after a keeper that could not start.
	retryInterval = 500 * time.Millisecond
	// keeperReady is what a keeper reports when its server is up.
	keeperReady = "ready"
)

// serverSettings trade durability for speed: data lost in a crash is created again. Autovacuum would give some runs
// other statistics, and so other plans, than the next.
var serverSettings = map[string]string{
	"fsync":                           "off",
	"synchronous_commit":              "off",
	"full_page_writes":                "off",
	"autovacuum":                      "off",
	"max_connections":                 "300",
	"shared_buffers":                  "256MB",
	"max_wal_size":                    "4GB",
	"checkpoint_timeout":              "1h",
	"log_min_messages":                "error",
	"log_min_error_statement":         "panic",
	"plan_cache_mode":                 "force_generic_plan",
	"jit":                             "off",
	"max_logical_replication_workers": "0",
}

// base is the directory of the keeper, its locks and its cluster.
type base string

func (b base) usersLock() string  { return filepath.Join(string(b), "users") }
func (b base) startLock() string  { return filepath.Join(string(b), "start") }
func (b base) keeperLock() string { return filepath.Join(string(b), "keeper") }
func (b base) urlFile() string    { return filepath.Join(string(b), "url") }
func (b base) logFile() string    { return filepath.Join(string(b), "keeper.log") }
func (b base) cluster() string    { return filepath.Join(string(b), "cluster") }

// init takes over the process when it was started as a keeper: there is no
// main function to do it in.
func init() {
	dir := os.Getenv(daemonVariable)
	if dir == "" {
		return
	}
	// The server would inherit the file, and a reader of the report would wait for the end of the server.
	const reportFD = 3
	syscall.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	if err := runDaemon(base(dir), report); err != nil {
		fmt.Fprintln(report, err)
		slog.Error("keeper failed", "error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runDaemon runs the server until no process has used it for a while.
func runDaemon(b base, report *os.File) error {
	interval, err := time.ParseDuration(os.Getenv(intervalVariable))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := cluster.Open(ctx, cluster.Options{
		Dir:        b.cluster(),
		Log:        slog.Default(),
		Database:   "postgres",
		Settings:   serverSettings,
		Disposable: true,
		BinDir:     os.Getenv(BinariesVariable),
	})
	if err != nil {
		return err
	}
	users, keeper, err := announce(b, c.URL(), report)
	if err == nil {
		// Both locks last until the server is gone.
		defer users.Close()
		defer keeper.Close()
		err = awaitIdle(ctx, users, interval, c.Exited())
	}
	return errors.Join(err, c.Close(context.Background()))
}

// announce tells everybody where the server is. It returns the lock of the
// users, not taken yet, and that of the keeper.
func announce(b base, at string, report *os.File) (users, keeper *os.File, err error) {
	if keeper, err = flock(b.keeperLock(), syscall.LOCK_EX); err != nil {
		return nil, nil, err
	}
	if err = replaceFile(b.urlFile(), at); err == nil {
		users, err = os.OpenFile(b.usersLock(), os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, nil, errors.Join(err, keeper.Close())
	}
	fmt.Fprintln(report, keeperReady)
	return users, keeper, report.Close()
}

// awaitIdle returns after several rounds in a row without users. It keeps the lock on the file: a process that wants to
// use the server waits until it has stopped, and starts another one.
func awaitIdle(ctx context.Context, users *os.File, interval time.Duration, exited <-chan struct{}) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for idle := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-exited:
			return errors.New("the server has ended")
		case <-ticker.C:
		}
		if err := syscall.Flock(int(users.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			idle = 0
			continue
		}
		if idle++; idle >= idleRounds {
			return nil
		}
		if err := syscall.Flock(int(users.Fd()), syscall.LOCK_UN); err != nil {
			return err
		}
	}
}

// privateServer is the shared server, which is started when it does not run.
func privateServer(ctx context.Context) (*server, error) {
	dir, err := baseDir()
	if err != nil {
		return nil, err
	}
	return use(ctx, base(dir), keeperInterval)
}

// BinariesVariable names the environment variable with the directory of the PostgreSQL
// programs that the private server runs. Unset: the newest installation on the machine.
const BinariesVariable = "BERTH_TEST_POSTGRES_BINARIES"

// baseDir is in the cache of the account. Root's server runs as another
// account, which cannot enter root's home. Programs that BinariesVariable names have a
// directory for each major version, so that servers of several versions run at the same time.
func baseDir() (string, error) {
	name := "berth-test"
	if dir := os.Getenv(BinariesVariable); dir != "" {
		binaries, err := cluster.BinariesIn(dir)
		if err != nil {
			return "", fmt.Errorf("%s: %w", BinariesVariable, err)
		}
		name += "-pg" + strconv.Itoa(binaries.Major)
	}
	if os.Geteuid() == 0 {
		return filepath.Join("/var/cache", name), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, name), nil
}

// use registers this process as a user of the server, for as long as the lock
// of the result is open, and makes sure that the server is up.
func use(ctx context.Context, b base, interval time.Duration) (*server, error) {
	if err := os.MkdirAll(string(b), 0o755); err != nil {
		return nil, err
	}
	users, err := flock(b.usersLock(), syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s := &server{users: users}
	if s.url, err = reach(ctx, b); err != nil {
		s.url, s.keeper, err = start(ctx, b, interval)
	}
	if err != nil {
		return nil, errors.Join(err, users.Close())
	}
	return s, nil
}

// start starts a keeper, unless another process gets there first.
func start(ctx context.Context, b base, interval time.Duration) (at string, keeper *exec.Cmd, err error) {
	lock, err := flock(b.startLock(), syscall.LOCK_EX)
	if err != nil {
		return "", nil, err
	}
	defer lock.Close()
	for {
		if at, err := reach(ctx, b); err == nil {
			return at, keeper, nil
		}
		// A keeper that is starting for a process that was killed makes ours
		// fail; by the next round its server is up.
		if keeper, err = startKeeper(b, interval); err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return "", nil, err
		case <-time.After(retryInterval):
		}
	}
}

// reach tells where the server is that was announced last, if it is up and has
// a keeper. A server whose keeper was killed would run for ever; the next
// keeper adopts it.
func reach(ctx context.Context, b base) (at string, err error) {
	kept, err := held(b.keeperLock())
	if err != nil {
		return "", err
	}
	if !kept {
		return "", errors.New("the server has no keeper")
	}
	text, err := os.ReadFile(b.urlFile())
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, string(text))
	if err != nil {
		return "", err
	}
	return string(text), conn.Close(ctx)
}

// held reports whether another process has an exclusive lock.
func held(path string) (bool, error) {
	file, err := flock(path, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, file.Close()
}

// startKeeper starts a keeper and waits for its report. The keeper must share nothing with this process: `go test`
// waits until no process has its output open, and the signals of a terminal are not for the keeper.
func startKeeper(b base, interval time.Duration) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(b.logFile(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	report, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer report.Close()
	keeper := exec.Command(program)
	keeper.Dir = "/"
	keeper.Env = append(os.Environ(), daemonVariable+"="+string(b), intervalVariable+"="+interval.String())
	keeper.Stdout, keeper.Stderr = log, log
	keeper.ExtraFiles = []*os.File{write}
	keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = keeper.Start()
	write.Close()
	if err != nil {
		return nil, err
	}
	if err := report.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(report)
	if err == nil && strings.TrimSpace(string(text)) != keeperReady {
		err = fmt.Errorf("start a server for the tests: %s", strings.TrimSpace(string(text)))
		_ = keeper.Wait() // it has reported, so it ends
	}
	return keeper, err
}

func flock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return file, nil
}

// replaceFile never shows half of its text to a reader.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
