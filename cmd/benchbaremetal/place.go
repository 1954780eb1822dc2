package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/conductor"
	"github.com/berthd/berth/server/store"
)

// Two conductors: one works while HTTP is measured, and one only has its name, so that
// nobody decides what the others measure.
const (
	working = "conductor"
	nobody  = "nobody"
)

// place is a database of nodes and the service on it.
type place struct {
	*rig.Rig
	settings settings
	tested   tested
	database string
	// conn is for what is not measured.
	conn  *pgx.Conn
	pool  *pgxpool.Pool
	store *store.Store
	http  *rig.Server
	// decides works while HTTP is measured.
	decides *conductor.Conductor
	// free are the nodes that the floors take.
	free []int64
	// accepted is how long the POSTs of the last measurement took.
	accepted time.Duration
}

func open(ctx context.Context, on *rig.Rig, settings settings, of tested, nodes int) (*place, error) {
	p := &place{Rig: on, settings: settings, tested: of, database: "baremetal"}
	if err := on.Copy(ctx, p.database); err != nil {
		return nil, err
	}
	if err := p.start(ctx, nodes); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *place) start(ctx context.Context, nodes int) (err error) {
	if p.conn, err = pgx.Connect(ctx, p.URL(p.database)); err != nil {
		return err
	}
	if err = load(ctx, p.conn, size{nodes, p.tested.wish.classes}, p.tested.placement); err != nil {
		return err
	}
	rows, err := p.conn.Query(ctx, `SELECT id FROM nodes WHERE instance_uuid IS NULL ORDER BY hashint8(id)`)
	if err != nil {
		return err
	}
	if p.free, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
		return err
	}
	if p.pool, err = p.Pool(ctx, p.database); err != nil {
		return err
	}
	if p.store, err = store.Open(ctx, store.Options{URL: p.URL(p.database), MaxConns: rig.Connections}); err != nil {
		return err
	}
	if err = p.store.ConductorRegister(ctx, nobody, nil); err != nil {
		return err
	}
	p.http, err = p.Serve(server.New(server.Options{
		Store: p.store, Log: rig.Silence(), MaxBodyBytes: 64 << 20, MaxCandidates: -1,
		Baremetal: &server.Baremetal{
			Conductor: working, Silence: time.Minute, Decide: func(id uuid.UUID) { p.decides.Decide(id) },
		},
	}))
	return err
}

// settling is what a conductor has to open its connections before it is measured.
const settling = 200 * time.Millisecond

// conduct starts the conductor that berth serve starts. It hears of all allocations,
// also of those that are not its own, so it works only while it is measured.
func (p *place) conduct(ctx context.Context) (stop func() error, err error) {
	p.decides = &conductor.Conductor{
		Store: p.store, Hostname: working, Drivers: conductor.Drivers(), Workers: p.settings.workers,
		HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: time.Minute, Log: rig.Silence(),
	}
	if err := p.decides.Register(ctx); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- p.decides.Run(running) }()
	time.Sleep(settling)
	return func() error { cancel(); return <-ended }, nil
}

func (p *place) close() error {
	if p.http != nil {
		p.http.Close()
	}
	if p.store != nil {
		p.store.Close()
	}
	if p.pool != nil {
		p.pool.Close()
	}
	ctx := context.Background()
	var err error
	if p.conn != nil {
		err = errors.Join(err, p.conn.Close(ctx))
	}
	return errors.Join(err, p.Drop(ctx, p.database))
}

// byHTTP asks for nodes as clients do, and waits until all have one.
func (p *place) byHTTP(ctx context.Context) (took time.Duration, err error) {
	bodies := make([]string, p.settings.requests)
	for n := range bodies {
		body, err := json.Marshal(map[string]any{
			"name": fmt.Sprintf("web-%d", n), "resource_class": p.tested.wish.class(n), "traits": p.tested.wish.wanted(n),
		})
		if err != nil {
			return 0, err
		}
		bodies[n] = string(body)
	}
	stop, err := p.conduct(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	begun := time.Now()
	p.accepted, err = p.together(ctx, func(ctx context.Context, n int) error {
		return p.Request(ctx, http.MethodPost, p.http.URL+"/v1/allocations", bodies[n], http.StatusCreated)
	})
	for waiting := true; waiting && err == nil; time.Sleep(time.Millisecond) {
		err = p.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM node_allocations WHERE state = 'allocating')`).Scan(&waiting)
		if waiting && time.Since(begun) > time.Minute {
			err = errors.New("not all allocations are decided after a minute")
		}
		took = time.Since(begun)
	}
	return took, err
}

// byStore decides what was asked for before.
func (p *place) byStore(ctx context.Context) (time.Duration, error) {
	made, err := p.make(ctx)
	if err != nil {
		return 0, err
	}
	return p.together(ctx, func(ctx context.Context, n int) error {
		return p.store.NodeAllocationProcess(ctx, made[n], nobody)
	})
}

// make makes allocations that nobody decides.
func (p *place) make(ctx context.Context) ([]uuid.UUID, error) {
	made := make([]uuid.UUID, p.settings.requests)
	batch := &pgx.Batch{}
	for n := range made {
		made[n] = uuid.New()
		batch.Queue(askUnchecked, made[n].String(), fmt.Sprintf("web-%d", n), p.tested.wish.class(n), p.tested.wish.wanted(n), nobody)
	}
	return made, p.conn.SendBatch(ctx, batch).Close()
}
