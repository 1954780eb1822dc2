package candidates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/internal/test/process"
)

// cloudDB is a cloud, in a database for each program, and the baselines on the first.
type cloudDB struct {
	*rig.Rig
	name  string
	shape shape
	trees int
	// all are the programs that are measured: the first, and that of --against.
	all      []*deployment
	baseline *process.Process
}

// build loads a cloud for each program. It does not run ANALYZE.
func build(ctx context.Context, on *rig.Rig, programs []program, of shape, trees int) (*cloudDB, error) {
	s := &cloudDB{Rig: on, name: fmt.Sprintf("%s_%d", strings.ReplaceAll(of.name, "-", "_"), trees), shape: of, trees: trees}
	for _, one := range programs {
		begun := time.Now()
		loaded, err := deploy(ctx, on, one, s.name, of, trees)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("loading %s: %w", s.name, err), s.destroy())
		}
		s.all = append(s.all, loaded)
		progress("%s: %d trees of %d loaded in %.1f s", loaded.database, trees, len(of.members), time.Since(begun).Seconds())
	}
	if err := s.startBaseline(ctx); err != nil {
		return nil, errors.Join(err, s.destroy())
	}
	return s, nil
}

// first is the deployment of the program that is measured.
func (s *cloudDB) first() *deployment { return s.all[0] }

// startBaseline runs this program again, as the server of the baselines.
func (s *cloudDB) startBaseline(ctx context.Context) error {
	bench, err := os.Executable()
	if err != nil {
		return err
	}
	s.baseline, err = process.Start(ctx, bench, "candidates", "baseline", "--database-url", s.URL(s.first().database))
	return err
}

// f is F: the least that an HTTP server on a database can do.
func (s *cloudDB) f() contender { return contender{s.baseline, s.first().get(s.baseline.URL)} }

// each calls a function for all deployments.
func (s *cloudDB) each(do func(*deployment) error) error {
	for _, one := range s.all {
		if err := do(one); err != nil {
			return err
		}
	}
	return nil
}

// open starts servers with connections of their own and no plans.
func (s *cloudDB) open(ctx context.Context) error {
	return s.each(func(d *deployment) error { return d.open(ctx) })
}

// destroy stops everything and drops the databases.
func (s *cloudDB) destroy() error {
	var errs []error
	if s.baseline != nil {
		errs = append(errs, s.baseline.Stop())
	}
	for _, one := range s.all {
		errs = append(errs, one.destroy())
	}
	return errors.Join(errs...)
}

// exhaust uses up trees in all databases; see exhaust of a connection.
func (s *cloudDB) exhaust(ctx context.Context, already, first int) error {
	return s.each(func(d *deployment) error { return exhaust(ctx, d.conn, already, first) })
}

// settle vacuums and analyzes all databases.
func (s *cloudDB) settle(ctx context.Context) error {
	return s.each(func(d *deployment) error { return settle(ctx, d.conn) })
}

// contenders are F, or another baseline, and the request of a query to each program.
func (s *cloudDB) contenders(of query, baselines ...contender) []contender {
	for _, one := range s.all {
		baselines = append(baselines, one.contender(of))
	}
	return baselines
}
