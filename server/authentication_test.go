package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

// TestWhoeverCannotBeKnownIsToldWhy: a token that is no good, and nobody to ask about it.
func TestWhoeverCannotBeKnownIsToldWhy(t *testing.T) {
	t.Parallel()
	opened, err := store.Open(t.Context(), store.Options{URL: dbtest.New(t).URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	var log bytes.Buffer
	var paths []string
	handler := server.New(server.Options{Store: opened, Log: slog.New(slog.NewTextHandler(&log, nil)), Prefix: "/placement",
		Baremetal: &server.Baremetal{Conductor: "here", Silence: time.Minute},
		Authenticate: func(r *http.Request) (auth.Caller, error) {
			paths = append(paths, r.URL.Path)
			switch r.Header.Get("X-Auth-Token") {
			case "good":
				return auth.Caller{UserID: "u", ProjectID: "p", Roles: []string{"service", "admin"}}, nil
			case "unlucky":
				return auth.Caller{}, errors.New("the cable is cut")
			default:
				return auth.Caller{}, &auth.Refused{Challenge: "Keystone uri=here", Reason: "it looks odd"}
			}
		}})
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{"/placement/traits", "good", 200}, {"/placement/traits", "bad", 401}, {"/placement/traits", "unlucky", 503},
		{"/v1/nodes", "good", 200}, {"/v1/nodes", "bad", 401}, {"/v1/nodes", "unlucky", 503}, {"/v1/nodes/", "good", 200},
		{"/placement/v1/nodes", "bad", 401}, {"/v1/nodes", "", 401}, {"/traits", "bad", 401}, {"/traits", "good", 404},
		// Nobody is asked about these.
		{"/placement", "unlucky", 200}, {"/placement/", "unlucky", 200}, {"/v1", "unlucky", 200}, {"/v1/", "", 200},
		{"/livez", "unlucky", 200}, {"/placement/v1", "unlucky", 200},
	} {
		log.Reset()
		paths = nil
		r := httptest.NewRequest(http.MethodGet, c.path, http.NoBody)
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		if c.token != "" {
			r.Header.Set("X-Auth-Token", c.token)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if answer.Code != c.status {
			t.Errorf("%s with %q is answered %d, want %d: %s", c.path, c.token, answer.Code, c.status, answer.Body)
		}
		body, header := answer.Body.String(), answer.Header()
		switch c.status {
		case http.StatusUnauthorized:
			if header.Get("WWW-Authenticate") != "Keystone uri=here" || !strings.HasPrefix(body, `{"error":{"code":401,"title":"Unauthorized",`) ||
				!strings.Contains(log.String(), "it looks odd") {
				t.Errorf("%s: %v %s, and the log %s", c.path, header, body, log.String())
			}
		case http.StatusServiceUnavailable:
			if header.Get("Retry-After") != "5" || header.Get("WWW-Authenticate") != "" || strings.Contains(body, "cable") ||
				!strings.Contains(log.String(), "the cable is cut") || !strings.Contains(log.String(), header.Get("X-Openstack-Request-Id")) {
				t.Errorf("%s: %v %s, and the log %s", c.path, header, body, log.String())
			}
		}
		// The path is that which arrived.
		if len(paths) > 0 && paths[0] != c.path {
			t.Errorf("%s is told to be %s", c.path, paths[0])
		}
	}
}
