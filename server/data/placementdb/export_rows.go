package placementdb

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// exportRun writes rows to the tables of OpenStack Placement.
type exportRun struct {
	ExportOptions
	ours    pgx.Tx
	tx      *sql.Tx
	pending []any
	width   int
	into    string
	done    int64
	// folded contains the names so far in lower case, for MySQL, which compares names without case.
	folded map[string]bool
}

func (e *exportRun) rows(ctx context.Context) error {
	steps := []func(context.Context) error{
		e.names, e.owners, e.providers, e.inventories, e.consumers, e.allocations, e.sequences,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// table starts a table; done writes the remaining rows.
func (e *exportRun) table(ctx context.Context, name string, columns ...string) (done func(error) error) {
	e.into, e.width = "INSERT INTO "+name+" ("+strings.Join(columns, ", ")+") VALUES ", len(columns)
	return func(err error) error {
		if err == nil {
			err = e.flush(ctx)
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		return nil
	}
}

// put buffers a row and sends many rows in one statement, with no more values than every engine accepts.
func (e *exportRun) put(ctx context.Context, cells ...any) error {
	for _, cell := range cells {
		switch v := cell.(type) {
		case int32: // ids of names, values of inventories
			cell = int64(v)
		case *int32:
			if cell = nil; v != nil {
				cell = int64(*v)
			}
		case *int64:
			if cell = nil; v != nil {
				cell = *v
			}
		case int64:
			if v > math.MaxInt32 {
				return refuse("%d exceeds the range of a column of OpenStack Placement (%d)", v, math.MaxInt32)
			}
		case time.Time:
			cell = e.naive(v)
		case *time.Time:
			if v != nil {
				cell = e.naive(*v)
			}
		}
		e.pending = append(e.pending, cell)
	}
	if e.done++; e.done%10000 == 0 {
		e.Progress("writing", e.done, 0)
	}
	if len(e.pending) >= 4000 {
		return e.flush(ctx)
	}
	return nil
}

// naive returns a time in the format of SQLAlchemy.
func (e *exportRun) naive(at time.Time) string {
	if e.Target.engine == mariadb {
		return at.UTC().Format("2006-01-02 15:04:05")
	}
	return at.UTC().Format("2006-01-02 15:04:05.000000")
}

func (e *exportRun) flush(ctx context.Context) error {
	if len(e.pending) == 0 {
		return nil
	}
	var statement strings.Builder
	statement.WriteString(e.into)
	for n := range e.pending {
		switch {
		case n%e.width == 0 && n > 0:
			statement.WriteString("), (")
		case n%e.width == 0:
			statement.WriteString("(")
		default:
			statement.WriteString(", ")
		}
		if e.Target.engine == postgresql {
			fmt.Fprintf(&statement, "$%d", n+1)
		} else {
			statement.WriteString("?")
		}
	}
	statement.WriteString(")")
	_, err := e.tx.ExecContext(ctx, statement.String(), e.pending...)
	e.pending = e.pending[:0]
	return err
}

// fits rejects a name that is too long for the target, or that MySQL treats as equal to another.
func (e *exportRun) fits(column, name string, most int) error {
	if length := utf8.RuneCountInString(name); length > most {
		return refuse("the name %q has %d characters; column %s of OpenStack Placement allows %d", name, length, column, most)
	}
	key := column + " " + strings.ToLower(name)
	if e.Target.engine == mariadb && e.folded[key] {
		return refuse("the name %q differs from another only in case, which MySQL treats as equal in %s", name, column)
	}
	e.folded[key] = e.Target.engine == mariadb
	return nil
}

func exportNames[R any](ctx context.Context, e *exportRun, table, column, query string, cells func(R) (name string, row []any), columns ...string) error {
	return e.table(ctx, table, append([]string{"id", column}, columns...)...)(stream(ctx, e.ours, query, func(r R) error {
		name, row := cells(r)
		if err := e.fits(table+"."+column, name, 255); err != nil {
			return err
		}
		return e.put(ctx, row...)
	}))
}

func (e *exportRun) names(ctx context.Context) error {
	err := exportNames(ctx, e, "resource_classes", "name", db.PlacementRowClasses, func(r db.ResourceClass) (string, []any) {
		return r.Name, []any{r.ID, r.Name, r.CreatedAt, r.UpdatedAt}
	}, "created_at", "updated_at")
	if err != nil {
		return err
	}
	err = exportNames(ctx, e, "traits", "name", db.PlacementRowTraits, func(r db.Trait) (string, []any) {
		return r.Name, []any{r.ID, r.Name, r.CreatedAt, r.UpdatedAt}
	}, "created_at", "updated_at")
	if err != nil {
		return err
	}
	return exportNames(ctx, e, "placement_aggregates", "uuid", db.PlacementRowAggregates, func(r db.Aggregate) (string, []any) {
		return r.Uuid.String(), []any{r.ID, r.Uuid.String(), r.CreatedAt}
	}, "created_at")
}

func (e *exportRun) owners(ctx context.Context) error {
	err := exportNames(ctx, e, "projects", "external_id", db.PlacementRowProjects, func(r db.Project) (string, []any) {
		return r.ExternalID, []any{r.ID, r.ExternalID, r.CreatedAt}
	}, "created_at")
	if err != nil {
		return err
	}
	err = exportNames(ctx, e, "users", "external_id", db.PlacementRowUsers, func(r db.User) (string, []any) {
		return r.ExternalID, []any{r.ID, r.ExternalID, r.CreatedAt}
	}, "created_at")
	if err != nil {
		return err
	}
	return exportNames(ctx, e, "consumer_types", "name", db.PlacementRowConsumerTypes, func(r db.ConsumerType) (string, []any) {
		return r.Name, []any{r.ID, r.Name, r.CreatedAt}
	}, "created_at")
}

func (e *exportRun) providers(ctx context.Context) error {
	done := e.table(ctx, "resource_providers", "id", "uuid", "name", "generation", "root_provider_id", "parent_provider_id", "created_at", "updated_at")
	err := done(stream(ctx, e.ours, db.PlacementRowProviders, func(r db.PlacementRowProvidersRow) error {
		if err := e.fits("resource_providers.name", r.Name, 200); err != nil {
			return err
		}
		return e.put(ctx, r.ID, r.Uuid.String(), r.Name, r.Generation, r.RootID, r.ParentID, r.CreatedAt, r.UpdatedAt)
	}))
	if err != nil {
		return err
	}
	done = e.table(ctx, "resource_provider_traits", "resource_provider_id", "trait_id")
	err = done(stream(ctx, e.ours, db.PlacementRowProviderTraits, func(r db.PlacementRowProviderTraitsRow) error {
		return e.put(ctx, r.ProviderID, r.TraitID)
	}))
	if err != nil {
		return err
	}
	done = e.table(ctx, "resource_provider_aggregates", "resource_provider_id", "aggregate_id")
	return done(stream(ctx, e.ours, db.PlacementRowProviderAggregates, func(r db.PlacementRowProviderAggregatesRow) error {
		return e.put(ctx, r.ProviderID, r.AggregateID)
	}))
}

func (e *exportRun) inventories(ctx context.Context) error {
	done := e.table(ctx, "inventories", "id", "resource_provider_id", "resource_class_id", "total", "reserved", "min_unit", "max_unit",
		"step_size", "allocation_ratio", "created_at", "updated_at")
	number := int64(0)
	return done(stream(ctx, e.ours, db.PlacementRowInventories, func(r db.PlacementRowInventoriesRow) error {
		number++
		return e.put(ctx, number, r.ProviderID, r.ClassID, r.Total, r.Reserved, r.MinUnit, r.MaxUnit,
			r.StepSize, r.AllocationRatio, r.CreatedAt, r.UpdatedAt)
	}))
}

func (e *exportRun) consumers(ctx context.Context) error {
	done := e.table(ctx, "consumers", "id", "uuid", "project_id", "user_id", "generation", "consumer_type_id", "created_at", "updated_at")
	return done(stream(ctx, e.ours, db.PlacementRowConsumers, func(r db.PlacementRowConsumersRow) error {
		return e.put(ctx, r.ID, r.Uuid.String(), r.ProjectID, r.UserID, r.Generation, r.ConsumerTypeID, r.CreatedAt, r.UpdatedAt)
	}))
}

func (e *exportRun) allocations(ctx context.Context) error {
	done := e.table(ctx, "allocations", "id", "resource_provider_id", "consumer_id", "resource_class_id", "used", "created_at")
	return done(stream(ctx, e.ours, db.PlacementRowAllocations, func(r db.PlacementRowAllocationsRow) error {
		return e.put(ctx, r.ID, r.ProviderID, r.ConsumerUuid.String(), r.ClassID, r.Used, r.CreatedAt)
	}))
}

// sequences sets PostgreSQL's sequences to the highest ids; the other engines do so themselves.
func (e *exportRun) sequences(ctx context.Context) error {
	if e.Target.engine != postgresql {
		return nil
	}
	for _, t := range tables(true) {
		if len(t.key) == 2 || t.name == "resource_classes" {
			continue
		}
		_, err := e.tx.ExecContext(ctx, fmt.Sprintf(
			"SELECT setval(pg_get_serial_sequence('%[1]s', 'id'), coalesce((SELECT max(id) FROM %[1]s), 0) + 1, false)", t.name))
		if err != nil {
			return err
		}
	}
	return nil
}
