package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	api "github.com/berthd/berth/gen/client"
)

// The microversions that this package speaks. All requests are of the newest,
// except those that write a consumer which has no type: see versionFor.
const (
	newest  = api.MicroversionPlacement139
	untyped = api.Microversion("placement 1.37")
)

// Client speaks to one service. Make it with New; it is safe for concurrent use.
type Client struct {
	auth authenticator
	// locate tells the address of the service.
	locate  func(context.Context) (string, error)
	http    *http.Client
	log     *slog.Logger
	retries Retries
	// refresh is the age from which what is known of a provider is read again; 0:
	// it is read once.
	refresh time.Duration

	// Of the outside world, so that tests need not wait or throw dice. random is
	// at least 0 and below 1.
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	random func() float64

	// cache is what UpdateFromProviderTree compares with.
	cache cache
}

// New makes a client of the service whose root is at the address, such as
// "http://localhost:8778" or "https://cloud.example/placement". Without a
// WithKeystone the address must be given; with it "" means the one in the catalog.
//
// Nothing is sent before the first call. An error says which option is wrong.
func New(address string, given ...Option) (*Client, error) {
	chosen := options{
		auth:    func(*http.Client) (authenticator, error) { return noAuth("admin", ""), nil },
		retries: Retries{}, agent: "berth-client/" + version(), log: slog.New(slog.DiscardHandler),
		refresh: 300 * time.Second,
	}
	for _, option := range given {
		option(&chosen)
	}
	client := &Client{
		log: chosen.log, retries: chosen.retries.withDefaults(), refresh: chosen.refresh,
		now: time.Now, sleep: sleep, random: rand.Float64,
	}
	outer, inner := chosen.clients()
	var err error
	if client.auth, err = chosen.auth(inner); err != nil {
		return nil, err
	}
	if client.locate, err = located(client.auth, address); err != nil {
		return nil, err
	}
	outer.Transport = &chain{base: inner.Transport, client: client, agent: chosen.agent}
	client.http = outer
	return client, nil
}

// located is how the address of the service is found: it is the one given, or the
// catalog's.
func located(auth authenticator, address string) (func(context.Context) (string, error), error) {
	if address == "" {
		if keystone, hasCatalog := auth.(*keystone); hasCatalog {
			return keystone.endpoint, nil
		}
		return nil, errors.New("the address of the service is missing: only with Keystone can it be looked up")
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the service: %w", err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("the address of the service, %q, must be like http://host:8778 or https://host/placement", address)
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, fmt.Errorf("the address of the service, %q, must end after its path", address)
	}
	return func(context.Context) (string, error) { return address, nil }, nil
}

// endpoint is where the service is. To look that up in the catalog may fail like
// any request, and is repeated like one.
func (c *Client) endpoint(ctx context.Context) (string, error) {
	for failed := 1; ; failed++ {
		found, err := c.locate(ctx)
		if err == nil || !errors.Is(err, ErrUnavailable) || failed >= c.retries.Attempts {
			return found, err
		}
		if stopped := c.pause(ctx, failed); stopped != nil {
			return "", fmt.Errorf("%w; before that: %w", stopped, err)
		}
	}
}

// asker is one call of an operation of gen/client. It gets a context of its own,
// which carries the notes of the transport, and must use that.
type asker func(ctx context.Context, wire *api.Client) (*http.Response, error)

// send does one operation and decodes its answer, unless into is nil.
func (c *Client) send(ctx context.Context, into any, ask asker) error {
	return c.Exchange(ctx, into, placementRefusal, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		return ask(ctx, &api.Client{Server: address, Client: over})
	})
}

// Exchange sends one request of another API that the service has beside Placement,
// with what this client is: its address, its identity, its retries and its log.
// Package client/baremetal is built on it.
//
// The function ask makes the request and sends it over the client it is given, with
// the context it is given; the address ends in a slash. The answer is decoded into
// the value, unless that is nil. An answer of 300 and more becomes an *Error, in which
// refused, unless it is nil, puts what the body says.
func (c *Client) Exchange(ctx context.Context, into any, refused func(failed *Error, answer *http.Response, body []byte),
	ask func(ctx context.Context, address string, over *http.Client) (*http.Response, error),
) error {
	endpoint, err := c.endpoint(ctx)
	if err != nil {
		return err
	}
	notes := &notes{}
	// With a slash, or its last part would be replaced by the operation's path.
	response, err := ask(context.WithValue(ctx, notesKey{}, notes), strings.TrimSuffix(endpoint, "/")+"/", c.http)
	if err != nil {
		return notes.failure(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body) // from memory: the transport has read it
	if err != nil {
		return notes.failure(ctx, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return notes.refusal(response, body, refused)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s %s: the answer is not what the API promises: %w; it begins with %q",
			notes.method, notes.path, err, excerpt(body))
	}
	return nil
}

// VersionList asks the service which versions of the API it has, without saying
// which microversion it wants to speak.
func (c *Client) VersionList(ctx context.Context) ([]api.Version, error) {
	var answer api.Versions
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.VersionList(ctx, &api.VersionListParams{})
	})
	return answer.Versions, err
}
