package placement_test

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/scenario"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// settings are what a scenario file may set of its server.
type settings struct {
	EnforceNewDefaults *bool    `yaml:"enforce_new_defaults"`
	IncompleteProject  string   `yaml:"incomplete_project"`
	IncompleteUser     string   `yaml:"incomplete_user"`
	Prefix             string   `yaml:"prefix"`
	CORSAllowedOrigins []string `yaml:"cors_allowed_origins"`
	CORSAllowHeaders   []string `yaml:"cors_allow_headers"`
	MaxBodyBytes       int64    `yaml:"max_body_bytes"`
	// Without a maximum there is none; 0 is one candidate.
	MaxCandidates       *int   `yaml:"max_candidates"`
	CandidateStrategy   string `yaml:"candidate_strategy"`
	RandomizeCandidates bool   `yaml:"randomize_candidates"`
}

// serve makes the server of a file. A table of routes is built anew for each, the
// API of a microversion when it is first spoken: that takes 2 ms, and 12 ms more
// for the first request with a body, so files need not share them.
func serve(t testing.TB, file *scenario.File) scenario.Server {
	t.Helper()
	return serveOn(t, file, dbtest.Guarded(t))
}

func serveOn(t testing.TB, file *scenario.File, db *dbtest.DB) scenario.Server {
	t.Helper()
	wanted := settings{
		IncompleteProject: "00000000-0000-0000-0000-000000000000", IncompleteUser: "00000000-0000-0000-0000-000000000000",
		MaxBodyBytes: 1 << 20,
	}
	if err := file.DecodeSettings(&wanted); err != nil {
		t.Fatalf("settings: %v", err)
	}
	unlimited := -1
	if wanted.MaxCandidates == nil {
		wanted.MaxCandidates = &unlimited
	}
	opened, err := store.Open(t.Context(), store.Options{URL: db.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return scenario.Server{DB: db, Handler: server.New(server.Options{
		Store: opened, Log: slog.New(slog.NewTextHandler(testLog{t}, nil)),
		EnforceNewDefaults: wanted.EnforceNewDefaults == nil || *wanted.EnforceNewDefaults,
		IncompleteProject:  wanted.IncompleteProject, IncompleteUser: wanted.IncompleteUser,
		Prefix: wanted.Prefix, CORSAllowedOrigins: wanted.CORSAllowedOrigins, CORSAllowHeaders: wanted.CORSAllowHeaders,
		MaxBodyBytes:  wanted.MaxBodyBytes,
		MaxCandidates: *wanted.MaxCandidates, CandidateStrategy: wanted.CandidateStrategy, RandomizeCandidates: wanted.RandomizeCandidates,
	})}
}

// testLog shows the server's log with the test's.
type testLog struct{ t testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Logf("%s", line)
	return len(line), nil
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := scenario.Load(os.DirFS("testdata/scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	promises, err := scenario.ParsePromises(text)
	if err != nil {
		t.Fatal(err)
	}
	suite := scenario.Suite{Serve: serve, Always: wrongWithAnyAnswer}
	seen, complete := suite.Run(t, files)
	if !complete {
		return // a filter chose some of the files; they cannot show everything
	}
	for _, row := range promises.Broken(seen, routes()) {
		t.Errorf("no scenario shows: %s", row)
	}
}

// expanded is what the next version may do to a schema while this one still serves it
// (docs/running.md): every table has a column more, there is a table more, and what
// is there has an index more. A statement that reads or writes "all columns", or a
// function that returns a whole row, does not survive it. The column is generated, so
// that what a scenario says of whole rows still holds.
const expanded = `
	DO $$ DECLARE known regclass; BEGIN
		FOR known IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
			EXECUTE format('ALTER TABLE %s ADD COLUMN of_the_next_version text GENERATED ALWAYS AS (%L) STORED', known, 'new');
		END LOOP;
	END $$;
	CREATE TABLE next_version (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, provider_id bigint REFERENCES resource_providers ON DELETE CASCADE);
	CREATE INDEX of_the_next_version ON resource_providers (of_the_next_version)`

// TestTheScenariosHoldOnTheSchemaOfTheNextVersion: during a rolling upgrade servers of
// this version serve a database that the first server of the next has migrated.
func TestTheScenariosHoldOnTheSchemaOfTheNextVersion(t *testing.T) {
	t.Parallel()
	files, err := scenario.Load(os.DirFS("testdata/scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	suite := scenario.Suite{Always: wrongWithAnyAnswer, Serve: func(t testing.TB, file *scenario.File) scenario.Server {
		db := dbtest.Guarded(t)
		if _, err := db.Pool.Exec(t.Context(), expanded); err != nil {
			t.Fatal(err)
		}
		return serveOn(t, file, db)
	}}
	suite.Run(t, files)
}

// routes are all paths of the API.
func routes() []string {
	var paths []string
	for _, operation := range server.Table(server.Options{}).Operations() {
		paths = append(paths, operation.Path)
	}
	return slices.Compact(paths)
}

// TestTheListOfPromisesHasEveryVariant fails when an operation, or a microversion
// that changes one, was added to the table and not to the list.
func TestTheListOfPromisesHasEveryVariant(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	promises, err := scenario.ParsePromises(text)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, group := range promises.Groups {
		for _, row := range group.Rows {
			listed[group.Request+" "+row.Versions] = true
		}
	}
	for _, operation := range server.Table(server.Options{}).Operations() {
		for _, variant := range operation.Variants {
			for _, version := range []microversion.Version{variant.Since, variant.Since - 1} {
				row := strings.Join([]string{operation.Method, operation.Path, version.String()}, " ")
				if version >= microversion.Min && version <= microversion.Max && !listed[row] {
					t.Errorf("%s: no row for exactly this version", row)
				}
			}
		}
	}
}
