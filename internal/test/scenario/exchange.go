package scenario

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Exchange is a request and its response.
type Exchange struct {
	Method, Target string
	// Sent are the headers of the request.
	Sent http.Header
	// Version is the requested microversion; empty: none.
	Version string

	Status int
	Header http.Header
	Body   []byte
	// JSON is the body, if it is JSON.
	JSON any
}

// defaultHeaders are the headers of a request whose step sets none.
var defaultHeaders = map[string]string{"X-Auth-Token": "admin", "X-Roles": "admin,service"}

// versionHeader is the header with the microversion of the service.
const versionHeader, versionService = "OpenStack-API-Version", "placement"

// request returns the request of a step and its body.
func (n *names) request(step *Step, version string) (made *Exchange, body []byte, err error) {
	hasBody := step.Raw != nil || step.Body.Kind != 0
	switch {
	case step.Raw != nil:
		body = []byte(n.fill(*step.Raw))
	case hasBody:
		if body, err = n.json(&step.Body); err != nil {
			return nil, nil, fmt.Errorf("the body: %w", err)
		}
	}
	return n.newExchange(step, version, body, hasBody), body, nil
}

// newExchange returns an exchange with the request of a step.
func (n *names) newExchange(step *Step, version string, body []byte, hasBody bool) *Exchange {
	method, target, _ := strings.Cut(step.Request, " ")
	made := &Exchange{Method: method, Target: n.fill(target), Sent: http.Header{}, Version: version}
	for name, value := range defaultHeaders {
		made.Sent.Set(name, value)
	}
	if version != "" {
		made.Sent.Set(versionHeader, versionService+" "+version)
	}
	if hasBody {
		made.Sent.Set("Content-Type", "application/json")
		made.Sent.Set("Content-Length", fmt.Sprint(len(body)))
	}
	for name, values := range step.Headers {
		made.Sent.Del(name)
		for _, value := range values {
			made.Sent.Add(name, n.fill(value))
		}
	}
	return made
}

// responseTimeout is the maximum wait for one response, so that a server that hangs fails one step
// instead of the whole run.
const responseTimeout = 30 * time.Second

// do sends the bytes of the request as the step states them, which the client of net/http would
// not, and reads the response.
func (e *Exchange) do(ctx context.Context, address string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	// A server may respond before it has read the whole request. The response counts; the error of
	// sending the rest does not.
	_, sendErr := conn.Write(append(e.head(address), body...))
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: e.Method})
	if err != nil {
		return fmt.Errorf("no answer: %w (sending it: %v)", err, sendErr)
	}
	defer response.Body.Close()
	e.Status, e.Header = response.StatusCode, response.Header
	if response.ContentLength >= 0 {
		// ReadResponse removes this header from some responses.
		e.Header.Set("Content-Length", fmt.Sprint(response.ContentLength))
	}
	if e.Body, err = io.ReadAll(response.Body); err != nil {
		return fmt.Errorf("the answer breaks off: %w", err)
	}
	if value, err := parseJSON(e.Body); err == nil {
		e.JSON = value
	}
	return nil
}

func (e *Exchange) head(address string) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\n", e.Method, e.Target)
	if e.Sent.Get("Host") == "" {
		fmt.Fprintf(&out, "Host: %s\r\n", address)
	}
	names := make([]string, 0, len(e.Sent))
	for name := range e.Sent {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range e.Sent[name] {
			fmt.Fprintf(&out, "%s: %s\r\n", name, value)
		}
	}
	out.WriteString("\r\n")
	return []byte(out.String())
}

// failure returns the code and the detail of the only error in the response.
func (e *Exchange) failure() (code *string, detail string, ok bool) {
	object, _ := e.JSON.(map[string]any)
	list, _ := object["errors"].([]any)
	if len(list) != 1 {
		return nil, "", false
	}
	item, _ := list[0].(map[string]any)
	if text, ok := item["code"].(string); ok {
		code = &text
	}
	detail, ok = item["detail"].(string)
	return code, detail, ok
}
