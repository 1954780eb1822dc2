package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/open"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/session"
	"github.com/berthd/berth/server/data/store"
)

// oldestPostgreSQL is the oldest PostgreSQL version that supports the statements, as
// server_version_num.
const oldestPostgreSQL = 14

// upgradeChecks runs all checks, and returns a description of the database. It skips the database if the settings are
// invalid, because the database is then unknown. The error is that of a check that cannot run.
func upgradeChecks(
	f *frame.Frame, c *cobra.Command, settings *config.Settings, warnings []string, wrong error,
) (checks []checked, database string, err error) {
	checks, database = []checked{settingCheck(settings, warnings, wrong)}, settings.Database()
	if wrong != nil {
		return checks, database, nil
	}
	checks = append(checks, policyChecks(settings)...)
	if open.MissingCluster(settings) {
		return append(checks, missingCluster(settings)), database, nil
	}
	log := open.Logger(settings, f.Stderr)
	stop := f.StopOnSignals(c.Context())
	defer stop.Done()
	closing, giveUp := open.CloseContext(stop, open.SystemdStopTimeout)
	defer giveUp()
	opened, err := open.Postgres(stop.Asked, settings, config.CommandApplication(c.CommandPath()), log, true)
	if err != nil {
		return nil, database, err
	}
	defer func() { err = errors.Join(err, opened.Close(closing)) }()
	more, err := databaseChecks(stop.Asked, opened, settings)
	return append(checks, more...), opened.Description, err
}

// missingCluster is the check of an embedded PostgreSQL that 'berth serve' has not created yet. It is no failure, because
// 'berth serve' creates it.
func missingCluster(settings *config.Settings) checked {
	where := "the default directory"
	if settings.DataDir != "" {
		where = settings.DataDir
	}
	return found("Database Schema", checkWarning, "'berth serve' will create a database; until then there is none in "+where)
}

// databaseChecks checks the schema, PostgreSQL and the stored data. Without Berth's schema it
// skips the data.
func databaseChecks(ctx context.Context, d *open.Database, settings *config.Settings) ([]checked, error) {
	suitable, err := serverSettingsCheck(ctx, d)
	if err != nil || suitable.Result == checkFailure {
		return []checked{suitable}, err // the other checks would fail because of the settings
	}
	status, err := migrate.GetStatus(ctx, d.Direct)
	if err != nil {
		return nil, err
	}
	conn, err := migrate.Connect(ctx, d.Direct)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	version, err := postgresVersion(ctx, conn)
	checks := []checked{suitable, schemaCheck(status), version}
	if err != nil || status.Version == 0 || status.State() == migrate.StateOutdated {
		return checks, err
	}
	// The first two are checks of placement-status; constraints of Berth's schema prevent the
	// rows that they search.
	checks = append(checks, passed("Missing Root Provider IDs"), passed("Incomplete Consumers"))
	imported, err := importCheck(ctx, conn)
	if err != nil {
		return nil, err
	}
	planner, err := plannerCheck(ctx, d, settings)
	return append(checks, imported, planner), err
}

// serverSettingsCheck checks the settings on which the behavior of Berth depends: a failure if 'berth serve' would not
// start with them, a warning if PostgreSQL may lose acknowledged writes.
func serverSettingsCheck(ctx context.Context, d *open.Database) (checked, error) {
	const name = "PostgreSQL Settings"
	conn, err := session.Connect(ctx, d.Direct)
	if err != nil {
		return checked{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	read, err := session.Read(ctx, conn, false)
	if err != nil {
		return checked{}, err
	}
	if err := read.Check(true); err != nil {
		return found(name, checkFailure, err.Error()), nil
	}
	var texts []string
	for _, loss := range read.Losses() {
		texts = append(texts, fmt.Sprintf("%s is %s: %s; %s", loss.Setting, loss.Value, loss.Effect, loss.Remedy))
	}
	if len(texts) > 0 {
		return found(name, checkWarning, texts...), nil
	}
	return passed(name), nil
}

func schemaCheck(status migrate.Status) checked {
	const name = "Database Schema"
	switch status.State() {
	case migrate.StatePlacement:
		return found(name, checkFailure, migrate.ErrForeign.Error())
	case migrate.StateOutdated:
		outdated := found(name, checkFailure, fmt.Sprintf(
			"the schema is at version %d with SQL functions %d, this berth has version %d with functions %d: run 'berth db sync'",
			status.Version, status.Installed.Number, status.Latest, status.Known.Number))
		outdated.migrates = true
		return outdated
	case migrate.StateNewer:
		return found(name, checkWarning, fmt.Sprintf(
			"a newer berth has migrated the database: the schema is at version %d with SQL functions %d, this berth has version %d with functions %d. It can serve, as in a rolling upgrade",
			status.Version, status.Installed.Number, status.Latest, status.Known.Number))
	}
	return passed(name)
}

func postgresVersion(ctx context.Context, conn *pgx.Conn) (checked, error) {
	const name = "PostgreSQL Version"
	var number int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&number); err != nil {
		return checked{}, fmt.Errorf("cannot read the version of PostgreSQL: %w", err)
	}
	if number/10000 < oldestPostgreSQL {
		return found(name, checkFailure, fmt.Sprintf("this is PostgreSQL %d; Berth needs %d or newer", number/10000, oldestPostgreSQL)), nil
	}
	return passed(name), nil
}

// importCheck checks for an import that has started and not finished.
func importCheck(ctx context.Context, conn *pgx.Conn) (checked, error) {
	const name = "Interrupted Import"
	var source string
	err := conn.QueryRow(ctx, "SELECT source FROM import_state WHERE finished_at IS NULL").Scan(&source)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return passed(name), nil
	case err != nil:
		return checked{}, fmt.Errorf("cannot read the state of imports: %w", err)
	}
	return found(name, checkFailure, "the import of "+source+" has not finished: run the same 'berth import' again to resume it"), nil
}

// plannerCheck checks the planner settings of connections for requests, through the pooler if
// there is one.
func plannerCheck(ctx context.Context, d *open.Database, settings *config.Settings) (checked, error) {
	const name = "Planner Settings"
	opened, err := store.Open(ctx, postgres.Options{URL: d.URL, MaxConns: 1, Pooler: settings.DBPooler == "transaction"})
	if errors.Is(err, session.ErrUnsuitable) { // behind a pooler
		return found(name, checkFailure, err.Error()), nil
	}
	if err != nil {
		return checked{}, err
	}
	defer opened.Close()
	lacking, err := opened.Pool().MissingPlannerSettings(ctx)
	if err != nil || len(lacking) == 0 {
		return passed(name), err
	}
	var texts []string
	for setting, value := range lacking {
		wanted := postgres.PlannerSettings()[setting]
		texts = append(texts, fmt.Sprintf("%s is %s on connections for requests and should be %s: ALTER DATABASE name SET %s = '%s'",
			setting, value, wanted, setting, wanted))
	}
	slices.Sort(texts)
	return found(name, checkWarning, texts...), nil
}
