package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
)

// TestJSON_ExtremeNumber_NoServerError sends numbers beyond Go's float64 and PostgreSQL's numeric, which
// JSON allows. Where a body may contain any JSON, the server rejects such a number, or stores and returns
// it.
func TestJSON_ExtremeNumber_NoServerError(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(*postgres.Options, *server.Options) {})
	if _, err := s.db.Pool.Exec(t.Context(), "INSERT INTO conductors (hostname, drivers) VALUES ('berth-1', '{manual-management}')"); err != nil {
		t.Fatal(err)
	}
	if answer := s.write(http.MethodPost, "/v1/nodes", `{"driver": "manual-management", "name": "rack-1"}`); answer.Code != http.StatusCreated {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	for _, number := range []string{"1e400", "-1e400", "1e-400", "1e200000", strings.Repeat("9", 400), "0." + strings.Repeat("1", 20000)} {
		for name, body := range map[string][3]string{
			"steps of cleaning": {http.MethodPut, "/v1/nodes/rack-1/states/provision", `{"target": "clean", "clean_steps": [{"a": ` + number + `}]}`},
			"a new node":        {http.MethodPost, "/v1/nodes", `{"driver": "manual-management", "extra": {"a": ` + number + `}}`},
			"a patch":           {http.MethodPatch, "/v1/nodes/rack-1", `[{"op": "add", "path": "/extra/a", "value": ` + number + `}]`},
			"an allocation":     {http.MethodPost, "/v1/allocations", `{"resource_class": "baremetal", "extra": {"a": ` + number + `}}`},
			"mappings":          {http.MethodPut, "/allocations/1d5ecafe-0000-4000-8000-000000000001", `{"mappings": {"a": ` + number + `}}`},
		} {
			answer := s.write(body[0], body[1], body[2])
			if answer.Code >= http.StatusInternalServerError {
				t.Errorf("%s with %.10s: status %d: %.200s", name, number, answer.Code, answer.Body)
			}
			if answer.Body.Len() > 1<<10 && answer.Code >= http.StatusBadRequest {
				t.Errorf("%s with %.10s: an error of %d bytes", name, number, answer.Body.Len())
			}
			if name == "steps of cleaning" && strings.HasSuffix(number, "1e400") && (answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "number "+number+" is out of range")) {
				t.Errorf("%s: status %d: %s", name, answer.Code, answer.Body)
			}
		}
		for _, path := range []string{"/v1/nodes/detail", "/v1/nodes/rack-1", "/v1/allocations"} {
			if answer := s.ask(http.MethodGet, path, http.NoBody); answer.Code != http.StatusOK {
				t.Errorf("%s after %.10s: status %d: %.200s", path, number, answer.Code, answer.Body)
			}
		}
	}
}
