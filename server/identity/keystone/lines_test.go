package keystone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/auditlog"
)

// TestAuditLog_KeystoneTokens_NeverAppear checks the request log, the audit log and the log messages about
// invalid tokens.
func TestAuditLog_KeystoneTokens_NeverAppear(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	person := func(user, project, role string) string {
		return fmt.Sprintf(`{"expires_at": %q, "user": {"id": %q, "domain": {"id": "ud"}}, "project": {"id": %q, "domain": {"id": "pd"}},
			"roles": [{"id": "r", "name": %q}]}`, at(time.Hour), user, project, role)
	}
	const userToken, serviceToken, badToken = "gAAAAAsecret-of-the-user", "gAAAAAsecret-of-the-service", "gAAAAAsecret-of-a-stranger"
	keystone.known[userToken] = person("alice", "web", "reader")
	keystone.known[serviceToken] = person("nova", "services", "service")
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "audit.log")
	audit, err := auditlog.Open(auditlog.Options{Path: path, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer audit.Close(t.Context())
	handler := server.New(server.Options{
		Store: new(store.Store), Log: slog.New(slog.NewTextHandler(&log, nil)), AccessLog: true, AuditLog: audit,
		Authenticate: keystone.authenticator(t).Authenticate,
	}).Public
	send := func(user, service string, status int) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/traits/CUSTOM_A?reason=test", http.NoBody)
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		r.Header.Set("X-Auth-Token", user)
		if service != "" {
			r.Header.Set("X-Service-Token", service)
		}
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code != status {
			t.Errorf("status = %d, want %d: %s", answer.Code, status, answer.Body)
		}
	}
	send(userToken, serviceToken, http.StatusForbidden)
	send(badToken, serviceToken, http.StatusUnauthorized)
	send(userToken, badToken, http.StatusUnauthorized)
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{userToken, serviceToken, badToken} {
		if strings.Contains(log.String(), token) || bytes.Contains(written, []byte(token)) {
			t.Errorf("%s is in the log or the audit log:\n%s%s", token, &log, written)
		}
	}
	var line auditlog.Record
	if err := json.Unmarshal(written, &line); err != nil { // one line: the other requests are unauthenticated
		t.Fatalf("audit log = %s: %v", written, err)
	}
	if line.UserID != "alice" || line.ProjectID != "web" || line.ServiceUserID != "nova" || line.ServiceProjectID != "services" ||
		line.AuthMethod != "keystone" || line.Scope != "project" || line.Outcome != auditlog.Denied || line.Target["name"] != "CUSTOM_A" {
		t.Errorf("line = %s", written)
	}
	const want = `user_id=alice project_id=web domain_id="" service_user_id=nova scope=project auth_method=keystone query="reason=test"`
	if !strings.Contains(log.String(), want) {
		t.Errorf("request line = %s, want %s in it", &log, want)
	}
}
