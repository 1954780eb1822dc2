package route

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
)

// The headers of idempotent requests.
const (
	keyHeader      = "Idempotency-Key"
	lifetimeHeader = "Idempotency-Lifetime"
	replayedHeader = "Idempotent-Replayed"
)

const (
	maxKeyLength = 255
	// minLifetime and maxLifetime bound the header Idempotency-Lifetime.
	minLifetime, maxLifetime = time.Minute, 24 * time.Hour
	// defaultKeyLifetime is that of a table without the option KeyLifetime.
	defaultKeyLifetime = 24 * time.Hour
	// fullRetryAfter is the Retry-After of a request whose key has no room.
	fullRetryAfter = time.Minute
)

// These are the failures of requests with an Idempotency-Key.
var (
	keyUnsupported = Fails(fault.Invalid, "idempotency-key-unsupported",
		"The request has the header `Idempotency-Key`, which this operation does not support. Nothing was changed.",
		"The header Idempotency-Key is for POST /claims, POST /allocations, and POST and PATCH of /reshaper. This request was not carried out.").
		WithCode(fault.CodeKeyUnsupported)
	keyInDryRun = Fails(fault.Invalid, "idempotency-key-dry-run", "The request is a dry run and has the header `Idempotency-Key`.",
		"A dry run changes nothing and takes no Idempotency-Key.").WithCode(fault.CodeKeyUnsupported)
	keyMalformed = Fails(fault.Invalid, "idempotency-key-malformed", "The header `Idempotency-Key` is malformed.",
		"The header Idempotency-Key must have 1 to 255 visible ASCII characters.").WithCode(fault.CodeKeyMalformed)
	lifetimeMalformed = Fails(fault.Invalid, "idempotency-lifetime-malformed", "The header `Idempotency-Lifetime` is malformed.",
		"The header Idempotency-Lifetime must be a number of seconds from 60 to 86400. Got: %.100s.", "1d").
		WithCode(fault.CodeKeyLifetime)
	keyReused = Fails(fault.Invalid, "idempotency-key-reused", "An earlier request with this key was another one.",
		"Idempotency-Key %s belongs to another request: %s of %s. Use a new key.", "k1", "POST /allocations", "2026-07-02T10:15:30Z").
		WithCode(fault.CodeKeyReused)
	keysFull = Fails(fault.Unavailable, "idempotency-keys-full", "The maximum number of keys is stored. Nothing was changed.",
		"This service has no room for another Idempotency-Key. Send the request without one, or later.").WithCode(fault.CodeKeysFull)
)

// keyedRequest is a request with an Idempotency-Key.
type keyedRequest struct {
	*store.IdempotencyKey
	// request identifies the request without its body.
	request string
	// answer is the headers of the response.
	answer http.Header
}

type keyedRequestKey struct{}

func keyedRequestOf(ctx context.Context) *keyedRequest {
	request, _ := ctx.Value(keyedRequestKey{}).(*keyedRequest)
	return request
}

// IdempotencyKey returns the key of a request to an operation with Keyed; nil: the request has none.
func IdempotencyKey(ctx context.Context) *store.IdempotencyKey {
	if request := keyedRequestOf(ctx); request != nil {
		return request.IdempotencyKey
	}
	return nil
}

// readKey returns the request with its idempotency key in the context, if it has one. Reads and earlier versions ignore
// the header. It is called after the policy and the query string were checked, and before the body is read.
func (t *Table) readKey(op *Operation, w http.ResponseWriter, r *http.Request, at microversion.Version) (*http.Request, error) {
	given := r.Header.Values(keyHeader)
	if given == nil || !op.writes() || !t.api.isStrict(at) {
		return r, nil
	}
	if !op.Keyed {
		return nil, keyUnsupported.Of()
	}
	if t.isDryRun(op, r, at) {
		return nil, keyInDryRun.Of()
	}
	key, ok := parseKey(given)
	if !ok {
		return nil, keyMalformed.Of()
	}
	lifetime, err := t.lifetime(r.Header.Values(lifetimeHeader))
	if err != nil {
		return nil, err
	}
	request := &keyedRequest{
		IdempotencyKey: &store.IdempotencyKey{
			Caller: callerOf(auth.From(r.Context())), Key: key, Request: op.Method + " " + op.Path,
			Status: t.served(op, at).DefaultStatus, Lifetime: lifetime, At: time.Now(),
		},
		request: fmt.Sprintf("%s\n%s\n%s\n%s\n", r.Method, r.URL.Path, at.Label(), r.URL.RawQuery),
		answer:  w.Header(),
	}
	return r.WithContext(context.WithValue(r.Context(), keyedRequestKey{}, request)), nil
}

