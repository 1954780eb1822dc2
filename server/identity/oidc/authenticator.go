package oidc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/berthd/berth/server/identity/auth"
)

// Options configures an Authenticator: the issuer, and the tokens to accept.
type Options struct {
	// Issuer is the address of the issuer, exactly as in the claim iss of its tokens.
	Issuer string
	// KeysURL is the address of the issuer's keys; empty: the member jwks_uri of its discovery document.
	KeysURL string
	// Audiences lists the accepted values of the claim aud: a token needs one of them.
	Audiences []string
	// Algorithms lists the accepted signature algorithms, which must be in SupportedAlgorithms.
	Algorithms []string
	// TokenTypes lists the accepted values of the header typ, TypeAccessToken and TypeJWT.
	TokenTypes []string
	// Leeway is the accepted clock skew for the claims exp, nbf and iat.
	Leeway time.Duration
	// Claims maps the claims of a token to a caller.
	Claims ClaimMapping

	// Transport sends the requests to the issuer; nil: http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout bounds one fetch of the keys, with the discovery document; 0: 10 seconds.
	Timeout time.Duration
	// RefreshInterval is the age of the keys after which Berth fetches them again; 0: 5 minutes.
	RefreshInterval time.Duration
	// MaxKeyAge is the age after which keys are no longer used, if the issuer is unreachable; 0: 1 hour.
	MaxKeyAge time.Duration
	// Log receives failures of fetches in the background.
	Log *slog.Logger
}

// The accepted values of Options.TokenTypes.
const (
	// TypeAccessToken is the type of access tokens (RFC 9068).
	TypeAccessToken = "at+jwt"
	// TypeJWT is the type of tokens that declare no purpose, or have no header typ.
	TypeJWT = "jwt"
)

// SupportedAlgorithms lists the signature algorithms that Options.Algorithms may contain. All are
// asymmetric: with a symmetric one, every server that verifies tokens could also issue them.
var SupportedAlgorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
}

const (
	defaultTimeout         = 10 * time.Second
	defaultRefreshInterval = 5 * time.Minute
	defaultMaxKeyAge       = time.Hour
)

// Authenticator authenticates requests with tokens of one issuer. It is safe for concurrent use.
type Authenticator struct {
	options    Options
	algorithms []jose.SignatureAlgorithm
	keys       *keySet
	stats      stats
	now        func() time.Time
}

// New returns an authenticator. It sends no request, so that Berth can start while the issuer is
// unreachable.
func New(options Options) (*Authenticator, error) {
	if err := CheckURL(options.Issuer); err != nil {
		return nil, fmt.Errorf("oidc: invalid issuer %q: %w", options.Issuer, err)
	}
	if options.KeysURL != "" {
		if err := CheckURL(options.KeysURL); err != nil {
			return nil, fmt.Errorf("oidc: invalid address of keys %q: %w", options.KeysURL, err)
		}
	}
	if len(options.Audiences) == 0 || len(options.Algorithms) == 0 || len(options.TokenTypes) == 0 {
		return nil, errors.New("oidc: audiences, algorithms and token types must not be empty")
	}
	a := &Authenticator{options: options, now: time.Now}
	for _, name := range options.Algorithms {
		if !slices.Contains(SupportedAlgorithms, name) {
			return nil, fmt.Errorf("oidc: invalid signature algorithm %q: want some of %s", name, strings.Join(SupportedAlgorithms, ", "))
		}
		a.algorithms = append(a.algorithms, jose.SignatureAlgorithm(name))
	}
	a.keys = &keySet{
		source: keySource{
			issuer: options.Issuer, keysURL: options.KeysURL, algorithms: options.Algorithms,
			client: newClient(cmp.Or(options.Transport, http.DefaultTransport)),
		},
		timeout:         cmp.Or(options.Timeout, defaultTimeout),
		refreshInterval: cmp.Or(options.RefreshInterval, defaultRefreshInterval),
		maxAge:          cmp.Or(options.MaxKeyAge, defaultMaxKeyAge),
		retryInterval:   minFetchInterval,
		waiting:         make(chan struct{}, maxWaiting),
		stats:           &a.stats, log: options.Log,
		now: func() time.Time { return a.now() },
	}
	return a, nil
}

// Check fetches the keys of the issuer unless a recent fetch has succeeded, and returns the error if that
// fails.
func (a *Authenticator) Check(ctx context.Context) error {
	_, err := a.keys.fetch(ctx)
	return err
}

// Authenticate returns the caller of a request, as auth.Authenticate specifies. A token without the claims
// of a caller leads to an *auth.DeniedError.
func (a *Authenticator) Authenticate(r *http.Request) (auth.Caller, error) {
	auth.DropIdentity(r.Header)
	text, err := auth.Token(r)
	if err != nil {
		a.stats.invalid.Add(1)
		return auth.Caller{}, err
	}
	claims, expires, err := a.verify(r.Context(), text)
	if err == nil {
		var caller auth.Caller
		if caller, err = a.options.Claims.caller(claims); err == nil {
			caller.Expires = expires
			a.stats.valid.Add(1)
			return caller, nil
		}
	}
	if r.Context().Err() == nil { // a client that leaves is no failure of the issuer
		a.stats.count(err)
	}
	return auth.Caller{}, err
}
