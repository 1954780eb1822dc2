package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/cluster"
	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/store"
)

// connections is the size of every pool: those of the server and of the floors.
const connections = 16

// place is where the measurements happen: a database, the server on it, and the
// floor's handler beside it.
type place struct {
	dir      string
	cluster  *cluster.Cluster
	store    *store.Store
	pool     *pgxpool.Pool
	berth    string
	floor    string
	handlers []*http.Server
	client   *http.Client
	numbers  *counter
}

func open(ctx context.Context, settings settings) (*place, error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return nil, err
	}
	// PostgreSQL may run under another account, which must reach the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	p := &place{dir: dir, numbers: &counter{}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if p.cluster, err = cluster.Open(ctx, cluster.Options{
		Dir: dir + "/pg", Log: log,
		DatabaseSettings: store.PlannerSettings(),
	}); err != nil {
		return nil, err
	}
	url := p.cluster.URL()
	if _, err := migrate.Up(ctx, url, log); err != nil {
		return nil, err
	}
	if p.store, err = store.Open(ctx, store.Options{URL: url, MaxConns: connections}); err != nil {
		return nil, err
	}
	if err := p.store.SyncStandardNames(ctx); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := p.load(ctx, settings.providers); err != nil {
		return nil, err
	}
	p.berth, err = p.listen(server.New(server.Options{Store: p.store, Log: log, MaxBodyBytes: 64 << 20}))
	if err != nil {
		return nil, err
	}
	p.floor, err = p.listen(http.HandlerFunc(p.selectOne))
	return p, err
}

// listen serves a handler on loopback and returns its URL.
func (p *place) listen(handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	made := &http.Server{Handler: handler}
	p.handlers = append(p.handlers, made)
	go func() { _ = made.Serve(listener) }() // ends with close
	return "http://" + listener.Addr().String(), nil
}

func (p *place) close() {
	for _, handler := range p.handlers {
		_ = handler.Close()
	}
	p.pool.Close()
	p.store.Close()
	if err := p.cluster.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stopping PostgreSQL:", err)
	}
	_ = os.RemoveAll(p.dir)
}

func (p *place) describe() string {
	var version, fsync, commit string
	_ = p.pool.QueryRow(context.Background(),
		"SELECT version(), current_setting('fsync'), current_setting('synchronous_commit')").Scan(&version, &fsync, &commit)
	version, _, _ = strings.Cut(version, " on ")
	return fmt.Sprintf("%s, fsync %s, synchronous_commit %s, pools of %d connections\n", version, fsync, commit, connections)
}

// selectOne is F: the least that an HTTP server on a database can do.
func (p *place) selectOne(w http.ResponseWriter, r *http.Request) {
	var one int
	if err := p.pool.QueryRow(r.Context(), "SELECT 1").Scan(&one); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"one": 1}`) // a client that left shows in its own error
}

// bareSelect measures SELECT 1 without HTTP, for orientation.
func (p *place) bareSelect(ctx context.Context, settings settings) ([]figures, error) {
	var all []figures
	for _, clients := range clientCounts {
		measured, err := measure(ctx, clients, settings.length, p.numbers, func(ctx context.Context, _ int, _ int64) error {
			var one int
			return p.pool.QueryRow(ctx, "SELECT 1").Scan(&one)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, measured)
	}
	return all, nil
}

// request asks Berth and wants one status.
func (p *place) request(ctx context.Context, method, url, body string, want int) error {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return err
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		return fmt.Errorf("%s %s: %s %s", method, url, response.Status, answer)
	}
	return err
}
