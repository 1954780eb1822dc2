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

// Version is the microversion that all requests are of.
const Version = "1.82"

// The headers of this API that package client does not know.
const (
	versionHeader   = "X-OpenStack-Ironic-API-Version"
	minimumHeader   = "X-OpenStack-Ironic-API-Minimum-Version"
	maximumHeader   = "X-OpenStack-Ironic-API-Maximum-Version"
	requestIDHeader = "Openstack-Request-Id"
)

// Client speaks to one service. Make it with Over; it is safe for concurrent use.
type Client struct {
	service *client.Client
	// sleep waits between two looks, and is another one in tests.
	sleep func(context.Context, time.Duration) error
}

// Over makes a client of the Bare Metal API at the address, and with the identity, of
// a client of package client. The address may end in /v1 or before that. With
// Keystone that client should be made with the ServiceType "baremetal".
func Over(service *client.Client) *Client { return &Client{service: service, sleep: sleep} }

// IsConflict says whether the service refused something because of the state that it
// is in: a name that is taken, a node that is in use or busy.
func IsConflict(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusConflict
}

// request is one call of an operation.
type request struct {
	method string
	// path has the parts of the path behind /v1/, not escaped.
	path  []string
	query url.Values
	// body is sent as JSON, unless it is nil.
	body any
}

// send does one operation and decodes its answer, unless into is nil.
func (c *Client) send(ctx context.Context, into any, wanted request) error {
	return c.service.Exchange(ctx, into, refusal, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		made, err := wanted.at(ctx, address)
		if err != nil {
			return nil, err
		}
		return over.Do(made)
	})
}

// at makes the request for a service at an address that ends in a slash.
func (r request) at(ctx context.Context, address string) (*http.Request, error) {
	var body io.Reader // no *bytes.Reader: a nil one would be a body
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	made, err := http.NewRequestWithContext(ctx, r.method, r.url(address), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		made.Header.Set("Content-Type", "application/json")
	}
	made.Header.Set(versionHeader, Version)
	return made, nil
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

// refusal reads the body of an error: an object whose one member is a text, which is
// JSON once more. Proxies and old services put the object itself there.
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
	if answer.StatusCode == http.StatusNotAcceptable && answer.Header.Get(maximumHeader) != "" {
		failed.Detail = fmt.Sprintf("the service speaks the microversions %s to %s of the Bare Metal API, this client %s",
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

// pages reads a list to its end, or until it has so many; 0: all. The name is that of
// the list, and of the resource's path.
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
		// A list without "next" was the last one, whatever its length.
		if answer["next"] == nil || len(page) == 0 || most > 0 && len(all) >= most {
			return all, nil
		}
		query.Set("marker", id(page[len(page)-1]))
	}
}

// fill puts the values that are not empty into a query.
func fill(query url.Values, values map[string]string) url.Values {
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// sleep is time.Sleep for those who may be cancelled.
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
