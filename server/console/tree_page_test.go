package console

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestConsole_TreeWithoutConsumers_HasWholeBars opens a tree whose consumers the API does not return.
func TestConsole_TreeWithoutConsumers_HasWholeBars(t *testing.T) {
	t.Parallel()
	const id = "c0ffee00-0000-4000-8000-000000000001"
	const tree = `{"root_provider_uuid": "` + id + `", "resource_providers": [{"uuid": "` + id + `", "name": "pool", "generation": 3, "parent_provider_uuid": null,
		"root_provider_uuid": "` + id + `", "inventories": {"VGPU": {"total": 4, "reserved": 0, "min_unit": 1, "max_unit": 4, "step_size": 1, "allocation_ratio": 1}},
		"usages": {"VGPU": 3}, "traits": [], "aggregates": []}]}`
	for name, c := range map[string]struct {
		status int
		body   string
		delay  time.Duration
		want   string
	}{
		"too many": {400, `{"errors": [{"status": 400, "code": "berth.tree.too_many_consumers", "detail": "More than 10000 consumers."}]}`, 0, "Over 10,000 consumers."},
		"denied":   {403, `{"errors": [{"status": 403, "detail": "Policy does not allow placement:allocations:list to be performed."}]}`, 0, "placement:allocations:list"},
		"slow":     {200, tree, 10 * time.Second, "Wait for them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, noauth2, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/":
					_, _ = io.WriteString(w, `{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39", "status": "CURRENT", "links": [], "berth_extensions": {"min_version": "1.1", "max_version": "1.4"}}]}`)
				case strings.Contains(r.URL.RawQuery, "consumers"):
					select {
					case <-time.After(c.delay):
					case <-r.Context().Done():
					}
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
				default:
					_, _ = io.WriteString(w, tree)
				}
			})
			w := s.send(http.MethodGet, "/console/providers/"+id, nil)
			wantStatus(t, w, http.StatusOK)
			wantText(t, w, c.want, "<b>3</b> / 4", "1 free")
			if strings.Contains(w.Body.String(), "Who holds it") {
				t.Error("the panel has consumers")
			}
		})
	}
}
