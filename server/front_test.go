package server_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

// TestAFailureTellsTheClientNothingButTheRequestsID: the database is gone.
func TestAFailureTellsTheClientNothingButTheRequestsID(t *testing.T) {
	t.Parallel()
	opened, err := store.Open(t.Context(), store.Options{URL: dbtest.Guarded(t).URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	var log bytes.Buffer
	handler := server.New(server.Options{Store: opened, Log: slog.New(slog.NewTextHandler(&log, nil))})
	request := httptest.NewRequest(http.MethodGet, "/resource_classes", http.NoBody)
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("OpenStack-API-Version", "placement 1.39")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)

	id := answer.Header().Get("X-Openstack-Request-Id")
	if answer.Code != http.StatusInternalServerError || answer.Header().Get("OpenStack-API-Version") != "placement 1.39" ||
		answer.Header().Get("Vary") != "openstack-api-version" {
		t.Errorf("status %d, headers %v", answer.Code, answer.Header())
	}
	if body := answer.Body.String(); !strings.Contains(body, id) || regexp.MustCompile("pool|closed|sql").MatchString(body) {
		t.Errorf("the client is told %s", body)
	}
	if !strings.Contains(log.String(), "closed pool") || !strings.Contains(log.String(), id) {
		t.Errorf("the log does not say what happened in %s: %s", id, log.String())
	}
}
