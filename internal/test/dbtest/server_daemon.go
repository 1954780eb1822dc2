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

	"github.com/berthd/berth/server/data/cluster"
	"github.com/jackc/pgx/v5"
)

// A keeper runs the server for tests. It is a detached process that the first test binary starts,
// and it stops the server after an idle time. Each test process holds a shared lock on a file; the
// keeper stops the server only while it has the exclusive lock. A later test binary starts another
// keeper.
const (
	// daemonVariable is the environment variable that makes a test binary the keeper of a
	// directory.
	daemonVariable = "BERTH_DBTEST_KEEPER"
	// intervalVariable is the environment variable with the interval at which the keeper checks for
	// users.
	intervalVariable = "BERTH_DBTEST_KEEPER_INTERVAL"
	// keeperInterval times idleRounds is the idle time after which the keeper stops the server.
	keeperInterval = 5 * time.Second
	idleRounds     = 12
	// startTimeout is the maximum wait for a server.
	startTimeout = 90 * time.Second
	// retryInterval is the pause after a keeper that failed to start.
	retryInterval = 500 * time.Millisecond
	// keeperReady is the report of a keeper whose server accepts connections.
	keeperReady = "ready"
)

// serverSettings reduce durability for speed, because tests create lost data again. Autovacuum is
// off, because it would change the statistics, and so the plans, between runs.
var serverSettings = map[string]string{
	"fsync":                           "off",
	"synchronous_commit":              "off",
	"full_page_writes":                "off",
	"autovacuum":                      "off",
	"max_connections":                 "300",
	"shared_buffers":                  "256MB",
	"max_wal_size":                    "1GB",
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

// init runs the keeper if this process was started as one, because a test binary has no main
// function of its own.
func init() {
	dir := os.Getenv(daemonVariable)
	if dir == "" {
		return
	}
	// The server must not inherit the file, because the reader of the report waits until all
	// processes have closed it.
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

// runDaemon runs the server until no process has used it for the idle time.
func runDaemon(b base, report *os.File) error {
	interval, err := time.ParseDuration(os.Getenv(intervalVariable))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dir, inMemory := b.clusterDir()
	c, err := cluster.Open(ctx, cluster.Options{
		Dir:        dir,
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
		// Both locks are held until the server has stopped.
		defer users.Close()
		defer keeper.Close()
		err = awaitIdle(ctx, users, interval, c.Exited())
	}
	if err = errors.Join(err, c.Close(context.Background())); err == nil {
		removeCluster(dir, inMemory)
	}
	return err
}

// announce writes the URL of the server to a file. It returns the lock file of the users, unlocked,
// and that of the keeper, locked.
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

// awaitIdle returns after idleRounds consecutive checks without users. It keeps the lock: a process
// that needs the server waits until it has stopped, and starts another one.
func awaitIdle(ctx context.Context, users *os.File, interval time.Duration, exited <-chan struct{}) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for idle := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-exited:
			return errors.New("the server has exited")
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

// privateServer returns the shared server of this account, and starts it if it does not run.
func privateServer(ctx context.Context) (*server, error) {
	dir, err := baseDir()
	if err != nil {
		return nil, err
	}
	return use(ctx, base(dir), keeperInterval)
}

// BinariesVariable is the name of the environment variable with the directory of the PostgreSQL
// programs of the private server. Default: the newest installation on the machine.
const BinariesVariable = "BERTH_TEST_POSTGRES_BINARIES"

// baseName begins the names of the directories.
const baseName = "berth-test"

// baseDir returns the directory in the cache of the account. For root it is elsewhere, because the
// server runs under another account, which cannot access the home directory of root. Programs of
// BinariesVariable have one directory for each major version, so that servers of several versions
// can run at the same time.
func baseDir() (string, error) {
	name := baseName
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

// use takes the shared lock, which makes this process a user until the lock file of the result is
// closed, and starts the server unless it runs.
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

// start starts a keeper, unless another process has started one.
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
		// This keeper fails if a killed process has left one that is still starting. That server
		// accepts connections in a later round.
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

// reach returns the URL of the announced server if it accepts connections and has a keeper. A
// server without a keeper would never stop; the next keeper adopts it.
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

// held reports whether another process has the exclusive lock.
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

// startKeeper starts a keeper and waits for its report. The keeper shares no output with this
// process, because `go test` waits until all processes have closed it. It does not receive the
// signals of the terminal.
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
		err = fmt.Errorf("cannot start a server for the tests: %s", strings.TrimSpace(string(text)))
		_ = keeper.Wait() // it exits after the report
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

// replaceFile replaces a file atomically.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
