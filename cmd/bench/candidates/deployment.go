package candidates

import (
	"context"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/internal/test/process"
)

// deployment is a program with a cloud in its own database, and its servers.
type deployment struct {
	*rig.Rig
	program  program
	database string
	// conn loads the cloud.
	conn *pgx.Conn
	// ordered and shuffled are the servers without and with random order.
	ordered, shuffled *process.Process
	// counted are servers behind proxies that count round trips, by random order.
	counted map[bool]*countedServer
}

// countedServer is a server with one connection, which a proxy watches.
type countedServer struct {
	process *process.Process
	proxy   *rig.RoundTripProxy
}

const randomize = "--randomize-allocation-candidates"

// deploy loads a cloud. It does not run ANALYZE.
func deploy(ctx context.Context, on *rig.Rig, of program, name string, shape shape, trees int) (*deployment, error) {
	d := &deployment{Rig: on, program: of, database: name + of.suffix, counted: map[bool]*countedServer{}}
	if err := on.CopyOf(ctx, of.template, d.database); err != nil {
		return nil, err
	}
	var err error
	if d.conn, err = pgx.Connect(ctx, on.URL(d.database)); err == nil {
		err = loader{conn: d.conn, shape: shape, trees: trees}.load(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.destroy())
	}
	return d, nil
}

// open starts the servers, with connections of their own and no plans.
func (d *deployment) open(ctx context.Context) error {
	var err error
	if d.ordered, err = d.program.serve(ctx, d.URL(d.database), rig.Connections); err != nil {
		return err
	}
	d.shuffled, err = d.program.serve(ctx, d.URL(d.database), rig.Connections, randomize)
	return err
}

// close stops the servers.
func (d *deployment) close() error {
	var errs []error
	for _, one := range []*process.Process{d.ordered, d.shuffled} {
		if one != nil {
			errs = append(errs, one.Stop())
		}
	}
	d.ordered, d.shuffled = nil, nil
	for _, one := range d.counted {
		errs = append(errs, one.process.Stop())
		one.proxy.Close()
	}
	clear(d.counted)
	return errors.Join(errs...)
}

// destroy stops everything and drops the database, whose disk space the next needs.
func (d *deployment) destroy() error {
	err := d.close()
	if d.conn != nil {
		_ = d.conn.Close(context.Background())
	}
	return errors.Join(err, d.Drop(context.Background(), d.database))
}

// server returns the server that a query is for.
func (d *deployment) server(of query) *process.Process {
	if of.random {
		return d.shuffled
	}
	return d.ordered
}

// contender returns a server and the request of a query to it.
func (d *deployment) contender(of query) contender {
	server := d.server(of)
	return contender{server, d.ask(server.URL, of)}
}

// get returns a request that expects success.
func (d *deployment) get(url string) rig.RequestFunc {
	return func(ctx context.Context, _ int, _ int64) error {
		return d.Request(ctx, http.MethodGet, url, "", http.StatusOK)
	}
}

// ask returns the request of a query to a server.
func (d *deployment) ask(url string, of query) rig.RequestFunc {
	get := d.get(url + of.path())
	return func(ctx context.Context, client int, number int64) error { return get(of.context(ctx), client, number) }
}

// roundTrips counts those between a server and PostgreSQL during one request, after some
// that prepare the statements.
func (d *deployment) roundTrips(ctx context.Context, of query, warmUp int) (int64, error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	if d.counted[of.random] == nil {
		started, err := d.startCounted(context.WithoutCancel(ctx), of.random)
		if err != nil {
			return 0, err
		}
		d.counted[of.random] = started
	}
	on := d.counted[of.random]
	ask := d.ask(on.process.URL, of)
	for range warmUp {
		if err := ask(ctx, 0, 0); err != nil {
			return 0, err
		}
	}
	before := on.proxy.Count()
	err := ask(ctx, 0, 0)
	return on.proxy.Count() - before, err
}

func (d *deployment) startCounted(ctx context.Context, random bool) (*countedServer, error) {
	proxy, err := d.NewRoundTripProxy(d.database)
	if err != nil {
		return nil, err
	}
	var flags []string
	if random {
		flags = append(flags, randomize)
	}
	process, err := d.program.serve(ctx, proxy.URL, 1, flags...)
	if err != nil {
		proxy.Close()
		return nil, err
	}
	return &countedServer{process, proxy}, nil
}

// peak checks a request to a new server, which one for few candidates has warmed up. It
// returns the size of the response, and by how much the resident memory of the server
// exceeds its idle memory during the request, in MB.
func (d *deployment) peak(ctx context.Context, of query, free int) (bytes int64, megabytes float64, err error) {
	server, err := d.program.serve(ctx, d.URL(d.database), rig.Connections)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if _, err = count(ctx, d, server, of.withLimit(few), free); err != nil {
		return 0, 0, err
	}
	idle, err := server.Memory()
	if err != nil {
		return 0, 0, err
	}
	if bytes, err = count(ctx, d, server, of, free); err != nil {
		return 0, 0, err
	}
	highest, err := server.PeakMemory()
	return bytes, float64(highest-idle) / 1e6, err
}
