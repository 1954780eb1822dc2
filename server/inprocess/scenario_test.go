package inprocess_test

import (
	"io"
	"maps"
	"net/http"
	"os"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/scenario"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/inprocess"
)

// settings lists what a scenario file may configure in its server.
type settings struct {
	EnforceNewDefaults  *bool    `yaml:"enforce_new_defaults"`
	IncompleteProject   string   `yaml:"incomplete_project"`
	IncompleteUser      string   `yaml:"incomplete_user"`
	Prefix              string   `yaml:"prefix"`
	CORSAllowedOrigins  []string `yaml:"cors_allowed_origins"`
	CORSAllowHeaders    []string `yaml:"cors_allow_headers"`
	MaxBodyBytes        int64    `yaml:"max_body_bytes"`
	MaxCandidates       *int     `yaml:"max_candidates"`
	CandidateStrategy   string   `yaml:"candidate_strategy"`
	RandomizeCandidates bool     `yaml:"randomize_candidates"`
}

// TestInProcess_Scenarios_AllPass runs the scenarios of the server on a socket with responses from a
// transport.
func TestInProcess_Scenarios_AllPass(t *testing.T) {
	t.Parallel()
	files, err := scenario.Load(os.DirFS("../placement/testdata/scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	suite := scenario.Suite{Serve: func(t testing.TB, file *scenario.File) scenario.Server {
		wanted := settings{
			IncompleteProject: "00000000-0000-0000-0000-000000000000", IncompleteUser: "00000000-0000-0000-0000-000000000000",
			MaxBodyBytes: 1 << 20, MaxCandidates: new(-1), EnforceNewDefaults: new(true),
		}
		if err := file.DecodeSettings(&wanted); err != nil {
			t.Fatalf("settings: %v", err)
		}
		db := dbtest.NewWithInvariantTriggers(t)
		made := servertest.New(t, servertest.Options{DB: db, Server: func(options *server.Options) {
			*options = server.Options{
				Store: options.Store, Log: quiet, EnforceNewDefaults: *wanted.EnforceNewDefaults,
				IncompleteProject: wanted.IncompleteProject, IncompleteUser: wanted.IncompleteUser, Prefix: wanted.Prefix,
				CORSAllowedOrigins: wanted.CORSAllowedOrigins, CORSAllowHeaders: wanted.CORSAllowHeaders, MaxBodyBytes: wanted.MaxBodyBytes,
				MaxCandidates: *wanted.MaxCandidates, CandidateStrategy: wanted.CandidateStrategy, RandomizeCandidates: wanted.RandomizeCandidates,
			}
		}})
		transport := inprocess.Serve(made.Handler, quiet)
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
