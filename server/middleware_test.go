package server_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
)

// TestErrors_InternalError_ReturnsRequestIDOnly sends a request without a database.
func TestErrors_InternalError_ReturnsRequestIDOnly(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	made := servertest.New(t, servertest.Options{
		Server: func(options *server.Options) { options.Log = slog.New(slog.NewTextHandler(&log, nil)) },
	})
	made.Store.Close()
	request := httptest.NewRequest(http.MethodGet, "/resource_classes", http.NoBody)
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("OpenStack-API-Version", "placement 1.39")
	answer := httptest.NewRecorder()
	made.Handler.ServeHTTP(answer, request)

	id := answer.Header().Get("X-Openstack-Request-Id")
	if answer.Code != http.StatusInternalServerError || answer.Header().Get("OpenStack-API-Version") != "placement 1.39" ||
		answer.Header().Get("Vary") != "openstack-api-version" {
		t.Errorf("status %d, headers %v", answer.Code, answer.Header())
	}
	if body := answer.Body.String(); !strings.Contains(body, id) || regexp.MustCompile("pool|closed|sql").MatchString(body) {
		t.Errorf("body = %s", body)
	}
	if !strings.Contains(log.String(), "closed pool") || !strings.Contains(log.String(), id) {
		t.Errorf("the log has no cause of %s: %s", id, log.String())
	}
}
