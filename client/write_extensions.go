package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// writeExtensions is the first version of the extensions with claims, trees, patches, dry runs and idempotency keys.
const writeExtensions = "1.3"

// rediscoverAfter is the age at which the client asks a service again that lacked a version: it may have been upgraded.
const rediscoverAfter = time.Hour

// upgradeTimeout is how long the client repeats a request that a server rejects because of a version that the service
// had before: servers of two versions have one address while they are upgraded.
const upgradeTimeout = 30 * time.Second

// announcement is the newest version of the extensions that the service announced.
type announcement struct {
	mutex sync.Mutex
	minor int       // of berth 1.N; 0: none
	at    time.Time // zero: unknown
}

func (a *announcement) set(minor int, at time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.minor, a.at = minor, at
}

func (a *announcement) get() (minor int, at time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.minor, a.at
}

// HasExtensions reports whether the service has a version of Berth's extensions, such as "1.3". It asks the service once,
// and again after an hour if the service lacked the version.
func (c *Client) HasExtensions(ctx context.Context, version string) (bool, error) {
	wanted, ok := minorOf("berth " + version)
	if !ok {
		return false, fmt.Errorf("invalid version of the extensions: %q must be like 1.3", version)
	}
	minor, at := c.announced.get()
	if at.IsZero() || minor < wanted && c.now().Sub(at) >= rediscoverAfter {
		found, err := c.discover(ctx)
		if err != nil {
			return false, err
		}
		minor = found
		c.announced.set(minor, c.now())
	}
	return minor >= wanted, nil
}

// discover asks the service for its newest version. A service that rejects the request has none.
func (c *Client) discover(ctx context.Context) (minor int, err error) {
	ctx = context.WithValue(withoutDryRun(ctx), keyKey{}, idempotencyKey{})
	err = c.Exchange(WithExtensions(ctx, ""), nil, placementRefusal, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set(versionHeader, string(newest)+", berth latest")
		response, err := over.Do(request)
		if err == nil {
			minor = announcedMinor(response)
		}
		return response, err
	})
	var failed *Error
	if errors.As(err, &failed) && failed.Status != 0 && !overloaded(failed.Status) {
		return minor, nil
	}
	return minor, err
}

// announcedMinor returns N of the version berth 1.N in the headers of a response, 0 for none.
func announcedMinor(response *http.Response) int {
	for entry := range strings.SplitSeq(strings.Join(response.Header.Values(versionHeader), ","), ",") {
		if minor, ok := minorOf(strings.TrimSpace(entry)); ok {
			return minor
		}
	}
	return 0
}

// minorOf returns N of "berth 1.N".
func minorOf(entry string) (int, bool) {
	text, ok := strings.CutPrefix(entry, "berth 1.")
	minor, err := strconv.Atoi(text)
	return minor, ok && err == nil
}

// hasWriteExtensions reports whether the service has berth 1.3, for requests that it can do without. If the service
// cannot be asked, the request that follows returns the error.
func (c *Client) hasWriteExtensions(ctx context.Context) bool {
	has, err := c.HasExtensions(ctx, writeExtensions)
	return has && err == nil
}

// requireWriteExtensions returns an error unless the service has berth 1.3. Nothing is sent without it: a service that
// does not know the version ignores it.
func (c *Client) requireWriteExtensions(ctx context.Context) error {
	has, err := c.HasExtensions(ctx, writeExtensions)
	if err == nil && !has {
		err = fmt.Errorf("not sent: %w berth %s", ErrExtensions, writeExtensions)
	}
	return err
}

// withWriteExtensions selects the version by its number, unless the context selects a later one. "latest" would be an
// older one for an older server, which executes a dry run as a write.
func withWriteExtensions(ctx context.Context) context.Context {
	if minor, ok := minorOf(extensions(ctx)); ok && minor >= 3 {
		return ctx
	}
	return WithExtensions(ctx, writeExtensions)
}

