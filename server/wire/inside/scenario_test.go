package inside_test

import (
	"io"
	"maps"
	"net/http"
	"os"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/scenario"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/wire/inside"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// TestInProcess_Scenarios_AllPass runs the scenarios of the server on a socket with responses from a
// transport.
func TestInProcess_Scenarios_AllPass(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	files, err := scenario.Load(os.DirFS("../../api/placement/testdata/scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	suite := scenario.Suite{Serve: func(t testing.TB, file *scenario.File) scenario.Server {
		db := dbtest.NewWithInvariantTriggers(t)
		made := servertest.ForScenario(t, file, db, quiet)
		transport := inside.Serve(made.Handler, quiet)
		t.Cleanup(func() { _ = transport.Close() })
		return scenario.Server{DB: db, Handler: handOn(transport)}
	}}
	suite.Run(t, files)
}

// handOn forwards requests to the transport, so that scenarios, which need a socket, reach it.
func handOn(transport http.RoundTripper) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		inner := r.Clone(r.Context())
		inner.RequestURI, inner.URL.Scheme, inner.URL.Host = "", "http", "berth"
		answer, err := transport.RoundTrip(inner)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = answer.Body.Close() }()
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		if _, err := io.Copy(w, answer.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
