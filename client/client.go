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

// The microversions that this package sends. All requests use the newest, except those that write a consumer without a
// type: see versionFor.
const (
	newest  = api.MicroversionPlacement139
	untyped = api.Microversion("placement 1.37")
)

// Client is a client of one service. Create it with New; it is safe for concurrent use.
type Client struct {
	auth authenticator
	// locate returns the address of the service.
	locate  func(context.Context) (string, error)
	http    *http.Client
	log     *slog.Logger
	retries Retries
	// refresh is the age at which cached data of a provider is read again; 0: it is read once.
	refresh time.Duration
	// members is the age at which the members of a cached tree are listed again.
	members time.Duration

	// Clock, sleep and random numbers, which tests replace. random returns a value of at least 0 and below 1.
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	random func() float64

	// announced is the version of the extensions that the service has.
	announced announcement

	// cache is what UpdateFromProviderTree compares with.
	cache cache
}

// New returns a client of the service whose root is at the address, such as "http://localhost:8778" or
// "https://cloud.example/placement". Without WithKeystone the address is required; with it, "" means the endpoint of
// the catalog.
//
// New sends no request. The error names the invalid option.
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
		log: chosen.log, retries: chosen.retries.withDefaults(), refresh: chosen.refresh, members: chosen.members,
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

// located returns the function that finds the address of the service: it returns the address given, or the endpoint of
// the catalog.
func located(auth authenticator, address string) (func(context.Context) (string, error), error) {
	if address == "" {
		if keystone, hasCatalog := auth.(*keystone); hasCatalog {
			return keystone.endpoint, nil
		}
		return nil, errors.New("the address of the service is missing: give one, or use Keystone, whose catalog has it")
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

// endpoint returns the address of the service. It retries a failed read of the catalog like any request.
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

// Address returns the address of the service: that of New, or the endpoint of the catalog.
func (c *Client) Address(ctx context.Context) (string, error) { return c.endpoint(ctx) }

// operationCall is one call of an operation of gen/client. It must use the context that it gets, which carries the
// notes of the transport.
type operationCall func(ctx context.Context, wire *api.Client) (*http.Response, error)

// send executes one operation and decodes its response, unless into is nil.
func (c *Client) send(ctx context.Context, into any, ask operationCall) error {
	return c.Exchange(ctx, into, placementRefusal, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		return ask(ctx, &api.Client{Server: address, Client: over})
	})
}

// Exchange sends one request of another API of the service, with the address, identity, retries and log of this client.
// Package client/baremetal is built on it.
//
// The function ask creates the request and sends it with the context and the HTTP client that it gets; the address ends
// in a slash. Exchange decodes the response into the value, unless that is nil. A response with status 300 or higher
// becomes an *Error; refused, unless it is nil, fills it from the body.
func (c *Client) Exchange(ctx context.Context, into any, refused func(failed *Error, answer *http.Response, body []byte),
	ask func(ctx context.Context, address string, over *http.Client) (*http.Response, error),
) error {
	runs := dryRuns(ctx)
	if runs != nil {
		if err := c.require(ctx, berth13); err != nil {
			return err
		}
		ctx = withAtLeast(ctx, berth13)
	}
	endpoint, err := c.endpoint(ctx)
	if err != nil {
		return err
	}
	notes := &notes{}
	// With a slash, because otherwise the path of the operation would replace its last part.
	response, err := ask(context.WithValue(ctx, notesKey{}, notes), strings.TrimSuffix(endpoint, "/")+"/", c.http)
	if err != nil {
		return notes.failure(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body) // from memory: the transport has read it
	if err != nil {
		return notes.failure(ctx, err)
	}
	if err := notes.rejection(ctx, response, body, refused); err != nil {
		return err
	}
	if runs != nil && !isRead(notes.method, notes.path) {
		return runs.take(notes, response, body, into, refused)
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

// VersionList returns the versions of the API that the service supports. The request names no microversion.
func (c *Client) VersionList(ctx context.Context) ([]api.Version, error) {
	var answer api.Versions
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.VersionList(ctx, &api.VersionListParams{})
	})
	return answer.Versions, err
}
