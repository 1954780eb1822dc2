// Package oidcprovider starts an OpenID Connect provider for a test: the server of
// github.com/zitadel/oidc with its storage in memory. It issues JSON Web Tokens by the client credentials
// flow, and rotates its keys on demand.
//
// The tests of Berth decide which claims it issues and how it fails; the protocol is that of the package.
package oidcprovider

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// Secret is the secret of every client.
const Secret = "correct horse"

// Client is a client of the provider, which gets tokens for itself.
type Client struct {
	ID       string
	Audience []string
	// Claims are added to the tokens of the client.
	Claims map[string]any
	// Lifetime is that of its tokens; 0: 5 minutes.
	Lifetime time.Duration
}

// Provider is an OpenID Connect provider. It ends with the test.
type Provider struct {
	// Issuer is the address, without a trailing slash.
	Issuer string

	requests atomic.Int64
	front    atomic.Pointer[func(http.Handler) http.Handler]
	clients  map[string]Client

	mutex   sync.Mutex
	signing key
	public  []key
	// rotations numbers the keys.
	rotations int
}

// Start starts a provider on a loopback address.
func Start(t testing.TB, clients ...Client) *Provider {
	t.Helper()
	p := &Provider{clients: map[string]Client{}}
	for _, one := range clients {
		p.clients[one.ID] = one
	}
	p.Rotate(t, jose.RS256)
	var inner http.Handler
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		if front := p.front.Load(); front != nil {
			(*front)(inner).ServeHTTP(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(listening.Close)
	p.Issuer = listening.URL
	made, err := op.NewProvider(&op.Config{}, &store{storage.NewStorage(storage.NewUserStore(p.Issuer)), p},
		op.StaticIssuer(p.Issuer), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	inner = made
	return p
}

// Token returns an access token of a client, by the client credentials flow.
func (p *Provider) Token(t testing.TB, client string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"berth"}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Issuer+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(client, url.QueryEscape(Secret))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
		Type  string `json:"token_type"`
	}
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil || response.StatusCode != http.StatusOK || answer.Token == "" || answer.Type != oidc.BearerToken {
		t.Fatalf("token of the client %s: status %d, body %s, error %v", client, response.StatusCode, body, err)
	}
	return answer.Token
}

// Requests returns the number of requests that the provider has received.
func (p *Provider) Requests() int64 { return p.requests.Load() }

// Front puts a handler in front of the provider, which may fail or change requests; nil removes it.
func (p *Provider) Front(front func(provider http.Handler) http.Handler) {
	if front == nil {
		p.front.Store(nil)
		return
	}
	p.front.Store(&front)
}

// Stop makes the provider close each connection without a response, until Resume.
func (p *Provider) Stop() {
	p.Front(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	})
}

// Resume ends what Stop or Front began.
func (p *Provider) Resume() { p.Front(nil) }

// store is the storage of the provider: that of the example, with the clients and keys of the test.
type store struct {
	*storage.Storage
	p *Provider
}

// ClientCredentials implements op.ClientCredentialsStorage.
func (s *store) ClientCredentials(_ context.Context, id, secret string) (op.Client, error) {
	if _, ok := s.p.clients[id]; !ok || secret != Secret {
		return nil, errors.New("wrong client or secret")
	}
	return client{&storage.Client{}, id}, nil
}

// ClientCredentialsTokenRequest implements op.ClientCredentialsStorage.
func (s *store) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	return &oidc.JWTTokenRequest{Subject: id, Audience: s.p.clients[id].Audience, Scopes: scopes}, nil
}

// CreateAccessToken implements op.Storage.
func (s *store) CreateAccessToken(_ context.Context, request op.TokenRequest) (string, time.Time, error) {
	lifetime := s.p.clients[request.GetSubject()].Lifetime
	if lifetime == 0 {
		lifetime = 5 * time.Minute
	}
	return "id-of-" + request.GetSubject(), time.Now().Add(lifetime), nil
}

// GetPrivateClaimsFromScopes implements op.Storage.
func (s *store) GetPrivateClaimsFromScopes(_ context.Context, _, id string, _ []string) (map[string]any, error) {
	return s.p.clients[id].Claims, nil
}

// client is a client of the provider that gets JSON Web Tokens.
type client struct {
	*storage.Client
	id string
}

// GetID implements op.Client.
func (c client) GetID() string { return c.id }

// AccessTokenType implements op.Client.
func (c client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

// GrantTypes implements op.Client.
func (c client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}
