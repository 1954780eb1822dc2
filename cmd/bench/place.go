package main

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
	"github.com/berthd/berth/server/store"
)

// place is where the measurements happen: a database, the server on it, and the
// floor's handler beside it.
type place struct {
	*rig.Rig
	store *store.Store
	pool  *pgxpool.Pool
	berth string
	floor string
	// The same with synchronous_commit=off: an acknowledged write may be lost with
	// the machine, and nobody waits for the disk.
	lazyStore *store.Store
	lazyPool  *pgxpool.Pool
	lazyBerth string
}

func open(ctx context.Context, settings settings) (*place, error) {
	opened, err := rig.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	p := &place{Rig: opened}
	if err := p.start(ctx, settings); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return p, nil
}

func (p *place) start(ctx context.Context, settings settings) error {
	var err error
	if p.store, err = store.Open(ctx, store.Options{URL: p.URL(""), MaxConns: rig.Connections}); err != nil {
		return err
	}
	if p.pool, err = p.Pool(ctx, ""); err != nil {
		return err
	}
	if err := p.load(ctx, settings.providers); err != nil {
		return err
	}
	berth, err := p.Serve(handler(p.store))
	if err != nil {
		return err
	}
	floor, err := p.Serve(rig.SelectOne(p.pool))
	if err != nil {
		return err
	}
	p.berth, p.floor = berth.URL, floor.URL
	return p.startLazy(ctx)
}

// startLazy serves the same database to those who don't wait for the disk.
func (p *place) startLazy(ctx context.Context) error {
	at, err := url.Parse(p.URL(""))
	if err != nil {
		return err
	}
	query := at.Query()
	query.Set("synchronous_commit", "off")
	at.RawQuery = query.Encode()
	if p.lazyStore, err = store.Open(ctx, store.Options{URL: at.String(), MaxConns: rig.Connections}); err != nil {
		return err
	}
	config, err := pgxpool.ParseConfig(at.String())
	if err != nil {
		return err
	}
	config.MaxConns = rig.Connections
	maps.Copy(config.ConnConfig.RuntimeParams, store.PlannerSettings())
	if p.lazyPool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	berth, err := p.Serve(handler(p.lazyStore))
	if err != nil {
		return err
	}
	p.lazyBerth = berth.URL
	return nil
}

// handler is the service that is measured.
func handler(on *store.Store) http.Handler {
	return server.New(server.Options{Store: on, Log: rig.Silence(), MaxBodyBytes: 64 << 20, MaxCandidates: -1})
}

func (p *place) close() {
	p.lazyPool.Close()
	p.lazyStore.Close()
	p.pool.Close()
	p.store.Close()
	if err := p.Rig.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stopping PostgreSQL:", err)
	}
}

// countRoundTrips counts those of one request.
func (p *place) countRoundTrips(ctx context.Context, of measured) (int64, error) {
	aside := *p
	var ask rig.Ask
	return p.RoundTrips(ctx, "", handler, func(ctx context.Context, url string) error {
		if ask == nil { // a case of its own, which makes its own data
			aside.berth, aside.lazyBerth = url, url
			for _, same := range aside.cases() {
				if same.name == of.name {
					ask = same.ask
				}
			}
		}
		return ask(ctx, 0, p.Numbers.Next())
	})
}

func (p *place) describe() string {
	var version, fsync, commit string
	_ = p.pool.QueryRow(context.Background(),
		"SELECT version(), current_setting('fsync'), current_setting('synchronous_commit')").Scan(&version, &fsync, &commit)
	version, _, _ = strings.Cut(version, " on ")
	return fmt.Sprintf("%s, fsync %s, synchronous_commit %s, pools of %d connections\n", version, fsync, commit, rig.Connections)
}

// bareSelect measures SELECT 1 without HTTP, for orientation.
func (p *place) bareSelect(ctx context.Context, settings settings) ([]rig.Figures, error) {
	var all []rig.Figures
	for _, clients := range clientCounts {
		measured, err := p.Measure(ctx, clients, settings.length, func(ctx context.Context, _ int, _ int64) error {
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
