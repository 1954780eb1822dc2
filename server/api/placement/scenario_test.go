package placement_test

import (
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/scenario"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/wire/inside"
	"github.com/berthd/berth/server/wire/microversion"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// serve starts the server of a file. Each server creates its own route table, and the API of a microversion at its
// first request. That takes 2 ms, and 12 ms more for the first request with a body, so files need not share servers.
func serve(t testing.TB, file *scenario.File) scenario.Server {
	t.Helper()
	return serveOn(t, file, dbtest.NewWithInvariantTriggers(t))
}

func serveOn(t testing.TB, file *scenario.File, db *dbtest.DB) scenario.Server {
	t.Helper()
	made := servertest.ForScenario(t, file, db, servertest.Log(t))
	return scenario.Server{DB: db, Handler: made.Handler}
}

func TestScenario_Files_AllPass(t *testing.T) {
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
		return // -run selected some of the files, which cannot cover all rows
	}
	for _, row := range promises.Unsatisfied(seen, routes()) {
		t.Errorf("no scenario covers: %s", row)
	}
}

// expanded applies what the next version may do to the schema while this version still serves it (docs/deployment.md):
// each table has an additional column and an additional index, and there is an additional table. Statements that read
// or write all columns, and functions that return a whole row, fail. The column is generated, so that expectations of
// whole rows still hold.
const expanded = `
	DO $$ DECLARE known regclass; BEGIN
		FOR known IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
			EXECUTE format('ALTER TABLE %s ADD COLUMN of_the_next_version text GENERATED ALWAYS AS (%L) STORED', known, 'new');
		END LOOP;
	END $$;
	CREATE TABLE next_version (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, provider_id bigint REFERENCES resource_providers ON DELETE CASCADE);
	CREATE INDEX of_the_next_version ON resource_providers (of_the_next_version)`

// TestMigration_NextSchemaAndServiceRole_ScenariosPass simulates a rolling upgrade: servers of this version use a database
// that the first server of the next version has migrated. They have the privileges of 'berth db roles' for the service,
// which must suffice for every request. The requests pass the transport of package inside, which must not change a byte.
func TestMigration_NextSchemaAndServiceRole_ScenariosPass(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	files, err := scenario.Load(os.DirFS("testdata/scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	suite := scenario.Suite{Always: wrongWithAnyAnswer, Serve: func(t testing.TB, file *scenario.File) scenario.Server {
		db := dbtest.NewWithInvariantTriggers(t, expanded)
		roles := migrate.DefaultRoles
		roles.Database = db.Name
		service := *db
		roles.Service, service.URL = dbtest.Role(t, db, "service")
		roles.ReadOnly, _ = dbtest.Role(t, db, "readonly")
		if err := db.Pool.QueryRow(t.Context(), "SELECT current_user").Scan(&roles.Owner); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Pool.Exec(t.Context(), roles.Statements()); err != nil {
			t.Fatal(err)
		}
		server := serveOn(t, file, &service)
		transport := inside.Serve(server.Handler, servertest.Log(t))
		t.Cleanup(func() { _ = transport.Close() })
		server.Handler = handOn(transport)
		return server
	}}
	suite.Run(t, files)
}

// handOn forwards requests to the transport, so that scenarios, which need a socket, reach it.
func handOn(transport http.RoundTripper) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		inner := r.Clone(r.Context())
		inner.RequestURI, inner.URL.Scheme, inner.URL.Host = "", "http", "berth"
		response, err := transport.RoundTrip(inner)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = response.Body.Close() }()
		maps.Copy(w.Header(), response.Header)
		w.WriteHeader(response.StatusCode)
		if _, err := io.Copy(w, response.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// routes returns all paths of the API.
func routes() []string {
	var paths []string
	for _, operation := range server.Table(server.Options{}).Operations() {
		paths = append(paths, operation.Path)
	}
	return slices.Compact(paths)
}

// TestOpenAPI_Contract_CoversEveryVariant fails when an operation, or a microversion
// that changes one, was added to the table and not to the list.
func TestOpenAPI_Contract_CoversEveryVariant(t *testing.T) {
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
					t.Errorf("%s: no row for this version", row)
				}
			}
		}
	}
}
