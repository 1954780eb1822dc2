package placementdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/session"
)

// connectTarget opens the only connection to Berth's database that an import or export needs. It disables
// the planner settings of requests and the timeouts of the role, because its statements may take and wait
// as long as they need.
func connectTarget(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	session.Set(config)
	config.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	config.RuntimeParams["timezone"] = "UTC"
	for _, limit := range []string{
		"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout",
	} {
		config.RuntimeParams[limit] = "0"
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := session.Check(ctx, conn, false); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	session.RegisterUUID(conn.TypeMap())
	// The statements join, sort and hash whole tables.
	_, err = conn.Exec(ctx, "SET work_mem = '128MB'; SET maintenance_work_mem = '256MB'; SET jit = off; "+
		"SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'") // from PostgreSQL 17 on
	return conn, err
}

// stream runs a query and calls do for each row as it arrives.
func stream[R any](ctx context.Context, tx pgx.Tx, query string, do func(R) error, arguments ...any) error {
	rows, err := tx.Query(ctx, query, arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		read, err := pgx.RowToStructByPos[R](rows)
		if err != nil {
			return err
		}
		if err := do(read); err != nil {
			return err
		}
	}
	return rows.Err()
}

// targetDigester computes the digests of Berth's tables while it reads them.
type targetDigester struct {
	digests digests
	// kindTime is the start of the import, which is the time of rows that had none.
	kindTime time.Time
	// coarse reports that the other side has whole seconds and single-precision ratios.
	coarse bool
}

func (s *targetDigester) put(table string, cells ...any) error {
	d := s.digests.of(table)
	d.rows++
	d.add(hashOf(cells...))
	return nil
}

func (s *targetDigester) made(at time.Time) *time.Time {
	if at.Equal(s.kindTime) {
		return nil
	}
	return s.changed(&at)
}

func (s *targetDigester) changed(at *time.Time) *time.Time {
	if at == nil || !s.coarse {
		return at
	}
	second := at.Truncate(time.Second)
	return &second
}

func (s *targetDigester) ratio(exact float64) float64 {
	if !s.coarse {
		return exact
	}
	return shortest(exact)
}

// targetDigests reads all data of Berth that OpenStack Placement also stores. It counts only the given
// names; nil counts all.
func targetDigests(ctx context.Context, tx pgx.Tx, moment time.Time, traits, classes map[string]bool) (digests, error) {
	s := &targetDigester{digests: digests{}, kindTime: moment}
	return s.digests, s.read(ctx, tx, traits, classes)
}

func (s *targetDigester) read(ctx context.Context, tx pgx.Tx, traits, classes map[string]bool) error {
	steps := []func() error{
		func() error {
			return stream(ctx, tx, db.PlacementRowClasses, func(r db.ResourceClass) error {
				return s.putName("resource_classes", r.Name, classes)
			})
		},
		func() error {
			return stream(ctx, tx, db.PlacementRowTraits, func(r db.Trait) error { return s.putName("traits", r.Name, traits) })
		},
		func() error {
			return stream(ctx, tx, db.PlacementRowAggregates, func(r db.Aggregate) error {
				return s.put("aggregates", r.Uuid, s.made(r.CreatedAt))
			})
		},
		func() error { return s.owners(ctx, tx) },
		func() error { return s.trees(ctx, tx) },
		func() error { return s.claims(ctx, tx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("read the tables of Berth: %w", err)
		}
	}
	return nil
}

func (s *targetDigester) putName(table, name string, among map[string]bool) error {
	if among != nil && !among[name] {
		return nil
	}
	return s.put(table, name)
}

func (s *targetDigester) owners(ctx context.Context, tx pgx.Tx) error {
	err := stream(ctx, tx, db.PlacementRowProjects, func(r db.Project) error {
		return s.put("projects", r.ExternalID, s.made(r.CreatedAt))
	})
	if err != nil {
		return err
	}
	err = stream(ctx, tx, db.PlacementRowUsers, func(r db.User) error {
		return s.put("users", r.ExternalID, s.made(r.CreatedAt))
	})
	if err != nil {
		return err
	}
	return stream(ctx, tx, db.PlacementRowConsumerTypes, func(r db.ConsumerType) error {
		return s.put("consumer_types", r.Name, s.made(r.CreatedAt))
	})
}

func (s *targetDigester) trees(ctx context.Context, tx pgx.Tx) error {
	err := stream(ctx, tx, db.PlacementRowProviders, func(r db.PlacementRowProvidersRow) error {
		return s.put("resource_providers", r.Uuid, r.Name, r.Generation, r.RootUuid, r.ParentUuid, s.made(r.CreatedAt), s.changed(r.UpdatedAt))
	})
	if err != nil {
		return err
	}
	err = stream(ctx, tx, db.PlacementRowProviderTraits, func(r db.PlacementRowProviderTraitsRow) error {
		return s.put("provider_traits", r.ProviderUuid, r.TraitName)
	})
	if err != nil {
		return err
	}
	return stream(ctx, tx, db.PlacementRowProviderAggregates, func(r db.PlacementRowProviderAggregatesRow) error {
		return s.put("provider_aggregates", r.ProviderUuid, r.AggregateUuid)
	})
}

func (s *targetDigester) claims(ctx context.Context, tx pgx.Tx) error {
	err := stream(ctx, tx, db.PlacementRowInventories, func(r db.PlacementRowInventoriesRow) error {
		s.digests.of(usageSums).amount(hashOf(r.ProviderUuid, r.ClassName), r.Used)
		return s.put("inventories", r.ProviderUuid, r.ClassName, r.Total, r.Reserved, r.MinUnit, r.MaxUnit, r.StepSize,
			s.ratio(r.AllocationRatio), s.made(r.CreatedAt), s.changed(r.UpdatedAt))
	})
	if err != nil {
		return err
	}
	err = stream(ctx, tx, db.PlacementRowConsumers, func(r db.PlacementRowConsumersRow) error {
		return s.put("consumers", r.Uuid, r.Generation, r.Project, r.Owner, r.TypeName, s.made(r.CreatedAt), s.changed(r.UpdatedAt))
	})
	if err != nil {
		return err
	}
	sum := s.digests.of("allocations")
	return stream(ctx, tx, db.PlacementRowAllocations, func(r db.PlacementRowAllocationsRow) error {
		sum.rows++
		sum.addTimes(hashOf(r.ConsumerUuid, r.ProviderUuid, r.ClassName), r.Used)
		return nil
	})
}