// parseKey returns the key without surrounding quotes, which the IETF draft of the header requires. It returns false for
// several lines, because their combination has a space.
func parseKey(lines []string) (key string, ok bool) {
	key = strings.Join(lines, ", ")
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	isVisible := !strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' })
	return key, 0 < len(key) && len(key) <= maxKeyLength && isVisible
}

// lifetime returns the lifetime of a key from the lines of its header; without lines the setting of the table.
func (t *Table) lifetime(lines []string) (time.Duration, error) {
	if lines == nil {
		return t.keyLifetime, nil
	}
	text := strings.Join(lines, ", ")
	seconds, err := strconv.ParseUint(text, 10, 32)
	lifetime := time.Duration(seconds) * time.Second
	if err != nil || lifetime < minLifetime || lifetime > maxLifetime {
		return 0, lifetimeMalformed.Of(text)
	}
	return lifetime, nil
}

// CallerOf returns the text that identifies the caller of a request among all callers.
func CallerOf(ctx context.Context) string { return callerOf(auth.From(ctx)) }

// callerOf returns the text that identifies a caller among all callers. No part has a line feed: parts are values of
// headers, or IDs of Keystone. A part that PostgreSQL cannot store is quoted.
func callerOf(caller auth.Caller) string {
	parts := []string{caller.Method, caller.UserID, caller.ProjectID}
	for i, part := range parts {
		if !utf8.ValidString(part) || strings.ContainsAny(part, "\x00\n") {
			parts[i] = strconv.QuoteToASCII(part)
		}
	}
	return strings.Join(parts, "\n")
}

// setBody completes the fingerprint with the body.
func (k *keyedRequest) setBody(raw []byte) error {
	form, err := jsonbody.Canonical(raw)
	if err != nil {
		return malformedJSON.Of(err)
	}
	sum := sha256.New()
	sum.Write([]byte(k.request))
	sum.Write(form)
	sum.Sum(k.Fingerprint[:0])
	return nil
}

// finish adds the header of a replayed response, and translates the errors of the key.
func (k *keyedRequest) finish(err error) error {
	if k == nil {
		return err
	}
	if err == nil && k.Replayed {
		k.answer.Set(replayedHeader, "true")
	}
	if errors.Is(err, store.ErrKeysFull) {
		full := keysFull.Of()
		full.RetryAfter = fullRetryAfter
		return full
	}
	return RuleFaults{store.IdempotencyKeyReused: func(values store.Values) *fault.Error {
		return keyReused.Of(k.Key, values.Request, values.CreatedAt.UTC().Format(time.RFC3339))
	}}.Translate(err)
}

// keyFailures returns the failures of readKey and of keyed writes.
func (op *Operation) keyFailures() []*Failure {
	if !op.Keyed {
		return []*Failure{&keyUnsupported}
	}
	return []*Failure{&keyInDryRun, &keyMalformed, &lifetimeMalformed, &keyReused}
}

// documentKey adds the headers of a version to the document of an operation.
func (op *Operation) documentKey(api *API, at microversion.Version, described *huma.Operation) {
	if !op.Keyed || !api.isStrict(at) {
		return
	}
	number, longest := 1, maxKeyLength
	least, most := minLifetime.Seconds(), maxLifetime.Seconds()
	described.Parameters = append(described.Parameters, &huma.Param{
		Name: keyHeader, In: "header", Example: "build-4711",
		Description: "Identifies the request. A repetition with the same key gets the response of the first one that succeeded.",
		Schema:      &huma.Schema{Type: huma.TypeString, MinLength: &number, MaxLength: &longest, Pattern: "^[!-~]+$"},
	}, &huma.Param{
		Name: lifetimeHeader, In: "header", Example: 900,
		Description: "Number of seconds for which the server stores the key and the response. The default is a setting of the server.",
		Schema:      &huma.Schema{Type: huma.TypeInteger, Format: "int32", Minimum: &least, Maximum: &most},
	})
}
