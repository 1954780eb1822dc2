package baremetal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berthd/berth/client"
)

// Version is the microversion of all requests.
const Version = "1.82"

// The headers of this API that package client does not use.
const (
	versionHeader   = "X-OpenStack-Ironic-API-Version"
	minimumHeader   = "X-OpenStack-Ironic-API-Minimum-Version"
	maximumHeader   = "X-OpenStack-Ironic-API-Maximum-Version"
	requestIDHeader = "Openstack-Request-Id"
)

// Client is a client of the Bare Metal API of one service. Create it with New; it is safe for concurrent use.
type Client struct {
	service *client.Client
	// sleep waits between two polls; tests replace it.
	sleep func(context.Context, time.Duration) error
}

// New returns a client of the Bare Metal API with the address and identity of a client of package client. The address
// may end in /v1 or before that. With Keystone create that client with the ServiceType "baremetal".
func New(service *client.Client) *Client { return &Client{service: service, sleep: sleep} }

// IsConflict reports whether the error is a response with status 409: a duplicate name, or a node that is in use or
// reserved.
func IsConflict(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusConflict
}

// request is one call of an operation.
type request struct {
	method string
	// path is the segments of the path after /v1/, not escaped.
	path  []string
	query url.Values
	// body is sent as JSON, unless it is nil.
	body any
	// version is the value of the common version header; empty: the request has the header of this API.
	version string
}

// send executes one operation and decodes its response, unless into is nil.
func (c *Client) send(ctx context.Context, into any, wanted request) error {
	return c.service.Exchange(ctx, into, refusal, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		request, err := wanted.at(ctx, address)
		if err != nil {
			return nil, err
		}
		return over.Do(request)
	})
}

// at returns the HTTP request for a service at an address that ends in a slash.
func (r request) at(ctx context.Context, address string) (*http.Request, error) {
	var body io.Reader // no *bytes.Reader: a nil one would be a body
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	result, err := http.NewRequestWithContext(ctx, r.method, r.url(address), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		result.Header.Set("Content-Type", "application/json")
	}
	if r.version != "" {
		result.Header.Set("OpenStack-API-Version", r.version)
	} else {
		result.Header.Set(versionHeader, Version)
	}
	return result, nil
}

func (r request) url(address string) string {
	escaped := make([]string, 0, len(r.path))
	for _, part := range r.path {
		escaped = append(escaped, url.PathEscape(part))
	}
	whole := strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/v1") + "/v1/" + strings.Join(escaped, "/")
	if len(r.query) > 0 {
		whole += "?" + r.query.Encode()
	}
	return whole
}

// refusal reads an error body: an object whose one member is a string with JSON. Proxies and old services have the
// object itself there.
func refusal(failed *client.Error, answer *http.Response, body []byte) {
	if id := answer.Header.Get(requestIDHeader); id != "" {
		failed.RequestID = id
	}
	var outer struct {
		Message json.RawMessage `json:"error_message"`
	}
	if json.Unmarshal(body, &outer) == nil {
		failed.Detail = faultOf(outer.Message)
	}
	switch {
	case answer.StatusCode != http.StatusNotAcceptable:
	case strings.Contains(failed.Detail, " of berth was requested but is not supported"):
		failed.Code = "berth.version.unsupported" // errors of this API have no codes
	case answer.Header.Get(maximumHeader) != "":
		failed.Detail = fmt.Sprintf("the service supports the microversions %s to %s of the Bare Metal API, this client requires %s",
			answer.Header.Get(minimumHeader), answer.Header.Get(maximumHeader), Version)
	}
}

func faultOf(message json.RawMessage) string {
	var text string
	if json.Unmarshal(message, &text) == nil {
		message = json.RawMessage(text)
	}
	var inner struct {
		FaultString string `json:"faultstring"`
		Description string `json:"description"`
		Title       string `json:"title"`
	}
	if json.Unmarshal(message, &inner) != nil {
		return text
	}
	for _, said := range []string{inner.FaultString, inner.Description, inner.Title} {
		if said != "" {
			return said
		}
	}
	return text
}

// pages reads all pages of a list, or at most so many items; 0: all. The name is that of the member with the list, and
// of the path.
func pages[T any](ctx context.Context, c *Client, wanted request, name string, most int, id func(T) string) ([]T, error) {
	all := []T{}
	query := url.Values{}
	for key, values := range wanted.query {
		query[key] = values
	}
	wanted.query = query
	for {
		if most > 0 {
			query.Set("limit", fmt.Sprint(most-len(all)))
		}
		var answer map[string]json.RawMessage
		if err := c.send(ctx, &answer, wanted); err != nil {
			return nil, err
		}
		var page []T
		if err := json.Unmarshal(answer[name], &page); err != nil {
			return nil, fmt.Errorf("%s %s: the answer has no list of %s: %w", wanted.method, strings.Join(wanted.path, "/"), name, err)
		}
		all = append(all, page...)
		// A page without "next" is the last one, whatever its length.
		if answer["next"] == nil || len(page) == 0 || most > 0 && len(all) >= most {
			return all, nil
		}
		query.Set("marker", id(page[len(page)-1]))
	}
}

// fill sets the values that are not empty in a query.
func fill(query url.Values, values map[string]string) url.Values {
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// sleep waits, and returns the error of ctx if that ends first.
func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
