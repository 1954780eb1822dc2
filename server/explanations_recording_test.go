package server_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explainlog"
)

// TestExplain_RecordingOn_CostsNoRoundTrip compares a server that records with one that does not.
func TestExplain_RecordingOn_CostsNoRoundTrip(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	trips := map[bool]int64{}
	for _, records := range []bool{true, false} {
		keep := time.Duration(0)
		if records {
			keep = time.Hour
		}
		s := newExplaining(t, db, keep)
		for range 10 {
			s.get(limitedQuery, "placement 1.39") // prepares statements, learns names and finds the reason
		}
		before := s.roundTrips()
		for range 50 {
			s.get(limitedQuery, "placement 1.39")
		}
		trips[records] = s.roundTrips() - before
	}
	if trips[true] != trips[false] || trips[false] == 0 {
		t.Errorf("round trips = %d with recording, %d without, want the same", trips[true], trips[false])
	}
}

// TestExplain_RecordingOn_OneMoreAllocation runs alone, because it counts the allocations of the process.
func TestExplain_RecordingOn_OneMoreAllocation(t *testing.T) {
	db := dbtest.New(t)
	handlers := map[bool]http.Handler{}
	for _, records := range []bool{true, false} {
		made := servertest.New(t, servertest.Options{DB: db, StandardNames: true, Server: func(options *server.Options) {
			settings := explainlog.Settings{Timeout: time.Second}
			if records {
				settings.Keep = time.Hour
			}
			// It is not started: its queue takes 1,000 records.
			options.Explanations = explainlog.New(explainlog.Options{Settings: settings, Store: options.Store, Log: slog.New(slog.DiscardHandler)})
		}})
		handlers[records] = made.Handler
	}
	least := map[bool]float64{}
	for range 5 {
		for records, handler := range handlers {
			s := &explaining{Server: &servertest.Server{Handler: handler}, t: t}
			count := testing.AllocsPerRun(100, func() { s.get(limitedQuery, "placement 1.39") })
			if known, ok := least[records]; !ok || count < known {
				least[records] = count
			}
		}
	}
	if least[true] > least[false]+1 {
		t.Errorf("allocations = %v with recording, %v without, want at most one more", least[true], least[false])
	}
}

// TestExplain_MoreThanRateOrQueue_AllAnsweredAndCounted sends more empty queries than the writer accepts in a second,
// if the machine sends them within one, or than fit into the queue of a log that writes nothing.
func TestExplain_MoreThanRateOrQueue_AllAnsweredAndCounted(t *testing.T) {
	t.Parallel()
	const sent = 1100
	for _, writes := range []bool{true, false} {
		t.Run(fmt.Sprintf("writes %t", writes), func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			want := newExplaining(t, db, 0).get(limitedQuery, "placement 1.39").Body.String()
			s := &explaining{t: t}
			s.Server = servertest.New(t, servertest.Options{DB: db, StandardNames: true, Server: func(options *server.Options) {
				s.log = explainlog.New(explainlog.Options{
					Settings: explainlog.Settings{Keep: time.Hour, Rows: 10_000, Timeout: time.Second}, Store: options.Store, Log: slog.New(slog.DiscardHandler),
				})
				options.Explanations = s.log
			}})
			if writes {
				s.log.Start()
			}
			for range sent {
				if w := s.get(limitedQuery, "placement 1.39"); w.Code != http.StatusOK || w.Body.String() != want {
					t.Fatalf("response = %d %s, want %s", w.Code, w.Body, want)
				}
			}
			if !writes {
				s.log.Start() // Close writes the queue
			}
			s.log.Close(t.Context())
			var recorded, counted, dropped int
			if err := db.Pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM explanation_requests), (SELECT sum(requests) FROM explanations)").
				Scan(&recorded, &counted); err != nil {
				t.Fatal(err)
			}
			metrics := s.get("/metrics", "placement 1.39").Body.String()
			for line := range strings.SplitSeq(metrics, "\n") {
				if name, value, _ := strings.Cut(line, " "); strings.HasPrefix(name, "berth_explanations_dropped_total{") {
					var one int
					_, _ = fmt.Sscan(value, &one)
					dropped += one
				}
			}
			if recorded+dropped != sent || recorded != counted || recorded < 200 || !writes && dropped < 100 {
				t.Errorf("recorded = %d (%d counted), dropped = %d, want %d in total", recorded, counted, dropped, sent)
			}
			if line := fmt.Sprintf("berth_allocation_candidates_empty_total{reason=\"typo\"} %d\n", sent); !strings.Contains(metrics, line) {
				t.Errorf("metrics lack %s", line)
			}
		})
	}
}

// TestExplain_RuleOfParameter_DeniedByPersona has a policy in which every caller may list candidates. The parameter needs
// its own rule.
func TestExplain_RuleOfParameter_DeniedByPersona(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("\"placement:allocation_candidates:list\": \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, _, err := policy.Open(policy.Defaults(), policy.Files{Main: file, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &explaining{t: t, Server: servertest.New(t, servertest.Options{StandardNames: true, Server: func(options *server.Options) {
		options.Policy, options.BaremetalPolicy = rules, rules
	}})}
	for _, c := range []struct{ target, want string }{
		{limitedQuery, "yyyyyyss"}, {limitedQuery + "&explain=empty", "yyy---ss"}, {limitedQuery + "&explain=always", "yyy---ss"},
	} {
		var got strings.Builder
		for _, persona := range personas {
			w := s.get(c.target, withExplanations, append([]string{"X-Auth-Token", "u:mine"}, persona.headers...)...)
			switch body := w.Body.String(); {
			case w.Code == http.StatusOK:
				got.WriteByte('y')
			case w.Code == http.StatusForbidden && strings.Contains(body, "Policy does not allow berth:explanations:make to be performed."):
				got.WriteByte('-')
			case w.Code == http.StatusForbidden:
				got.WriteByte('s')
			default:
				t.Errorf("%s: status = %d: %s", persona.name, w.Code, body)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: decisions = %s, want %s", c.target, &got, c.want)
		}
	}
}
