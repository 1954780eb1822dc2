package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/process"
	"github.com/berthd/berth/server/work/provision"
)

// databaseSettings reduce durability for speed. Autovacuum is off, because it changes plans, and so the order of rows
// without an order.
var databaseSettings = map[string]string{
	"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off", "checkpoint_timeout": "1h",
}

// serveSettings are the settings of all services. The hosts are those of the scenarios and of badinput.
var serveSettings = map[string]string{
	"listen": "127.0.0.1:0", "access-log": "false", "log-level": "warn", "migrate": "false",
	"allowed-hosts": "placement.example.org,berth.example", "max-body-bytes": "1048576", "baremetal-backend": "off",
	"explain-keep": "0s",
}

// side is one of the two services, with its database.
type side struct {
	name    string
	program string
	address string
	process *process.Process
	db      *pgx.Conn
	drop    func(context.Context) error
}

// pair is the two services of a file or of a source.
type pair struct {
	*comparison
	old, new *side
	same     *normalizer
	// conductor is the host name of the conductors; empty: the services have none.
	conductor string
	// waiting is held by the one that uses the connections to wait.
	waiting sync.Mutex
	number  int
}

func (p *pair) sides() []*side { return []*side{p.old, p.new} }

// template returns the name of the database that a build has migrated.
func template(side string) string { return "template_" + side }

// makeTemplates has each build migrate a database and add the standard names.
func (c *comparison) makeTemplates(ctx context.Context) error {
	for name, program := range map[string]string{"old": c.old, "new": c.new} {
		database := template(name)
		if err := c.postgres.Create(ctx, database); err != nil {
			return err
		}
		s := &side{name: name, program: program}
		if err := s.serve(ctx, c, c.postgres.URL(database), map[string]string{"migrate": "true"}); err != nil {
			return err
		}
		if err := s.process.Stop(); err != nil {
			return fmt.Errorf("berth serve of the %s build: %w", name, err)
		}
		if err := c.makeRepeatable(ctx, database); err != nil {
			return err
		}
	}
	return nil
}

// repeatable replaces the random functions of PostgreSQL: a node allocation gets a random node, and a random UUID, by which
// lists are sorted.
const repeatable = `
	SET allow_system_table_mods = on;
	CREATE SEQUENCE uuids_of_compare;
	CREATE OR REPLACE FUNCTION pg_catalog.random() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT 0.5::float8';
	CREATE OR REPLACE FUNCTION pg_catalog.gen_random_uuid() RETURNS uuid LANGUAGE sql VOLATILE AS
		$$ SELECT md5(nextval('public.uuids_of_compare')::text)::uuid $$`

func (c *comparison) makeRepeatable(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, c.postgres.URL(database))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, repeatable)
	return errors.Join(err, conn.Close(ctx))
}

// copyTemplate creates the database of a side.
func (c *comparison) copyTemplate(ctx context.Context, s *side) (url string, drop func(context.Context) error, err error) {
	drop = func(ctx context.Context) error { return c.postgres.Drop(ctx, s.name) }
	return c.postgres.URL(s.name), drop, c.postgres.CopyOf(ctx, template(s.name), s.name)
}

// serve starts the service on a database.
func (s *side) serve(ctx context.Context, c *comparison, databaseURL string, settings map[string]string) (err error) {
	arguments := []string{"serve", "--database-url", databaseURL, "--log-file", filepath.Join(c.dir, s.name+".log")}
	for _, some := range []map[string]string{serveSettings, settings} { // of two flags the last one applies
		for name, value := range some {
			arguments = append(arguments, "--"+name+"="+value)
		}
	}
	if s.process, err = process.Start(ctx, s.program, arguments...); err != nil {
		return fmt.Errorf("the %s build: %w", s.name, err)
	}
	address, err := url.Parse(s.process.URL)
	if err != nil {
		return err
	}
	s.address = address.Host
	return nil
}

// start starts both services on new databases.
func (c *comparison) start(ctx context.Context, settings map[string]string) (*pair, error) {
	p := &pair{
		comparison: c, same: newNormalizer(), conductor: settings["baremetal-hostname"],
		old: &side{name: "old", program: c.options.old}, new: &side{name: "new", program: c.options.new},
	}
	for _, s := range p.sides() {
		if err := s.start(ctx, c, settings); err != nil {
			return nil, errors.Join(err, p.stop(ctx))
		}
	}
	if c.front != nil {
		p.new.address = c.front(p.new.address)
	}
	return p, nil
}

// start starts the service on a new database.
func (s *side) start(ctx context.Context, c *comparison, settings map[string]string) error {
	databaseURL, drop, err := c.create(ctx, s)
	if err != nil {
		return err
	}
	s.drop = drop
	if s.db, err = pgx.Connect(ctx, databaseURL); err != nil {
		return err
	}
	return s.serve(ctx, c, databaseURL, settings)
}

// stop stops both services and drops their databases.
func (p *pair) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var failed []error
	for _, s := range p.sides() {
		if s.db != nil {
			failed = append(failed, s.db.Close(ctx))
		}
		if s.process != nil {
			failed = append(failed, s.process.Stop())
		}
		if s.drop != nil {
			failed = append(failed, s.drop(ctx))
		}
	}
	return errors.Join(failed...)
}

// execute executes a statement in both databases.
func (p *pair) execute(ctx context.Context, statement string, arguments ...any) error {
	for _, s := range p.sides() {
		if _, err := s.db.Exec(ctx, statement, arguments...); err != nil {
			return fmt.Errorf("the %s database: %w", s.name, err)
		}
	}
	return nil
}

// working reports whether a conductor has work to do: the condition of its own queries for pending work.
const working = `SELECT EXISTS (SELECT FROM node_allocations AS allocation JOIN conductors AS conductor ON conductor.id = allocation.conductor_id
		WHERE allocation.state = 'allocating' AND conductor.hostname = $1)
	OR EXISTS (SELECT FROM nodes AS node JOIN conductors AS conductor ON conductor.hostname = $1
		WHERE node.conductor_id = conductor.id OR node.conductor_id IS NULL AND node.driver = ANY (conductor.drivers)
			AND (node.provision_state = ANY ($2::text[]) AND node.target_provision_state IS NOT NULL OR node.target_power_state IS NOT NULL))`

const (
	pollInterval = time.Millisecond
	idleTimeout  = 30 * time.Second
)

// awaitConductors waits until the conductors of both services have finished, because the next response depends on it.
func (p *pair) awaitConductors(ctx context.Context) error {
	if p.conductor == "" {
		return nil
	}
	p.waiting.Lock()
	defer p.waiting.Unlock()
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	for _, s := range p.sides() {
		for busy := true; busy; {
			if err := s.db.QueryRow(ctx, working, p.conductor, provision.Transients()).Scan(&busy); err != nil {
				return fmt.Errorf("waiting for the conductor of the %s build: %w", s.name, err)
			}
			if busy {
				time.Sleep(pollInterval)
			}
		}
	}
	return nil
}

// next returns a label of a request.
func (p *pair) next(source string) string {
	p.number++
	return source + " " + strconv.Itoa(p.number)
}
