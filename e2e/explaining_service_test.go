package e2e

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/search/explainlog"
)

// explainingService is a server with a cloud that records and explains empty results.
type explainingService struct {
	*servertest.Server
	t            *testing.T
	explanations *explainlog.Log
	log          *serverLog
}

func newExplainingService(t *testing.T, cloud string) *explainingService {
	t.Helper()
	const timeout = 30 * time.Second
	made := &explainingService{t: t, log: &serverLog{}}
	made.Server = servertest.New(t, servertest.Options{StandardNames: true, Server: func(options *server.Options) {
		made.explanations = explainlog.New(explainlog.Options{
			Settings: explainlog.Settings{Keep: time.Hour, Rows: 1000, Timeout: timeout}, Store: options.Store,
			Log: slog.New(slog.DiscardHandler), Explain: placement.StoredExplainer(options.Store, placement.CandidateOptions{}, timeout),
		})
		options.Explanations = made.explanations
		options.AccessLog, options.Log = true, slog.New(slog.NewTextHandler(made.log, nil))
		options.Observability.PublicMetrics = true
	}})
	made.explanations.Start()
	t.Cleanup(func() { made.explanations.Close(context.Background()) })
	made.plant(cloud)
	return made
}

// serverLog is a log that a test reads while the server writes it.
type serverLog struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *serverLog) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *serverLog) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// plant creates the providers of a cloud, and the names in queries that no provider has.
func (s *explainingService) plant(cloud string) {
	s.t.Helper()
	parsed, err := bruteforce.ParseDeployment(cloud)
	if err != nil {
		s.t.Fatal(err)
	}
	s.send(http.MethodPut, "/resource_classes/CUSTOM_FPGA", nil)
	s.send(http.MethodPut, "/traits/CUSTOM_DISK_SDD", nil)
	for _, provider := range parsed.Providers {
		s.plantProvider(provider)
	}
}

// plantProvider creates a provider with its inventories, traits, aggregates and allocations.
func (s *explainingService) plantProvider(provider *bruteforce.Provider) {
	s.t.Helper()
	created := map[string]any{"name": provider.Name, "uuid": provider.UUID}
	if provider.Parent != "" {
		created["parent_provider_uuid"] = bruteforce.ID(provider.Parent)
	}
	s.send(http.MethodPost, "/resource_providers", created)
	path, inventories := "/resource_providers/"+provider.UUID, map[string]any{}
	for class, one := range provider.Inventories {
		if strings.HasPrefix(class, "CUSTOM_") {
			s.send(http.MethodPut, "/resource_classes/"+class, nil)
		}
		inventories[class] = map[string]any{
			"total": one.Total, "reserved": one.Reserved, "min_unit": one.MinUnit, "max_unit": one.MaxUnit, "step_size": one.StepSize,
			"allocation_ratio": one.Ratio,
		}
	}
	s.send(http.MethodPut, path+"/inventories", map[string]any{"resource_provider_generation": 0, "inventories": inventories})
	for _, trait := range provider.Traits {
		if strings.HasPrefix(trait, "CUSTOM_") {
			s.send(http.MethodPut, "/traits/"+trait, nil)
		}
	}
	if provider.Traits != nil {
		s.send(http.MethodPut, path+"/traits", map[string]any{"resource_provider_generation": 1, "traits": provider.Traits})
	}
	if provider.Aggregates != nil {
		s.sendAt("placement 1.18", http.MethodPut, path+"/aggregates", provider.Aggregates)
	}
	if len(provider.Used) > 0 {
		s.send(http.MethodPut, "/allocations/"+bruteforce.ID("consumer of "+provider.Name), map[string]any{
			"allocations": map[string]any{provider.UUID: map[string]any{"resources": provider.Used}},
			"project_id":  "lab", "user_id": "ada", "consumer_generation": nil, "consumer_type": "INSTANCE",
		})
	}
}

// send sends a body as JSON with microversion 1.39; nil sends none.
func (s *explainingService) send(method, path string, body any) {
	s.t.Helper()
	s.sendAt("placement 1.39", method, path, body)
}

func (s *explainingService) sendAt(version, method, path string, body any) {
	s.t.Helper()
	text := ""
	if body != nil {
		text = encodeJSON(s.t, body)
	}
	if answer := s.request(method, path, text, version); answer.Code >= http.StatusBadRequest {
		s.t.Fatalf("%s %s: %d %s", method, path, answer.Code, answer.Body)
	}
}

// request sends a request, with more headers as pairs.
func (s *explainingService) request(method, target, body, version string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	headers = append(headers, "X-Auth-Token", "admin", "X-Roles", "admin,service", "OpenStack-API-Version", version)
	if body != "" {
		headers = append(headers, "Content-Type", "application/json")
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return w
}

func (s *explainingService) get(target, version string, headers ...string) *httptest.ResponseRecorder {
	return s.request(http.MethodGet, target, "", version, headers...)
}
