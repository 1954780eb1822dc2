package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// service is a running `berth serve`.
type service struct {
	url     string
	command *exec.Cmd
}

// start runs `berth serve` on a database and waits until it prints its address.
func start(ctx context.Context, program, database string) (*service, error) {
	command := prepare(ctx, program, "serve", "--listen", "127.0.0.1:0", "--database-url", database,
		"--access-log=false", "--log-level", "warn")
	command.Stderr = os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	greeting, err := bufio.NewReader(stdout).ReadString('\n')
	url, announced := strings.CutPrefix(strings.TrimSpace(greeting), "Berth is listening on ")
	if err != nil || !announced {
		_ = command.Process.Kill()
		return nil, fmt.Errorf("berth serve printed %q instead of its address: %w", greeting, command.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }() // it prints nothing more
	return &service{url: url, command: command}, nil
}

// prepare returns a command of berth without the environment variables that change it.
func prepare(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, arguments...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "BERTH_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "OS_") {
			command.Env = append(command.Env, variable)
		}
	}
	return command
}

// audit runs `berth db check`.
func audit(ctx context.Context, program, database string) error {
	if said, err := prepare(ctx, program, "db", "check", "--database-url", database).CombinedOutput(); err != nil {
		return fmt.Errorf("berth db check: %w\n%s", err, said)
	}
	return nil
}

// maxPeak is the maximum memory of the service in bytes.
const maxPeak = 100 << 20

// peak returns the maximum memory that the process has had, from Linux.
func (s *service) peak() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseInt(text, 10, 64)
	return kib << 10, err
}

func (s *service) stop() error {
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.command.Wait()
}

// sample is the state at one time, and the load since the previous sample.
type sample struct {
	after                                    time.Duration
	memory, heap                             float64 // of the service, in bytes
	goroutines, files                        float64
	connections, tables, indexes, deadTuples float64 // of PostgreSQL
	rate                                     float64
	p50, p99                                 time.Duration
}

// take reads the metrics of the service and the statistics of its database.
func take(ctx context.Context, pool *pgxpool.Pool, service *service) (sample, error) {
	metrics, err := service.metrics(ctx)
	if err != nil {
		return sample{}, err
	}
	one := sample{
		memory: metrics["process_resident_memory_bytes"], heap: metrics["go_memstats_heap_inuse_bytes"],
		goroutines: metrics["go_goroutines"], files: metrics["process_open_fds"],
	}
	if one.memory == 0 || one.goroutines == 0 {
		return one, fmt.Errorf("/metrics has no process metrics: %v", metrics)
	}
	err = pool.QueryRow(ctx, `SELECT
		(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND backend_type = 'client backend'),
		coalesce(sum(pg_table_size(relid)), 0)::bigint, coalesce(sum(pg_indexes_size(relid)), 0)::bigint, coalesce(sum(n_dead_tup), 0)::bigint
		FROM pg_stat_user_tables`).Scan(&one.connections, &one.tables, &one.indexes, &one.deadTuples)
	return one, err
}

// metrics returns the metrics without labels.
func (s *service) metrics(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	found := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = number
		}
	}
	return found, lines.Err()
}
