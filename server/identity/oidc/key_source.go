package oidc

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/berthd/berth/internal/exactjson"
)

// The limits of the issuer's documents. The largest known key sets have some twenty keys and 20 kB.
const (
	maxDocument = 1 << 20
	maxKeys     = 100
	minRSABits  = 2048
)

// maxErrorText is the maximum length of a text from the issuer in an error.
const maxErrorText = 300

// keySource fetches the public keys of an issuer.
type keySource struct {
	issuer, keysURL string
	algorithms      []string
	client          *http.Client
}

// CheckURL returns an error unless the text is an address that is safe to fetch keys from: https, or http
// on the loopback interface, without user, query and fragment. Anyone who could change the keys on their
// way could issue tokens.
func CheckURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return errors.New("want an absolute URL without user, query and fragment")
	}
	if parsed.Scheme == "https" || parsed.Scheme == "http" && isLoopback(parsed.Hostname()) {
		return nil
	}
	return errors.New("want https; http is possible on the loopback interface only")
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// newClient returns the client for the issuer's documents. It follows no redirects: the addresses of an
// issuer are exact, and a redirect could lead to a host that the operator has not named.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: boundedTransport{transport},
		CheckRedirect: func(next *http.Request, _ []*http.Request) error {
			return fmt.Errorf("not following the redirect to %s; configure the final address", next.URL.Redacted())
		},
	}
}

// boundedTransport limits the bodies of responses to maxDocument.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxDocument)
	}
	return response, err
}

// fetch returns the usable keys of the issuer.
func (s keySource) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	address := s.keysURL
	if address == "" {
		var err error
		if address, err = s.discover(ctx); err != nil {
			return nil, fmt.Errorf("cannot read the discovery document of %s: %w", s.issuer, short(err))
		}
	}
	body, err := s.get(ctx, address)
	if err == nil {
		var keys []jose.JSONWebKey
		if keys, err = s.usable(body); err == nil {
			return keys, nil
		}
	}
	return nil, fmt.Errorf("cannot read the keys at %s: %w", address, short(err))
}

// discover returns the address of the keys in the issuer's discovery document, whose member issuer must
// equal the configured one.
func (s keySource) discover(ctx context.Context) (string, error) {
	body, err := s.get(ctx, strings.TrimSuffix(s.issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return "", err
	}
	var document struct {
		Issuer  string `json:"issuer"`
		KeysURL string `json:"jwks_uri"`
	}
	if err := exactjson.Unmarshal(body, &document); err != nil {
		return "", err
	}
	if document.Issuer != s.issuer {
		return "", fmt.Errorf("its issuer is %q", document.Issuer)
	}
	if err := CheckURL(document.KeysURL); err != nil {
		return "", fmt.Errorf("jwks_uri %q: %w", document.KeysURL, err)
	}
	if strings.HasPrefix(s.issuer, "https:") && !strings.HasPrefix(document.KeysURL, "https:") {
		return "", fmt.Errorf("jwks_uri %q: want https, as in the issuer", document.KeysURL)
	}
	return document.KeysURL, nil
}

func (s keySource) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s, want 200", response.Status)
	}
	return body, nil
}

// usable returns the keys of a JSON Web Key Set that can verify signatures of the accepted algorithms. It
// ignores all others, as RFC 7517 requires: an issuer may add kinds of keys at any time.
func (s keySource) usable(document []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := exactjson.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("not a JSON Web Key Set: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys, more than %d", len(set.Keys), maxKeys)
	}
	var usable []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey // compares names exactly and rejects duplicates
		if json.Unmarshal(raw, &key) == nil && s.isUsable(key) {
			usable = append(usable, key)
		}
	}
	if len(usable) == 0 {
		return nil, fmt.Errorf("none of the %d keys can verify signatures of %s", len(set.Keys), strings.Join(s.algorithms, ", "))
	}
	return usable, nil
}

func (s keySource) isUsable(key jose.JSONWebKey) bool {
	if key.Use != "" && key.Use != "sig" || key.Algorithm != "" && !slices.Contains(s.algorithms, key.Algorithm) {
		return false
	}
	if weak, ok := key.Key.(*rsa.PublicKey); ok && weak.N.BitLen() < minRSABits {
		return false
	}
	return key.IsPublic() && key.Valid()
}

// short shortens the text of an error, which may contain a document of the issuer.
func short(err error) error {
	if text := err.Error(); len(text) > maxErrorText {
		return errors.New(strings.ToValidUTF8(text[:maxErrorText], "") + "…")
	}
	return err
}
