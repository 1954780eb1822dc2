package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	api "github.com/berthd/berth/gen/client"
)

// DryRuns are the results of the dry runs of a context, in the order of the requests.
type DryRuns struct {
	mutex   sync.Mutex
	results []DryRunResult
}

// Results returns a copy of the results so far.
func (d *DryRuns) Results() []DryRunResult {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return slices.Clone(d.results)
}

// DryRunResult is what a write would do.
type DryRunResult struct {
	// Method and Path are the request's.
	Method string `json:"-"`
	Path   string `json:"-"`
	// DryRun is always true.
	DryRun bool `json:"dry_run"`
	// Would is the status that the write would have. Body is its body; null without one.
	Would int             `json:"would"`
	Body  json.RawMessage `json:"body"`
	// Changes are empty if the write would fail.
	Changes api.StateChange `json:"changes"`
	// Inverse is the body of a request that reverses a reshape or a tree, which can be decoded into ReshapeChanges or
	// WantedTree; null for other writes. IrreversibleReason is why there is none.
	Inverse            json.RawMessage `json:"inverse"`
	IrreversibleReason string          `json:"inverse_obstacle,omitempty"`
	// Response is the body of the response, with members that this package does not know.
	Response json.RawMessage `json:"-"`
}

type dryRunKey struct{}

// WithDryRun returns a context whose writes to the Placement API are dry runs, and their results: the service executes
// them and rolls them back. A method returns what the write would return, and the same errors.
//
// Dry runs need berth 1.3. The client sends one only after the service has shown that it has that version: the error of
// another service is an ErrExtensions. Each request is a dry run of its own: a method that sends several writes, of which
// one depends on another, returns the error of the later one. UpdateFromProviderTree has no dry run.
func WithDryRun(ctx context.Context) (context.Context, *DryRuns) {
	runs := &DryRuns{}
	return context.WithValue(ctx, dryRunKey{}, runs), runs
}

// dryRuns returns the dry runs of a context; nil: its writes are executed.
func dryRuns(ctx context.Context) *DryRuns {
	runs, _ := ctx.Value(dryRunKey{}).(*DryRuns)
	return runs
}

// withoutDryRun is for requests that find out whether dry runs are possible.
func withoutDryRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, dryRunKey{}, (*DryRuns)(nil))
}

// isDryRun reports whether a request is one.
func isDryRun(request *http.Request) bool {
	return dryRuns(request.Context()) != nil && !isRead(request.Method, request.URL.Path)
}

// dryRunOf returns the request with the parameter of dry runs.
func dryRunOf(request *http.Request) (*http.Request, error) {
	if version := request.Header.Get(versionHeader); version != string(newest) {
		return nil, fmt.Errorf("%s %s has no dry run, because its version is %q and not %q", request.Method, request.URL.Path, version, newest)
	}
	run := request.Clone(request.Context())
	query := run.URL.Query()
	query.Set("dry_run", "true")
	run.URL.RawQuery = query.Encode()
	return run, nil
}

// take stores the result of a dry run, and returns the result of the write.
func (d *DryRuns) take(notes *notes, response *http.Response, body []byte, into any, refused func(*Error, *http.Response, []byte)) error {
	result := DryRunResult{Method: notes.method, Path: notes.path, Response: body}
	if err := json.Unmarshal(body, &result); err != nil || !result.DryRun {
		return &Error{
			Method: notes.method, Path: notes.path, Status: response.StatusCode, Title: http.StatusText(response.StatusCode),
			Detail: "the answer is not that of a dry run; it begins with " + excerpt(body), unknown: true,
		}
	}
	d.mutex.Lock()
	d.results = append(d.results, result)
	d.mutex.Unlock()
	if result.Would >= http.StatusMultipleChoices {
		return notes.refusal(&http.Response{StatusCode: result.Would, Header: response.Header}, result.Body, refused)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(result.Body, into)
}
