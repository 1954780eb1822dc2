package servertest

import (
	"log/slog"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/scenario"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/cors"
)

// scenarioSettings are the settings of the server that a file of scenarios may contain.
type scenarioSettings struct {
	EnforceNewDefaults  bool     `yaml:"enforce_new_defaults"`
	IncompleteProject   string   `yaml:"incomplete_project"`
	IncompleteUser      string   `yaml:"incomplete_user"`
	Prefix              string   `yaml:"prefix"`
	CORSAllowedOrigins  []string `yaml:"cors_allowed_origins"`
	CORSAllowHeaders    []string `yaml:"cors_allow_headers"`
	MaxBodyBytes        int64    `yaml:"max_body_bytes"`
	MaxCandidates       int      `yaml:"max_candidates"`
	CandidateStrategy   string   `yaml:"candidate_strategy"`
	RandomizeCandidates bool     `yaml:"randomize_candidates"`
}

// ForScenario starts a server on a database with the settings of a file. Settings that the file
// does not contain are the defaults of berth serve.
func ForScenario(t testing.TB, file *scenario.File, db *dbtest.DB, log *slog.Logger) *Server {
	t.Helper()
	const zero = "00000000-0000-0000-0000-000000000000"
	wanted := scenarioSettings{
		EnforceNewDefaults: true, IncompleteProject: zero, IncompleteUser: zero, MaxBodyBytes: 1 << 20, MaxCandidates: -1,
		CORSAllowHeaders: cors.Defaults().AllowHeaders,
	}
	if err := file.DecodeSettings(&wanted); err != nil {
		t.Fatalf("settings: %v", err)
	}
	return New(t, Options{DB: db, Server: func(options *server.Options) {
		options.Log, options.Prefix = log, wanted.Prefix
		options.Policy = policy.New(policy.Options{EnforceNewDefaults: wanted.EnforceNewDefaults, EnforceScope: true})
		options.AllowedHosts = []string{"placement.example.org"}
		options.CORS = cors.Defaults(wanted.CORSAllowedOrigins...)
		options.CORS.AllowHeaders = wanted.CORSAllowHeaders
		options.Bodies.Max = wanted.MaxBodyBytes
		options.Placement = placement.Options{
			IncompleteProject: wanted.IncompleteProject, IncompleteUser: wanted.IncompleteUser,
			Candidates: placement.CandidateOptions{
				Max: wanted.MaxCandidates, Strategy: wanted.CandidateStrategy, Randomize: wanted.RandomizeCandidates,
			},
		}
	}})
}
