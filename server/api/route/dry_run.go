package route

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// DryRuns is how an API answers dry runs: requests of writes with dry_run=true, whose writes the store rolls back.
type DryRuns struct {
	// Since is the first version that has them.
	Since microversion.Version
	// Answer returns the body of the response to a dry run.
	Answer func(ctx context.Context, op *Operation, result DryRunResult) any
	// Body is the type of that body, and Example one of a write without a response body, for the documents.
	Body    reflect.Type
	Example any
}

// DryRunResult is the result of a dry run.
type DryRunResult struct {
	// Status and Body are those of the response that the write would have had. Body is nil without one.
	Status int
	Body   json.RawMessage
	// Before and After are the states before and after the write; empty if it would have failed.
	Before, After store.State
}

const dryRunParameter = "dry_run"

// parameter returns the parameter that selects dry runs.
func (d *DryRuns) parameter() Param {
	return Param{
		Name: dryRunParameter, Check: querystring.Param{Enum: []string{"true", "false"}}, Since: d.Since,
		Doc:     "With `true`, the server rolls the write back and returns what it would have changed. Default: `false`.",
		Example: "true",
	}
}

// hasDryRuns reports whether an operation has dry runs at any version.
func (op *Operation) hasDryRuns(api *API) bool { return api.DryRuns != nil && op.writes() }

// isDryRun reports whether a request is a dry run. Its query string was checked.
func (t *Table) isDryRun(op *Operation, r *http.Request, at microversion.Version) bool {
	if !op.hasDryRuns(t.api) || at < t.api.DryRuns.Since || r.URL.RawQuery == "" {
		return false
	}
	values, err := querystring.Parse(r.URL.RawQuery)
	if err != nil {
		return false
	}
	value, _ := values.First(dryRunParameter)
	return value == "true"
}

type dryRunKey struct{}

// dryRun is a dry run while its operation runs.
type dryRun struct {
	rehearsal *store.Rehearsal
	// refused is the error of a write that the database refused.
	refused apierr.StatusError
}

// recordRefusal keeps the error of a dry run if it is a result of the dry run: what is in the database refuses the write.
func recordRefusal(ctx context.Context, response apierr.StatusError) {
	run, ok := ctx.Value(dryRunKey{}).(*dryRun)
	if !ok || !run.rehearsal.Asked() {
		return
	}
	switch response.GetStatus() {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict:
		run.refused = response
	}
}

// rehearse runs an operation as a dry run and responds with its result. An error that is no result of the dry run is the
// response itself.
func (t *Table) rehearse(op *Operation, found *registered, w http.ResponseWriter, r *http.Request) error {
	ctx, rehearsal := store.WithRehearsal(r.Context())
	run := &dryRun{rehearsal: rehearsal}
	ctx = context.WithValue(ctx, dryRunKey{}, run)
	recorded := &recorder{header: http.Header{}}
	found.handler(humago.NewContext(found.Operation, r.WithContext(ctx), recorded))
	result := DryRunResult{Status: recorded.status}
	switch {
	case run.refused != nil:
		var body bytes.Buffer
		if err := encodeJSON(&body, run.refused); err != nil {
			return err
		}
		result.Body = body.Bytes()
	case recorded.status >= http.StatusMultipleChoices:
		recorded.replay(w)
		return nil
	default:
		if recorded.body.Len() > 0 {
			result.Body = recorded.body.Bytes()
		}
		result.Before, result.After = rehearsal.Before, rehearsal.After
	}
	request.From(ctx).Would = result.Status
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusOK)
	return encodeJSON(w, t.api.DryRuns.Answer(ctx, op, result))
}

func encodeJSON(to interface{ Write([]byte) (int, error) }, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// recorder is an http.ResponseWriter that keeps the response.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// replay sends the response. Its writer keeps the first error of the body.
func (r *recorder) replay(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes())
}

// publishDryRun adds the response to dry runs. Operations whose own response has the status 200 have either body.
func (p *publisher) publishDryRun(row *Operation, op *huma.Operation) {
	if !row.hasDryRuns(p.api) || p.at < p.api.DryRuns.Since {
		return
	}
	schema := p.schemas.Schema(p.api.DryRuns.Body, true, "")
	const description = "With `dry_run=true`: what the write would change."
	own := op.Responses[strconv.Itoa(http.StatusOK)]
	if own == nil {
		result := response(op, strconv.Itoa(http.StatusOK))
		result.Description, result.Headers = description, map[string]*huma.Header{}
		for _, name := range p.api.OnSuccess {
			result.Headers[name] = headerRef(name)
		}
		result.Content = map[string]*huma.MediaType{jsonType: {Schema: schema, Example: p.api.DryRuns.Example}}
		return
	}
	own.Description += ". " + description
	body := own.Content[jsonType]
	body.Schema = &huma.Schema{OneOf: []*huma.Schema{body.Schema, schema}}
}
