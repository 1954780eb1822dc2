package baremetal

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
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/conductor"
)

// Names of two conductors: one works while HTTP is measured; the other is only
// registered, so that no conductor decides the allocations of the other measurements.
const (
	busyConductor = "conductor"
	idleConductor = "idle"
)

// benchEnv is a database of nodes and the server on it.
type benchEnv struct {
	*rig.Rig
	settings settings
	tested   tested
	database string
	// conn runs the statements that are not measured.
	conn  *pgx.Conn
	pool  *pgxpool.Pool
	store *store.Store
	http  *rig.Server
	// decides works while HTTP is measured.
	decides *conductor.Conductor
	// free are the nodes that the baselines assign.
	free []int64
	// accepted is how long the POSTs of the last measurement took.
	accepted time.Duration
}

func open(ctx context.Context, on *rig.Rig, settings settings, of tested, nodes int) (*benchEnv, error) {
	p := &benchEnv{Rig: on, settings: settings, tested: of, database: "baremetal"}
	if err := on.Copy(ctx, p.database); err != nil {
		return nil, err
	}
	if err := p.start(ctx, nodes); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *benchEnv) start(ctx context.Context, nodes int) (err error) {
	if p.conn, err = pgx.Connect(ctx, p.URL(p.database)); err != nil {
		return err
	}
	if err = load(ctx, p.conn, size{nodes, p.tested.request.classes}, p.tested.placement); err != nil {
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
	if p.store, err = store.Open(ctx, postgres.Options{URL: p.URL(p.database), MaxConns: rig.Connections}); err != nil {
		return err
	}
	if err = p.store.ConductorRegister(ctx, idleConductor, nil); err != nil {
		return err
	}
	options := server.Defaults(p.store, rig.DiscardLog())
	options.Baremetal = &baremetal.Options{
		Conductor: busyConductor, HeartbeatTimeout: time.Minute, Decide: func(id uuid.UUID) { p.decides.Decide(id) },
	}
	p.http, err = p.Serve(server.New(options).Public)
	return err
}

// conductorStartup is the time for a conductor to open its connections before it is measured.
const conductorStartup = 200 * time.Millisecond

// startConductor starts the conductor of berth serve. It receives notifications of all
// node allocations, including those of the other conductor, so it runs only while it is
// measured.
func (p *benchEnv) startConductor(ctx context.Context) (stop func() error, err error) {
	p.decides = &conductor.Conductor{
		Store: p.store, Drivers: conductor.Drivers(), Options: conductor.Options{
			Hostname: busyConductor, Workers: p.settings.workers, HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: time.Minute,
		}, Log: rig.DiscardLog(),
	}
	if err := p.decides.Register(ctx); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- p.decides.Run(running) }()
	time.Sleep(conductorStartup)
	return func() error { cancel(); return <-ended }, nil
}

func (p *benchEnv) close() error {
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

// byHTTP creates node allocations through HTTP and waits until all are decided.
func (p *benchEnv) byHTTP(ctx context.Context) (took time.Duration, err error) {
	bodies := make([]string, p.settings.requests)
	for n := range bodies {
		body, err := json.Marshal(map[string]any{
			"name": fmt.Sprintf("web-%d", n), "resource_class": p.tested.request.class(n), "traits": p.tested.request.requiredTraits(n),
		})
		if err != nil {
			return 0, err
		}
		bodies[n] = string(body)
	}
	stop, err := p.startConductor(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	begun := time.Now()
	p.accepted, err = p.runClients(ctx, func(ctx context.Context, n int) error {
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

// byStore decides node allocations that exist already.
func (p *benchEnv) byStore(ctx context.Context) (time.Duration, error) {
	made, err := p.make(ctx)
	if err != nil {
		return 0, err
	}
	return p.runClients(ctx, func(ctx context.Context, n int) error {
		_, err := p.store.NodeAllocationProcess(ctx, made[n], idleConductor)
		return err
	})
}

// make creates node allocations that no conductor decides.
func (p *benchEnv) make(ctx context.Context) ([]uuid.UUID, error) {
	made := make([]uuid.UUID, p.settings.requests)
	batch := &pgx.Batch{}
	for n := range made {
		made[n] = uuid.New()
		batch.Queue(insertUnchecked, made[n].String(), fmt.Sprintf("web-%d", n), p.tested.request.class(n), p.tested.request.requiredTraits(n), idleConductor)
	}
	return made, p.conn.SendBatch(ctx, batch).Close()
}
