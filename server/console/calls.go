package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/server/wire/inside"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// calls bounds and records the calls of one visit. It is safe for concurrent use.
type calls struct {
	slots chan struct{}
	max   int
	// writes permits calls that change something.
	writes bool
	mutex  sync.Mutex
	sent   []string
}

func newCalls() *calls { return &calls{slots: make(chan struct{}, maxParallel), max: maxCalls} }

// errTooManyCalls is a mistake in a page.
var errTooManyCalls = fmt.Errorf("the page makes more than %d calls of the API", maxCalls)

// begin waits for a slot and records the call; the function that it returns frees the slot.
func (c *calls) begin(ctx context.Context, call string) (func(), error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	end := func() { <-c.slots }
	if len(c.sent) >= c.max {
		end()
		return nil, errTooManyCalls
	}
	c.sent = append(c.sent, call)
	return end, nil
}

// caller is the transport of all calls: it sends the identity of the visit, and nothing without a visit.
type caller struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	v, ok := r.Context().Value(visitKey{}).(*visit)
	if !ok || v.session == nil {
		return nil, errors.New("a call of the console without a user")
	}
	r.Header.Del("X-Roles")
	v.session.identify(r.Header)
	info := request.From(r.Context())
	inside.SetClient(r.Header, inside.Client{Address: info.Client, Network: info.ClientNetwork})
	if r.URL.Path == v.c.options.Prefix+"/" {
		return c.next.RoundTrip(r) // the version of the service, which the client asks for once an hour
	}
	if !v.calls.writes && !isRead(r, v.c.options.Prefix) {
		return nil, fmt.Errorf("the console does not send %s %s: it would change something", r.Method, r.URL.Path)
	}
	end, err := v.calls.begin(r.Context(), r.Method+" "+r.URL.RequestURI())
	if err != nil {
		return nil, err
	}
	defer end()
	return c.next.RoundTrip(r)
}

// isRead reports whether a call changes nothing. A dry run is one only in a version of the extensions.
func isRead(r *http.Request, prefix string) bool {
	switch path := strings.TrimPrefix(r.URL.Path, prefix); {
	case r.Method == http.MethodGet || r.Method == http.MethodHead, r.Method == http.MethodPost && (path == "/capacity" || path == "/allocation_candidates"):
		return true
	default:
		values, err := querystring.Parse(r.URL.RawQuery)
		dry, _ := values.First("dry_run")
		return err == nil && dry == "true" && strings.Contains(strings.Join(r.Header.Values("OpenStack-API-Version"), ","), "berth 1.")
	}
}

// problem sorts the error of a call for its card.
func (v *visit) problem(err error) *Problem {
	found := &Problem{Err: err, Kind: "error", Text: err.Error()}
	var failed *client.Error
	if errors.As(err, &failed) {
		found.Request, found.RequestID = strings.TrimSpace(failed.Method+" "+failed.Path), failed.RequestID
		if failed.Detail != "" {
			found.Text = failed.Detail
		}
		if failed.Cause != nil {
			found.Text = failed.Cause.Error()
		}
	}
	if strings.HasPrefix(found.Text, "panic: ") {
		v.c.options.Log.Error("panic in a page of the console", "cause", found.Text, "request_id", v.requestID)
		found.Text = "The page has a mistake; the log has its cause under " + v.requestID + "."
	}
	switch {
	case failed != nil && errors.Is(err, client.ErrForbidden):
		v.refused(found, failed)
	case errors.Is(err, client.ErrExtensions), failed != nil && failed.Status == http.StatusNotAcceptable:
		found.Kind, found.Text = "missing", "This service does not tell."
	}
	return found
}

// policyRule is the rule in the sentence of a 403.
var policyRule = regexp.MustCompile(`[a-z_]+(:[a-z_]+)+`)

// refused adds the rule that refused a call, and the command that explains it.
func (v *visit) refused(found *Problem, failed *client.Error) {
	found.Kind, found.Rule = "refused", policyRule.FindString(found.Text)
	words := []string{"berth", "policy", "check", failed.Method, strings.TrimPrefix(failed.Path, v.c.options.Prefix)}
	for _, flag := range [][2]string{{"--roles", strings.Join(v.session.Roles, ",")}, {"--user", v.session.User}, {"--project", v.session.Project}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	if v.session.System {
		words = append(words, "--system-scope", "all")
	}
	for i, word := range words {
		if plainWord.FindString(word) == "" {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	found.Command = strings.Join(words, " ")
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:,@-]+$`)

// fail sends the page of an error that concerns the whole page.
func (v *visit) fail(err error) {
	found, status, title := v.problem(err), http.StatusBadGateway, "The page has no answer"
	var failed *client.Error
	if errors.As(err, &failed) && failed.Status >= http.StatusBadRequest {
		status = failed.Status
	}
	wrong := &inputError{}
	found.Retry = v.with()
	switch {
	case errors.Is(err, client.ErrUnauthorized):
		v.signIn("The session has ended. Sign in again.")
		return
	case errors.Is(err, client.ErrNotFound):
		title, status, found.Retry, found.Past = "Not found", http.StatusNotFound, "", v.pastOf()
	case errors.As(err, &wrong), status == http.StatusBadRequest:
		title, status, found.Kind, found.Retry = "Invalid input", cmp.Or(wrong.status, http.StatusBadRequest), "invalid", v.base+v.r.URL.Path
	case found.Kind == "refused":
		title = "Not allowed"
	case found.Kind == "missing":
		title, status = "This service does not tell", http.StatusNotFound
	case errors.Is(err, client.ErrUnavailable), v.r.Context().Err() != nil: // also of a browser that has left, as in the API
		title, status = "The service does not answer", http.StatusServiceUnavailable
	}
	v.failWith(status, title, found)
}

func (v *visit) failWith(status int, title string, problem *Problem) {
	v.frame = Frame{Title: title, Body: problem}
	v.frame.Nav, _, _ = strings.Cut(strings.TrimPrefix(v.r.URL.Path, "/"), "/")
	v.render(status, "error")
}

// notFound sends the page of an address that does not exist.
func (v *visit) notFound() {
	v.failWith(http.StatusNotFound, "Not found", &Problem{Kind: "error", Text: "The console has no page at this address."})
}

// inputError is the error of a parameter or a field that a page cannot use. The status is 400 if it is 0.
type inputError struct {
	text   string
	status int
}

// Error implements error.
func (e *inputError) Error() string { return e.text }

// invalid returns an inputError.
func invalid(format string, values ...any) error {
	return &inputError{text: fmt.Sprintf(format, values...)}
}
