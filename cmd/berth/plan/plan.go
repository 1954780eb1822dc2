// Package plan reports how PostgreSQL executes one request. It sends the request to the API handler in this process and
// records the statements of the handler. It then executes them with EXPLAIN and the same arguments on another
// connection, in one transaction, and rolls the transaction back.
//
// It is not for the meaning of requests or statements: the handler decides which statements it sends. It serves no
// clients.
package plan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/berthd/berth/server/data/migrate"
)

// Options selects the database and the content of a report.
type Options struct {
	// URL is a connection string for libpq; empty: the PG* variables.
	URL string
	// DirectURL bypasses a connection pooler. EXPLAIN runs there; empty: URL.
	DirectURL string
	// Pooler is set if URL is that of a pooler in transaction mode. The session then does not set the planner settings,
	// but uses those of the database.
	Pooler bool
	// Text adds the plans in EXPLAIN's text format. PostgreSQL executes each statement once more for it.
	Text bool
	// Log receives the cause of a response with status 500; nil discards it.
	Log *slog.Logger
}

// Request is one HTTP request of an administrator.
type Request struct {
	Method string
	// Target is the path with the query string.
	Target string
	// Microversion is a microversion of the API of the path, or latest; empty: latest.
	Microversion string
	// Extension is a version of Berth's extensions; empty: none.
	Extension string
	// Body is the JSON body of a claim or of POST /allocation_candidates.
	Body []byte
}

// candidatePath is the path for a query string without a path.
const candidatePath = "/allocation_candidates"

// ParseRequest parses "GET /usages?project_id=p", "/usages?project_id=p" or "resources=VCPU:1". The last form is a query
// for allocation candidates.
func ParseRequest(text string) (Request, error) {
	text = strings.TrimSpace(text)
	method, target, found := strings.Cut(text, " ")
	if !found {
		method, target = http.MethodGet, text
	}
	method, target = strings.ToUpper(method), strings.TrimSpace(target)
	query := strings.TrimPrefix(target, "?")
	if name, _, ok := strings.Cut(query, "="); !found && ok && !strings.ContainsAny(name, "/:") {
		target = candidatePath + "?" + query
	}
	r := Request{Method: method, Target: target}
	switch {
	case !strings.HasPrefix(target, "/"):
		return r, fmt.Errorf("%q is not a request; write a method and a path, such as 'GET /usages?project_id=p', "+
			"or a query string for allocation candidates, such as 'resources=VCPU:1&limit=10'", text)
	case method != http.MethodGet && !r.hasBody():
		return r, fmt.Errorf("%s %s can't be explained; write a GET request, PUT /allocations/{consumer_uuid}, "+
			"POST /allocations or POST /allocation_candidates", method, target)
	}
	return r, nil
}

// IsBaremetal reports whether the path belongs to the Bare Metal API.
func (r Request) IsBaremetal() bool {
	path, _, _ := strings.Cut(r.Target, "?")
	return path == "/v1" || strings.HasPrefix(path, "/v1/")
}

// isClaim reports whether the request sets the allocations of consumers.
func (r Request) isClaim() bool {
	path, _, _ := strings.Cut(r.Target, "?")
	_, consumer := strings.CutPrefix(path, "/allocations/")
	return r.Method == http.MethodPut && consumer || r.Method == http.MethodPost && path == "/allocations"
}

// IsSearch reports whether the request queries allocation candidates with POST, which needs Extension 1.1 or newer.
func (r Request) IsSearch() bool {
	path, _, _ := strings.Cut(r.Target, "?")
	return r.Method == http.MethodPost && path == candidatePath
}

// hasBody reports whether the request has a JSON body.
func (r Request) hasBody() bool { return r.isClaim() || r.IsSearch() }

// CheckBody returns an error if a request that needs a body has none, or another request has one.
func (r Request) CheckBody() error {
	switch {
	case r.hasBody() && len(r.Body) == 0:
		return fmt.Errorf("%s %s needs a JSON body; name its file with --body, or - for standard input", r.Method, r.Target)
	case !r.hasBody() && len(r.Body) > 0:
		return fmt.Errorf("%s requests have no body; leave --body out", r.Method)
	}
	return nil
}

// Explain serves the request twice and explains the statements of the second time. The first time fills the caches of
// the handler. Explain commits nothing. If the handler returns an error without a statement, Explain returns that error.
func Explain(ctx context.Context, options Options, request Request) (*Report, error) {
	if options.DirectURL == "" {
		options.DirectURL = options.URL
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if err := request.CheckBody(); err != nil {
		return nil, err
	}
	if err := checkSchema(ctx, options.DirectURL); err != nil {
		return nil, err
	}
	report, recorded, err := serve(ctx, options, request)
	if err != nil {
		return nil, err
	}
	if len(recorded) == 0 && report.Status >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s %s sends no SQL statement: the response is %d %s: %s",
			request.Method, request.Target, report.Status, http.StatusText(report.Status), report.Detail)
	}
	session, err := newSession(ctx, options, request.isClaim())
	if err != nil {
		return nil, err
	}
	report.NoNested = session.noNested
	for _, statement := range recorded {
		explained, failed := session.explain(ctx, statement)
		if failed != nil {
			err = fmt.Errorf("explain %s: %w", statement.Name, failed)
			break
		}
		report.Statements = append(report.Statements, explained)
	}
	return report, errors.Join(err, session.close())
}

// checkSchema returns an error if the schema or the functions of the database are outdated. It returns nil if the role
// has no permission to read their versions.
func checkSchema(ctx context.Context, url string) error {
	status, err := migrate.GetStatus(ctx, url)
	if err != nil || status.Newer() || status.UpToDate() {
		return nil //nolint:nilerr // the first statement reports a database that can't be reached
	}
	return fmt.Errorf("the schema is at version %d, this berth needs version %d with SQL functions %d; "+
		"run 'berth db migrate' first", status.Version, status.Latest, status.Known.Number)
}
