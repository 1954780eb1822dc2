package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// request is a request that no method of gen/client sends as it must be: with a body of a type of this package, with a
// version of the extensions, or with parameters in their order.
type request struct {
	method string
	// path is that below the address of the service.
	path  string
	query []param
	// body is encoded as JSON; nil: none.
	body any
	// version is the microversion; "": the newest.
	version api.Microversion
	// needs is the version of the extensions that the request needs; "": none.
	needs string
	// asksFirst is true for a request that a service without that version would execute as another one. It is not sent then.
	asksFirst bool
}

const jsonType = "application/json"

// do sends a request and decodes its response, unless into is nil.
func (c *Client) do(ctx context.Context, into any, r request) error {
	body, err := r.encoded()
	if err != nil {
		return err
	}
	if r.asksFirst {
		if err := c.require(ctx, r.needs); err != nil {
			return err
		}
	}
	if r.needs != "" {
		ctx = withAtLeast(ctx, r.needs)
	}
	return c.Exchange(ctx, into, placementRefusal, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		return r.send(ctx, address, body, over)
	})
}

func (r *request) send(ctx context.Context, address string, body []byte, over *http.Client) (*http.Response, error) {
	sent, err := http.NewRequestWithContext(ctx, r.method, address+r.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(r.query) > 0 {
		sent.URL.RawQuery = encode(r.query)
	}
	r.addHeaders(sent.Header)
	return over.Do(sent)
}

func (r *request) addHeaders(header http.Header) {
	version := r.version
	if version == "" {
		version = newest
	}
	header.Set(versionHeader, string(version))
	switch {
	case r.method == http.MethodPatch:
		header.Set("Content-Type", "application/merge-patch+json")
	case r.body != nil:
		header.Set("Content-Type", jsonType)
	}
}

// encoded returns the body. The error of a type that has no JSON is that of the type.
func (r *request) encoded() ([]byte, error) {
	if r.body == nil {
		return nil, nil
	}
	text, err := json.Marshal(r.body)
	var invalid *json.MarshalerError
	if errors.As(err, &invalid) {
		return nil, invalid.Err
	}
	return text, err
}

// doKeyed sends a request that needs berth 1.3 with an Idempotency-Key, "" for a new one, so that it is sent again if its
// response is lost. If the service has no room for a new key, it sends the request without one.
func (c *Client) doKeyed(ctx context.Context, into any, key string, r request) error {
	sent := idempotencyKey{key: key}
	if key == "" {
		sent = idempotencyKey{uuid.NewString(), true}
	}
	r.needs, r.asksFirst = cmp.Or(r.needs, berth13), true
	err := c.do(context.WithValue(ctx, keyKey{}, sent), into, r)
	var failed *Error
	if sent.own && errors.As(err, &failed) && failed.Code == keysFull {
		return c.do(ctx, into, r)
	}
	return err
}

// keysFull is the code of an error before anything is executed.
const keysFull = "berth.idempotency.full"

// doKeyedIfPossible is doKeyed if the service has berth 1.3, else do.
func (c *Client) doKeyedIfPossible(ctx context.Context, r request) error {
	if r.version != newest || !c.has(ctx, berth13) {
		return c.do(ctx, nil, r)
	}
	err := c.doKeyed(ctx, nil, "", r)
	if errors.Is(err, ErrExtensions) && !errors.Is(err, ErrOutcomeUnknown) && dryRuns(ctx) == nil {
		return c.do(ctx, nil, r) // the service is being upgraded, and this server has not executed it
	}
	return err
}

// has reports whether the service has a version of the extensions, for requests that have a substitute. If the service
// cannot be asked, the request that follows returns the error.
func (c *Client) has(ctx context.Context, version string) bool {
	has, err := c.HasExtensions(ctx, version)
	return has && err == nil
}

// require returns an error unless the service has a version of the extensions.
func (c *Client) require(ctx context.Context, version string) error {
	has, err := c.HasExtensions(ctx, version)
	if err == nil && !has {
		err = fmt.Errorf("not sent: %w berth %s", ErrExtensions, version)
	}
	return err
}

// withAtLeast selects a version by its number, unless the context selects a later one. "latest" stays for the queries of
// berth 1.1 and 1.2, which an older server rejects; but it would execute a dry run as a write.
func withAtLeast(ctx context.Context, version string) context.Context {
	wanted, _ := minorOf("berth " + version)
	selected, isNumber := minorOf(extensions(ctx))
	if isNumber && selected >= wanted || extensions(ctx) == "berth latest" && wanted < 3 {
		return ctx
	}
	return WithExtensions(ctx, version)
}
