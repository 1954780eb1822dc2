package placement_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/scenario"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/wire/microversion"
)

const writesHeader = "placement 1.39, berth 1.3"

// TestQuery_UnknownParameterOfEveryOperation_Returns400 reads the route table, so that new operations take part.
func TestQuery_UnknownParameterOfEveryOperation_Returns400(t *testing.T) {
	t.Parallel()
	listener := httptest.NewServer(serve(t, &scenario.File{}).Handler)
	t.Cleanup(listener.Close)
	const prefix = "Invalid query string parameters: "
	text := prefix + "Additional properties are not allowed ('dryrun' was unexpected)"
	// These have their own texts: a required parameter, and families of parameters.
	others := map[string]string{"usage-list": "'project_id' is a required property", "candidate-list": "'dryrun' does not match any of the regexes"}
	seen := 0
	newest := microversion.Berth(uint8(microversion.ExtensionMax))
	for _, op := range server.Table(server.Options{}).Operations() {
		exists := true
		for _, variant := range op.Variants {
			if variant.Since <= newest {
				exists = !variant.Gone
			}
		}
		if !exists || op.Path == "/" {
			continue
		}
		seen++
		path := strings.NewReplacer("{uuid}", unknownProvider, "{consumer_uuid}", unknownProvider, "{", "", "}", "").Replace(op.Path)
		answer, body := sendTo(t, listener, op.Method, path+"?dryrun=true", "{}", "OpenStack-API-Version", newest.HeaderValue())
		want := text
		if other, ok := others[op.ID]; ok {
			want = prefix + other
		}
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: status = %d, body = %s, want 400", op.ID, answer.StatusCode, body)
		}
		answer, body = sendTo(t, listener, op.Method, path+"?dryrun=true", "{}", "OpenStack-API-Version", "placement 1.39, berth 1.2")
		if !op.ReadsQuery && strings.Contains(body, text) {
			t.Errorf("%s below berth 1.3: status = %d, body = %s", op.ID, answer.StatusCode, body)
		}
	}
	if seen < 30 {
		t.Errorf("%d operations, want at least 30", seen)
	}
}

const unknownProvider = "c0ffee00-0000-4000-8000-00000000ffff"
