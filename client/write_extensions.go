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

	api "github.com/berthd/berth/gen/client"
)

// berth13 is the first version of the extensions with claims, trees, patches, dry runs and idempotency keys.
const berth13 = "1.3"

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