// sendChecked executes an operation that needs berth 1.3 and is not of gen/client.
func (c *Client) sendChecked(ctx context.Context, into any, ask func(context.Context, string, *http.Client) (*http.Response, error)) error {
	if err := c.requireWriteExtensions(ctx); err != nil {
		return err
	}
	return c.Exchange(withWriteExtensions(ctx), into, placementRefusal, ask)
}

// idempotencyKey is the key of a request; own is set for a key of this client, which its retries need for minutes only.
type idempotencyKey struct {
	key string
	own bool
}

type keyKey struct{}

// keyOf returns the key of a context; dry runs have none.
func keyOf(ctx context.Context) idempotencyKey {
	key, _ := ctx.Value(keyKey{}).(idempotencyKey)
	if dryRuns(ctx) != nil {
		return idempotencyKey{}
	}
	return key
}

// ownKeyLifetime is the lifetime of the client's own keys in seconds.
const ownKeyLifetime = "900"

func (k idempotencyKey) addTo(header http.Header) {
	if k.key == "" {
		return
	}
	header.Set("Idempotency-Key", k.key)
	if k.own {
		header.Set("Idempotency-Lifetime", ownKeyLifetime)
	}
}

// sendKeyed is sendChecked with an Idempotency-Key, "" for a new one, so that a request whose response is lost is sent
// again. If the service has no room for a new key, it sends the request without one.
func (c *Client) sendKeyed(ctx context.Context, into any, key string, ask func(context.Context, string, *http.Client) (*http.Response, error)) error {
	sent := idempotencyKey{key: key}
	if key == "" {
		sent = idempotencyKey{uuid.NewString(), true}
	}
	err := c.sendChecked(context.WithValue(ctx, keyKey{}, sent), into, ask)
	var failed *Error
	if sent.own && errors.As(err, &failed) && failed.Code == keysFull {
		return c.sendChecked(ctx, into, ask)
	}
	return err
}

// keysFull is the code of an error before anything is executed.
const keysFull = "berth.idempotency.full"

// sendBodyKeyed is sendBody with an Idempotency-Key if the service has berth 1.3.
func (c *Client) sendBodyKeyed(ctx context.Context, version api.Microversion, value any, ask func(context.Context, *api.Client, *bytes.Reader) (*http.Response, error)) error {
	if version != newest || !c.hasWriteExtensions(ctx) {
		return c.sendBody(ctx, value, ask)
	}
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	err = c.sendKeyed(ctx, nil, "", func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		return ask(ctx, &api.Client{Server: address, Client: over}, bytes.NewReader(body))
	})
	if errors.Is(err, ErrExtensions) && !errors.Is(err, ErrOutcomeUnknown) && dryRuns(ctx) == nil {
		return c.sendBody(ctx, value, ask) // the service is being upgraded, and this server has not executed it
	}
	return err
}

// sendJSON sends a request at the newest microversion.
func sendJSON(ctx context.Context, over *http.Client, method, address string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set(versionHeader, string(newest))
	switch {
	case method == http.MethodPatch:
		request.Header.Set("Content-Type", "application/merge-patch+json")
	case body != nil:
		request.Header.Set("Content-Type", jsonType)
	}
	return over.Do(request)
}

// isBeingUpgraded reports whether a server rejected a version that the service had before.
func (c *Client) isBeingUpgraded(ctx context.Context, response *http.Response) bool {
	selected, ok := minorOf(extensions(ctx))
	minor, _ := c.announced.get()
	if !ok || selected > minor || response == nil || response.StatusCode != http.StatusNotAcceptable {
		return false
	}
	body, err := io.ReadAll(response.Body) // from memory
	response.Body = io.NopCloser(bytes.NewReader(body))
	var listed api.Errors
	return err == nil && json.Unmarshal(body, &listed) == nil && len(listed.Errors) > 0 &&
		value(listed.Errors[0].Code) == unsupportedExtensions
}

// unsupportedExtensions is the code of a version of the extensions that a server does not have.
const unsupportedExtensions = "berth.version.unsupported"
