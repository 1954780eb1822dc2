package soak

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/internal/test/process"
)

// start runs `berth serve` on a database.
func start(ctx context.Context, program, database string) (*process.Process, error) {
	return process.Start(ctx, program, "serve", "--listen", "127.0.0.1:0", "--database-url", database,
		"--access-log=false", "--log-level", "warn")
}

// audit runs `berth db check`.
func audit(ctx context.Context, program, database string) error {
	if said, err := process.Command(ctx, program, "db", "check", "--database-url", database).CombinedOutput(); err != nil {
		return fmt.Errorf("berth db check: %w\n%s", err, said)
	}
	return nil
}

// maxPeak is the maximum memory of the service in bytes.
const maxPeak = 100 << 20

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
func take(ctx context.Context, pool *pgxpool.Pool, service *process.Process) (sample, error) {
	metrics, err := metricsOf(ctx, service)
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

// metricsOf returns the metrics without labels.
func metricsOf(ctx context.Context, service *process.Process) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.URL+"/metrics", nil)
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
