package requests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// benchEnv is a database, the server on it, and the server of the baseline.
type benchEnv struct {
	*rig.Rig
	store    *store.Store
	pool     *pgxpool.Pool
	berth    string
	baseline string
	// The same with synchronous_commit=off: commits do not wait for the WAL flush.
	asyncStore *store.Store
	asyncPool  *pgxpool.Pool
	asyncBerth string
}

func open(ctx context.Context, settings settings) (*benchEnv, error) {
	opened, err := rig.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	p := &benchEnv{Rig: opened}
	if err := p.start(ctx, settings); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return p, nil
}

func (p *benchEnv) start(ctx context.Context, settings settings) error {
	var err error
	if p.store, err = store.Open(ctx, postgres.Options{URL: p.URL(""), MaxConns: rig.Connections}); err != nil {
		return err
	}
	if p.pool, err = p.Pool(ctx, ""); err != nil {
		return err
	}
	if err := p.load(ctx, settings.providers); err != nil {
		return err
	}
	if comparesClaims(settings.only) {
		if err := p.loadNested(ctx, settings.providers); err != nil {
			return err
		}
	}
	berth, err := p.Serve(handler(p.store))
	if err != nil {
		return err
	}
	baseline, err := p.Serve(rig.SelectOne(p.pool))
	if err != nil {
		return err
	}
	p.berth, p.baseline = berth.URL, baseline.URL
	return p.startAsync(ctx)
}

// startAsync serves the same database with synchronous_commit=off.
func (p *benchEnv) startAsync(ctx context.Context) error {
	at, err := url.Parse(p.URL(""))
	if err != nil {
		return err
	}
	query := at.Query()
	query.Set("synchronous_commit", "off")
	at.RawQuery = query.Encode()
	if p.asyncStore, err = store.Open(ctx, postgres.Options{URL: at.String(), MaxConns: rig.Connections}); err != nil {
		return err
	}
	config, err := pgxpool.ParseConfig(at.String())
	if err != nil {
		return err
	}
	config.MaxConns = rig.Connections
	maps.Copy(config.ConnConfig.RuntimeParams, postgres.PlannerSettings())
	if p.asyncPool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	berth, err := p.Serve(handler(p.asyncStore))
	if err != nil {
		return err
	}
	p.asyncBerth = berth.URL
	return nil
}

// handler returns the server that is measured.
func handler(on *store.Store) http.Handler {
	return server.New(server.Defaults(on, rig.DiscardLog())).Public
}

func (p *benchEnv) close() {
	p.asyncPool.Close()
	p.asyncStore.Close()
	p.pool.Close()
	p.store.Close()
	if err := p.Rig.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stopping PostgreSQL:", err)
	}
}

// countRoundTrips counts those of one request.
func (p *benchEnv) countRoundTrips(ctx context.Context, of measurement) (int64, error) {
	aside := *p
	var ask rig.RequestFunc
	return p.RoundTrips(ctx, "", handler, func(ctx context.Context, url string) error {
		if ask == nil { // a separate case, which makes its own data
			aside.berth, aside.asyncBerth = url, url
			for _, same := range aside.cases() {
				if same.name == of.name {
					ask = same.request
				}
			}
		}
		return ask(ctx, 0, p.Numbers.Next())
	})
}

func (p *benchEnv) describe() string {
	var version, fsync, commit string
	_ = p.pool.QueryRow(context.Background(),
		"SELECT version(), current_setting('fsync'), current_setting('synchronous_commit')").Scan(&version, &fsync, &commit)
	version, _, _ = strings.Cut(version, " on ")
	return fmt.Sprintf("%s, fsync %s, synchronous_commit %s, pools of %d connections\n", version, fsync, commit, rig.Connections)
}

// bareSelect measures SELECT 1 through the pool without HTTP, as a reference.
func (p *benchEnv) bareSelect(ctx context.Context, settings settings) error {
	for _, clients := range clientCounts {
		measured, err := p.Measure(ctx, clients, settings.length, func(ctx context.Context, _ int, _ int64) error {
			var one int
			return p.pool.QueryRow(ctx, "SELECT 1").Scan(&one)
		})
		if err != nil {
			return err
		}
		if err := measured.Print(fmt.Sprintf("Requests/case=SELECT 1 without HTTP/clients=%d", clients) + rig.OfBaseline); err != nil {
			return err
		}
	}
	return nil
}
