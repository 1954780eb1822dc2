//go:build client

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
)

// buildWithExtension builds the server with another newest version of the extensions: an overlay replaces the file with
// the constant. It lacks the requests of later versions as a release before them does.
func buildWithExtension(t *testing.T, newest string) string {
	t.Helper()
	original, err := filepath.Abs("../server/wire/microversion/extensions.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const constant = "ExtensionMax Extension = 7"
	if strings.Count(string(source), constant) != 1 {
		t.Fatalf("%s does not contain exactly once %q", original, constant)
	}
	folder := t.TempDir()
	replacement, overlay, program := filepath.Join(folder, "extensions.go"), filepath.Join(folder, "overlay.json"), filepath.Join(folder, "berth")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replacement}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		replacement: strings.Replace(string(source), constant, "ExtensionMax Extension = "+newest, 1), overlay: string(replaced),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, "github.com/berthd/berth/cmd/berth")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	return program
}

// TestServer_TwoExtensionVersions_OlderRejectsAndChangesNothing sends the requests of berth 1.3 in turns to a server that
// has them and to one that has berth 1.2, on one database, as behind one address during an upgrade.
func TestServer_TwoExtensionVersions_OlderRejectsAndChangesNothing(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	newer := serveOn(t, db.URL).url
	older := serveProgram(t, buildWithExtension(t, "2"), db.URL).url
	dbtest.TurnRecordOff(t, db) // servers write it behind the requests whose changes are compared
	provider := newProvider(t, newer, "host", 100)
	// ask sends a request of berth 1.3 and returns the response, and whether the database is unchanged.
	ask := func(url, request, key string) (reply, []string) {
		before := dbtest.Snapshot(t, db)
		headers := []string{"X-Auth-Token", "admin", "X-Roles", "admin,service", "Openstack-Api-Version", "placement 1.39, berth 1.3"}
		if key != "" {
			headers = append(headers, "Idempotency-Key", key)
		}
		got := send(t, url, request, headers...)
		return got, before.Diff(dbtest.Snapshot(t, db))
	}
	rejects := func(request, key string) {
		t.Helper()
		got, changes := ask(older, request, key)
		if got.status != 406 || len(changes) > 0 {
			t.Errorf("the older server: %s: %d %s, changes %q; want 406 and none", request, got.status, got.body, changes)
		}
	}
	for number := range 5 {
		consumer, other, key := uuid.NewString(), uuid.NewString(), uuid.NewString()
		claim := map[string]any{
			"allocations": map[string]any{provider.String(): map[string]any{"resources": map[string]int{"VCPU": 1}}},
			"project_id":  "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": nil,
		}
		dry := "PUT /allocations/" + consumer + "?dry_run=true " + text(claim)
		keyed := "POST /allocations " + text(map[string]any{consumer: claim, other: claim})
		for range 2 {
			if got, changes := ask(newer, dry, ""); got.status != 200 || len(changes) > 0 || !strings.Contains(got.body, `"would":204`) {
				t.Errorf("dry run: %d %s, changes %q", got.status, got.body, changes)
			}
			rejects(dry, "")
		}
		rejects(keyed, key)
		if got, changes := ask(newer, keyed, key); got.status != 204 || got.header.Get("Idempotent-Replayed") != "" || len(changes) == 0 {
			t.Errorf("round %d: first write: %d %s, changes %q", number, got.status, got.body, changes)
		}
		rejects(keyed, key)
		if got, changes := ask(newer, keyed, key); got.status != 204 || got.header.Get("Idempotent-Replayed") != "true" || len(changes) > 0 {
			t.Errorf("round %d: repetition: %d %s, changes %q", number, got.status, got.body, changes)
		}
		for _, request := range []string{
			"PATCH /allocations/" + consumer + ` {"allocations": {"` + provider.String() + `": null}}`,
			"DELETE /allocations/" + consumer + "?consumer_generation=1",
			"POST /claims " + text(map[string]any{
				"consumers":  []any{map[string]any{"uuid": uuid.NewString(), "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE", "consumer_generation": nil}},
				"candidates": []any{map[string]any{"allocations": claim["allocations"]}},
			}),
			"PATCH /reshaper " + text(map[string]any{"inventories": map[string]any{provider.String(): map[string]any{"inventories": map[string]any{"VCPU": map[string]any{"reserved": number}}}}}),
			"PUT /resource_providers/" + provider.String() + `/tree {"resource_providers": []}`,
		} {
			if got, changes := ask(older, request, ""); !slices.Contains([]int{404, 405, 406}, got.status) || len(changes) > 0 {
				t.Errorf("the older server: %s: %d %s, changes %q", request, got.status, got.body, changes)
			}
		}
	}
}
