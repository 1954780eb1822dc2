package plan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/inside"
	"github.com/berthd/berth/server/wire/microversion"
)

// lockTimeout is the maximum time that a claim waits for row locks.
const lockTimeout = 5 * time.Second

// serve sends the request twice to an API handler in this process. It returns the second response and its statements.
// The transaction of a claim is rolled back.
func serve(ctx context.Context, options Options, request Request) (*Report, []Recorded, error) {
	recorder := &Recorder{}
	data, err := store.Open(ctx, postgres.Options{
		URL: options.URL, Pooler: options.Pooler, MaxConns: 2, Limits: postgres.Limits{LockTimeout: lockTimeout},
		Tracer: recorder, RollBack: request.isClaim(),
	})
	if err != nil {
		return nil, nil, err
	}
	defer data.Close()
	both := server.Defaults(data, options.Log)
	both.Baremetal = &baremetal.Options{}
	service := inside.Serve(server.New(both).Public, options.Log)
	defer func() { _ = service.Close() }() // all responses are read
	if _, err := send(ctx, service, request); err != nil {
		return nil, nil, err
	}
	recorder.Reset()
	report, err := send(ctx, service, request)
	if err != nil {
		return nil, nil, err
	}
	var recorded []Recorded
	recorded, report.RoundTrips = recorder.Reset()
	return report, recorded, nil
}

// send sends the request and reads the response.
func send(ctx context.Context, service http.RoundTripper, request Request) (*Report, error) {
	r, err := http.NewRequestWithContext(ctx, request.Method, inside.URL+request.Target, bytes.NewReader(request.Body))
	if err != nil {
		return nil, fmt.Errorf("invalid path %q: %w", request.Target, err)
	}
	version := cmp.Or(request.Microversion, microversion.Latest)
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	if request.IsBaremetal() {
		r.Header.Set(microversion.BaremetalHeader, version)
	} else {
		r.Header.Set(microversion.Header, "placement "+version)
	}
	if request.Extension != "" {
		r.Header.Add(microversion.Header, microversion.ExtensionService+" "+request.Extension)
	}
	if len(request.Body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := service.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("the response ended early: %w", err)
	}
	report := &Report{
		Request: request.Method + " " + request.Target, Microversion: version, Status: response.StatusCode, Bytes: len(body),
	}
	for _, name := range []string{microversion.Header, microversion.BaremetalHeader} {
		if used := strings.Join(response.Header.Values(name), ", "); used != "" {
			report.Microversion = strings.TrimPrefix(used, microversion.Service+" ")
		}
	}
	if report.Status >= http.StatusBadRequest {
		report.Detail = strings.TrimSpace(spaces.ReplaceAllString(detail(body), " "))
	}
	return report, nil
}

// detail returns the message of an error response of either API.
func detail(body []byte) string {
	var placement struct {
		Errors []struct{ Detail string }
	}
	if json.Unmarshal(body, &placement) == nil && len(placement.Errors) > 0 {
		return placement.Errors[0].Detail
	}
	var baremetal struct {
		Message string `json:"error_message"`
	}
	var message struct {
		Fault string `json:"faultstring"`
	}
	if json.Unmarshal(body, &baremetal) == nil && json.Unmarshal([]byte(baremetal.Message), &message) == nil {
		return message.Fault
	}
	return string(body)
}
