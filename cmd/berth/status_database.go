package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/store"
)

// The oldest PostgreSQL that has what the statements use.
const oldestPostgreSQL = 14

// upgradeChecks makes all checks. The database is left out where the settings are
// wrong: nobody could say which it is. The error is that of a check that could not be
// made.
func (p *process) upgradeChecks(c *cobra.Command, settings *Settings, warnings []string, wrong error) (checks []checked, err error) {
	checks = []checked{settingCheck(settings, warnings, wrong)}
	if wrong != nil {
		return checks, nil
	}
	checks = append(checks, policyChecks(settings)...)
	log := newLogger(settings, p.stderr)
	stop := p.stopOnSignals(c.Context())
	defer stop.done()
	patience, giveUp := patienceOf(stop, supervisorPatience)
	defer giveUp()
	opened, err := openDatabase(stop.asked, settings, log, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.close(patience)) }()
	more, err := databaseChecks(stop.asked, opened, settings)
	return append(checks, more...), err
}

// databaseChecks are those of the schema, of PostgreSQL and of what is stored. Without a
// schema of ours there is nothing to ask for the last.
func databaseChecks(ctx context.Context, d *database, settings *Settings) ([]checked, error) {
	status, err := migrate.GetStatus(ctx, d.direct)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, d.direct)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	version, err := postgresVersion(ctx, conn)
	checks := []checked{schemaCheck(status), version}
	if err != nil || status.Version == 0 || stateOf(status) == behind {
		return checks, err
	}
	// The first two are of the service before: constraints keep what they looked for
	// out of this database.
	checks = append(checks, passed("Missing Root Provider IDs"), passed("Incomplete Consumers"))
	imported, err := importCheck(ctx, conn)
	if err != nil {
		return nil, err
	}
	planner, err := plannerCheck(ctx, d, settings)
	return append(checks, imported, planner), err
}

func schemaCheck(status migrate.Status) checked {
	const name = "Database Schema"
	switch stateOf(status) {
	case foreign:
		return found(name, checkFailure, migrate.ErrForeign.Error())
	case behind:
		return found(name, checkFailure, fmt.Sprintf(
			"the schema is at version %d with SQL functions %d, this berth has version %d with functions %d: run 'berth db sync'",
			status.Version, status.Installed.Number, status.Latest, status.Known.Number))
	case newer:
		return found(name, checkWarning, fmt.Sprintf(
			"a newer berth was here: the schema is at version %d with SQL functions %d, this berth knows version %d with functions %d. It serves, as in a rolling upgrade",
			status.Version, status.Installed.Number, status.Latest, status.Known.Number))
	}
	return passed(name)
}

func postgresVersion(ctx context.Context, conn *pgx.Conn) (checked, error) {
	const name = "PostgreSQL Version"
	var number int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return checked{}, fmt.Errorf("ask PostgreSQL for its version: %w", err)
	}
	if number/10000 < oldestPostgreSQL {
		return found(name, checkFailure, fmt.Sprintf("this is PostgreSQL %d; Berth needs %d or newer", number/10000, oldestPostgreSQL)), nil
	}
	return passed(name), nil
}

// importCheck looks for an import that was begun and did not end.
func importCheck(ctx context.Context, conn *pgx.Conn) (checked, error) {
	const name = "Interrupted Import"
	var source string
	err := conn.QueryRow(ctx, "SELECT source FROM legacy_imports WHERE finished_at IS NULL").Scan(&source)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return passed(name), nil
	case err != nil:
		return checked{}, fmt.Errorf("look for an import: %w", err)
	}
	return found(name, checkFailure, "the import of "+source+" has not ended: run the same 'berth import' again, which goes on where it stopped"), nil
}

// plannerCheck sees what requests would see, through a pooler where there is one.
func plannerCheck(ctx context.Context, d *database, settings *Settings) (checked, error) {
	const name = "Planner Settings"
	opened, err := store.Open(ctx, store.Options{URL: d.url, MaxConns: 1, Pooler: settings.DBPooler == "transaction"})
	if err != nil {
		return checked{}, err
	}
	defer opened.Close()
	lacking, err := opened.Unset(ctx)
	if err != nil || len(lacking) == 0 {
		return passed(name), err
	}
	var texts []string
	for setting, value := range lacking {
		wanted := store.PlannerSettings()[setting]
		texts = append(texts, fmt.Sprintf("%s is %s where requests arrive and should be %s: ALTER DATABASE name SET %s = '%s'",
			setting, value, wanted, setting, wanted))
	}
	slices.Sort(texts)
	return found(name, checkWarning, texts...), nil
}
