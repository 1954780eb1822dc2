package legacy

import (
	"context"
	"fmt"
	"time"

	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// connectTarget opens the one connection to our database that an import or export
// needs. Its statements are planned for the tables at hand, unlike those of requests.
func connectTarget(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	config.RuntimeParams["timezone"] = "UTC"
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	pgxuuid.Register(conn.TypeMap())
	// Whole tables are joined, sorted and hashed.
	_, err = conn.Exec(ctx, "SET work_mem = '128MB'; SET maintenance_work_mem = '256MB'; SET jit = off")
	return conn, err
}

// stream runs a query and hands over each row as it comes.
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

// summing are the digests of our tables while they are read.
type summing struct {
	digests digests
	// moment is when the import began: rows with that time had none.
	moment time.Time
	// coarse: the other side has whole seconds and ratios of single precision.
	coarse bool
}

func (s *summing) put(table string, cells ...any) error {
	d := s.digests.of(table)
	d.rows++
	d.add(hashOf(cells...))
	return nil
}

func (s *summing) made(at time.Time) *time.Time {
	if at.Equal(s.moment) {
		return nil
	}
	return s.changed(&at)
}

func (s *summing) changed(at *time.Time) *time.Time {
	if at == nil || !s.coarse {
		return at
	}
	second := at.Truncate(time.Second)
	return &second
}

func (s *summing) ratio(exact float64) float64 {
	if !s.coarse {
		return exact
	}
	return shortest(exact)
}

// targetDigests reads all that the Python service would know of our tables. Names are
// counted only where they are among those given; nil counts all.
func targetDigests(ctx context.Context, tx pgx.Tx, moment time.Time, traits, classes map[string]bool) (digests, error) {
	s := &summing{digests: digests{}, moment: moment}
	return s.digests, s.read(ctx, tx, traits, classes)
}

func (s *summing) read(ctx context.Context, tx pgx.Tx, traits, classes map[string]bool) error {
	steps := []func() error{
		func() error {
			return stream(ctx, tx, db.LegacyReadClasses, func(r db.ResourceClass) error {
				return s.putName("resource_classes", r.Name, classes)
			})
		},
		func() error {
			return stream(ctx, tx, db.LegacyReadTraits, func(r db.Trait) error { return s.putName("traits", r.Name, traits) })
		},
		func() error {
			return stream(ctx, tx, db.LegacyReadAggregates, func(r db.Aggregate) error {
				return s.put("aggregates", r.Uuid, s.made(r.CreatedAt))
			})
		},
		func() error { return s.owners(ctx, tx) },
		func() error { return s.trees(ctx, tx) },
		func() error { return s.claims(ctx, tx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("read our tables: %w", err)
		}
	}
	return nil
}

func (s *summing) putName(table, name string, among map[string]bool) error {
	if among != nil && !among[name] {
		return nil
	}
	return s.put(table, name)
}

func (s *summing) owners(ctx context.Context, tx pgx.Tx) error {
	err := stream(ctx, tx, db.LegacyReadProjects, func(r db.Project) error {
		return s.put("projects", r.ExternalID, s.made(r.CreatedAt))
	})
	if err != nil {
		return err
	}
	err = stream(ctx, tx, db.LegacyReadUsers, func(r db.User) error {
		return s.put("users", r.ExternalID, s.made(r.CreatedAt))
	})
	if err != nil {
		return err
	}
	return stream(ctx, tx, db.LegacyReadConsumerTypes, func(r db.ConsumerType) error {
		return s.put("consumer_types", r.Name, s.made(r.CreatedAt))
	})
}

func (s *summing) trees(ctx context.Context, tx pgx.Tx) error {
	err := stream(ctx, tx, db.LegacyReadProviders, func(r db.LegacyReadProvidersRow) error {
		return s.put("resource_providers", r.Uuid, r.Name, r.Generation, r.RootUuid, r.ParentUuid, s.made(r.CreatedAt), s.changed(r.UpdatedAt))
	})
	if err != nil {
		return err
	}
	err = stream(ctx, tx, db.LegacyReadProviderTraits, func(r db.LegacyReadProviderTraitsRow) error {
		return s.put("provider_traits", r.ProviderUuid, r.TraitName)
	})
	if err != nil {
		return err
	}
	return stream(ctx, tx, db.LegacyReadProviderAggregates, func(r db.LegacyReadProviderAggregatesRow) error {
		return s.put("provider_aggregates", r.ProviderUuid, r.AggregateUuid)
	})
}

func (s *summing) claims(ctx context.Context, tx pgx.Tx) error {
	err := stream(ctx, tx, db.LegacyReadInventories, func(r db.LegacyReadInventoriesRow) error {
		s.digests.of(usageSums).amount(hashOf(r.ProviderUuid, r.ClassName), r.Used)
		return s.put("inventories", r.ProviderUuid, r.ClassName, r.Total, r.Reserved, r.MinUnit, r.MaxUnit, r.StepSize,
			s.ratio(r.AllocationRatio), s.made(r.CreatedAt), s.changed(r.UpdatedAt))
	})
	if err != nil {
		return err
	}
	err = stream(ctx, tx, db.LegacyReadConsumers, func(r db.LegacyReadConsumersRow) error {
		return s.put("consumers", r.Uuid, r.Generation, r.Project, r.Owner, r.TypeName, s.made(r.CreatedAt), s.changed(r.UpdatedAt))
	})
	if err != nil {
		return err
	}
	sum := s.digests.of("allocations")
	return stream(ctx, tx, db.LegacyReadAllocations, func(r db.LegacyReadAllocationsRow) error {
		sum.rows++
		sum.addTimes(hashOf(r.ConsumerUuid, r.ProviderUuid, r.ClassName), r.Used)
		return nil
	})
}
