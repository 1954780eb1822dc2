package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/server/data/postgres"
	dbsession "github.com/berthd/berth/server/data/session"
)

// session is a connection with one transaction that executes EXPLAIN.
type session struct {
	conn *pgx.Conn
	// text is set if the report has plans in EXPLAIN's text format.
	text bool
	// noNested is the reason why the statements inside functions are not shown; empty: they are shown.
	noNested string
	// notices has the plans that auto_explain sent for the current statement.
	notices []string
}

// newSession connects with the planner settings of the server and begins a transaction, which is read-only unless writes
// is set.
func newSession(ctx context.Context, options Options, writes bool) (*session, error) {
	config, err := pgx.ParseConfig(options.DirectURL)
	if err != nil {
		return nil, err
	}
	if options.Pooler {
		dbsession.SetPooled(config)
	} else {
		dbsession.Set(config)
		maps.Copy(config.RuntimeParams, postgres.PlannerSettings())
	}
	s := &session{text: options.Text}
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
		if plan, found := strings.CutPrefix(notice.Message, "duration: "); found {
			s.notices = append(s.notices, plan)
		}
	}
	if s.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, writes); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *session) begin(ctx context.Context, writes bool) (err error) {
	if s.noNested, err = s.loadAutoExplain(ctx); err != nil {
		return err
	}
	if err := s.exec(ctx, fmt.Sprintf("SET lock_timeout = %d", lockTimeout.Milliseconds())); err != nil {
		return err
	}
	begin := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	if writes {
		begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
	}
	return s.exec(ctx, begin)
}

// close ends the connection, and with it the transaction.
func (s *session) close() error { return s.conn.Close(context.Background()) }

// exec executes a statement without parameters.
func (s *session) exec(ctx context.Context, statement string) error {
	_, err := s.conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	return err
}

const isAutoExplainLoaded = "SELECT EXISTS (SELECT FROM pg_settings WHERE name = 'auto_explain.log_nested_statements')"

// loadAutoExplain loads and configures auto_explain for traced. It returns a reason if the role lacks the permission or
// PostgreSQL lacks the module.
func (s *session) loadAutoExplain(ctx context.Context) (reason string, err error) {
	var reported *pgconn.PgError
	if err := s.exec(ctx, "LOAD 'auto_explain'"); errors.As(err, &reported) {
		// session_preload_libraries may have loaded the module. SET cannot show this: without the module, it succeeds
		// for any role and has no effect.
		var loaded bool
		if err := s.conn.QueryRow(ctx, isAutoExplainLoaded).Scan(&loaded); err != nil {
			return "", err
		}
		if !loaded {
			return reported.Message, nil
		}
	} else if err != nil {
		return "", err
	}
	// At the level notice, PostgreSQL sends plans to this client and does not log them.
	for _, set := range []string{
		"SET auto_explain.log_min_duration = -1", "SET auto_explain.log_nested_statements = on",
		"SET auto_explain.log_analyze = on", "SET auto_explain.log_buffers = on", "SET auto_explain.log_timing = on",
		"SET auto_explain.log_level = notice", "SET auto_explain.sample_rate = 1",
		"SET auto_explain.log_verbose = off", "SET auto_explain.log_triggers = off", "SET client_min_messages = notice",
	} {
		if err := s.exec(ctx, set); errors.As(err, &reported) {
			return reported.Message, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}

// explain executes a statement without EXPLAIN first, and then with it. The first execution fills the plan cache for the
// statement and the functions that it calls, as on a used connection of the server.
func (s *session) explain(ctx context.Context, recorded Recorded) (Statement, error) {
	explained := Statement{Name: recorded.Name, SQL: recorded.SQL}
	prepared, err := s.conn.Prepare(ctx, "explained", recorded.SQL)
	if err != nil {
		return explained, err
	}
	if explained.Arguments, err = Literals(s.conn.TypeMap(), prepared.ParamOIDs, recorded.Args); err != nil {
		return explained, err
	}
	execute := "EXECUTE explained"
	if len(explained.Arguments) > 0 {
		execute += "(" + strings.Join(explained.Arguments, ", ") + ")"
	}
	rejected, err := s.trial(ctx, func() error { return s.exec(ctx, execute) })
	if err != nil {
		return explained, err
	}
	if rejected != nil {
		explained.Error = fmt.Sprintf("%s: %s", rejected.Code, rejected.Message)
	}
	if err := s.explainNested(ctx, &explained, execute); err != nil {
		return explained, err
	}
	if rejected == nil {
		if err := s.explainOuter(ctx, &explained, execute); err != nil {
			return explained, err
		}
	}
	return explained, s.conn.Deallocate(ctx, "explained")
}

// explainOuter adds the plans of a statement that succeeds. auto_explain is off meanwhile, because it would add to the
// measured time.
func (s *session) explainOuter(ctx context.Context, explained *Statement, execute string) error {
	document, err := s.plan(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+execute)
	if err == nil && s.text {
		explained.Text, err = s.plan(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+execute)
	}
	if err != nil {
		return err
	}
	return explained.read([]byte(document))
}

// explainNested adds the plans of the nested statements. For a rejected statement, these are the nested statements
// before the error.
func (s *session) explainNested(ctx context.Context, explained *Statement, execute string) error {
	if s.noNested != "" {
		return nil
	}
	messages, err := s.traced(ctx, "SET LOCAL auto_explain.log_format = json", execute)
	if err != nil {
		return err
	}
	if explained.Nested, err = readNested(explained.SQL, messages); err != nil || !s.text || len(explained.Nested) == 0 {
		return err
	}
	messages, err = s.traced(ctx, "SET LOCAL auto_explain.log_format = text", execute)
	for _, message := range messages {
		if !strings.Contains(message, "plan:\nQuery Text: "+explained.SQL) {
			explained.NestedText = append(explained.NestedText, message)
		}
	}
	return err
}

// traced executes a statement and returns the messages of auto_explain, even if PostgreSQL rejects the statement.
func (s *session) traced(ctx context.Context, setFormat, execute string) ([]string, error) {
	s.notices = nil
	_, err := s.trial(ctx, func() error {
		for _, set := range []string{setFormat, "SET LOCAL auto_explain.log_min_duration = 0"} {
			if err := s.exec(ctx, set); err != nil {
				return err
			}
		}
		return s.exec(ctx, execute)
	})
	return s.notices, err
}

// trial calls run in a savepoint and always rolls back to it. rejected is the error of PostgreSQL, for example an
// SQLSTATE of Berth's functions; err is any other error.
func (s *session) trial(ctx context.Context, run func() error) (rejected *pgconn.PgError, err error) {
	if err := s.exec(ctx, "SAVEPOINT trial"); err != nil {
		return nil, err
	}
	if err := run(); err != nil && !errors.As(err, &rejected) {
		return nil, err
	}
	return rejected, s.exec(ctx, "ROLLBACK TO SAVEPOINT trial")
}

// plan returns the output of EXPLAIN for a statement that succeeds.
func (s *session) plan(ctx context.Context, explain string) (text string, err error) {
	rejected, err := s.trial(ctx, func() error {
		rows, err := s.conn.Query(ctx, explain, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		text = strings.Join(lines, "\n")
		return err
	})
	if err == nil && rejected != nil {
		err = rejected
	}
	return text, err
}
