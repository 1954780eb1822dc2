package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
)

// identity is as much of Keystone as a client of this package asks for: it takes a
// password and gives tokens with a catalog. It stands in for the real one, which
// the tests of the whole system use.
type identity struct {
	*httptest.Server
	// placement is the service of the catalog. It is public in the region One,
	// internal in the region Two.
	placement *httptest.Server
	lifetime  time.Duration
	given     atomic.Int64
	// revoked are the tokens up to this one.
	revoked atomic.Int64
}

func newIdentity(t testing.TB) *identity {
	made := &identity{placement: serve(t), lifetime: time.Hour}
	made.Server = httptest.NewServer(http.HandlerFunc(made.serve))
	t.Cleanup(made.Close)
	return made
}

func (i *identity) serve(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct{ Name, Password string }
				}
			}
		}
	}
	if r.Method+" "+r.URL.Path != "POST /v3/auth/tokens" || json.NewDecoder(r.Body).Decode(&asked) != nil {
		http.NotFound(w, r)
		return
	}
	if user := asked.Auth.Identity.Password.User; user.Name != "nova" || user.Password != "secret" {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`)
		return
	}
	w.Header().Set("X-Subject-Token", fmt.Sprintf("token-%d", i.given.Add(1)))
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"token": {"expires_at": %q, "user": {"id": "u-1", "name": "nova"}, "project": {"id": "p-1", "name": "service"}, "catalog": [{"type": "placement", "name": "placement", "endpoints": [
		{"interface": "public", "region": "One", "region_id": "One", "url": %q},
		{"interface": "internal", "region": "Two", "region_id": "Two", "url": %q}]}]}}`,
		time.Now().Add(i.lifetime).UTC().Format("2006-01-02T15:04:05.000000Z"), i.placement.URL, i.placement.URL)
}

// guard is the part that a service has with Keystone: it lets the tokens in that
// are valid.
func (i *identity) guard(request *http.Request) (*http.Response, error) {
	if request.URL.Host != i.placement.Listener.Addr().String() {
		return nil, nil
	}
	var number int64
	if _, err := fmt.Sscanf(request.Header.Get(tokenHeader), "token-%d", &number); err != nil || number <= i.revoked.Load() {
		return answer(request, http.StatusUnauthorized, `{"error": {"code": 401, "title": "Unauthorized"}}`, "Content-Type: "+jsonType), nil
	}
	request.Header.Set(tokenHeader, "admin")
	return nil, nil
}

// client signs in. Without an address the catalog's is taken.
func (i *identity) client(t testing.TB, address, password string, which KeystoneOptions) (*Client, *faultyTransport) {
	t.Helper()
	through := &faultyTransport{Before: i.guard}
	made := must(New(address, WithTransport(through), WithRetries(Retries{Attempts: 3, Pause: time.Millisecond}), WithKeystone(gophercloud.AuthOptions{
		IdentityEndpoint: i.URL, Username: "nova", Password: password, DomainName: "Default", TenantName: "service",
	}, which)))(t)
	return made, through
}

const fetched, asked = "POST /v3/auth/tokens", "GET /traits"

func ask(ctx context.Context, client *Client) error {
	_, err := client.TraitList(ctx, TraitFilter{})
	return err
}

func wantSent(t testing.TB, through *faultyTransport, want ...string) {
	t.Helper()
	if got := through.Requests(); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("requests: %q, want %q", got, want)
	}
}

func TestClient_TokenOwner_IsThatOfKeystone(t *testing.T) {
	t.Parallel()
	client, through := newIdentity(t).client(t, "", "secret", KeystoneOptions{})
	for range 2 {
		if got, want := must(client.TokenOwner(t.Context()))(t), (TokenOwner{Project: "p-1", User: "u-1"}); got != want {
			t.Errorf("owner = %+v, want %+v", got, want)
		}
	}
	wantSent(t, through, fetched)
	if got := must(newClient(t).TokenOwner(t.Context()))(t); got != (TokenOwner{}) {
		t.Errorf("owner without Keystone = %+v", got)
	}
}

func TestClient_KeystoneToken_FetchedOnceAndReused(t *testing.T) {
	t.Parallel()
	for _, which := range []KeystoneOptions{{}, {Region: "One"}, {Region: "Two", Interface: "internal"}} {
		client, through := newIdentity(t).client(t, "", "secret", which)
		wantSent(t, through)
		if err := errors.Join(ask(t.Context(), client), ask(t.Context(), client)); err != nil {
			t.Error(err)
		}
		wantSent(t, through, fetched, asked, asked)
	}
}

func TestClient_KeystoneToken_RenewedBeforeExpiry(t *testing.T) {
	t.Parallel()
	for elapsed, want := range map[time.Duration][]string{
		57 * time.Minute: {fetched, asked, asked}, 59 * time.Minute: {fetched, asked, fetched, asked},
	} {
		keystone := newIdentity(t)
		client, through := keystone.client(t, "", "secret", KeystoneOptions{})
		err := ask(t.Context(), client)
		keystone.lifetime = 3 * time.Hour
		moveClock(client, elapsed)
		if err = errors.Join(err, ask(t.Context(), client)); err != nil {
			t.Error(err)
		}
		wantSent(t, through, want...)
	}
}

// moveClock makes it later for the client's tokens.
func moveClock(client *Client, elapsed time.Duration) {
	client.auth.(*keystone).now = func() time.Time { return time.Now().Add(elapsed) }
}

func TestClient_KeystoneTokenRejected_ReplacedOnce(t *testing.T) {
	t.Parallel()
	keystone := newIdentity(t)
	client, through := keystone.client(t, keystone.placement.URL, "secret", KeystoneOptions{})
	if err := ask(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	keystone.revoked.Store(1)
	// A write may be sent again, too: it was refused before anything was done.
	if _, err := client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil); err != nil {
		t.Error(err)
	}
	wantSent(t, through, fetched, asked, "POST /resource_providers", fetched, "POST /resource_providers")
	keystone.revoked.Store(9)
	wantErrors(t, ask(t.Context(), client), ErrUnauthorized)
	wantSent(t, through, asked, fetched, asked)
}

func TestClient_KeystoneWrongPassword_NotRetried(t *testing.T) {
	t.Parallel()
	keystone := newIdentity(t)
	for _, address := range []string{"", keystone.placement.URL} {
		client, through := keystone.client(t, address, "wrong", KeystoneOptions{})
		err := ask(t.Context(), client)
		wantErrors(t, err, ErrUnauthorized)
		if !strings.Contains(err.Error(), keystone.URL+": 401 Keystone: Unauthorized: ") || strings.Contains(err.Error(), "wrong") {
			t.Errorf("it reads %q", err)
		}
		wantSent(t, through, fetched)
	}
}

func TestClient_KeystoneUnreachable_Retried(t *testing.T) {
	t.Parallel()
	for _, down := range []func(*http.Request) (*http.Response, error){cut, undialled, status(503)} {
		keystone := newIdentity(t)
		for _, address := range []string{"", keystone.placement.URL} {
			client, through := keystone.client(t, address, "secret", KeystoneOptions{})
			failed := failing("POST", "/v3", 2, down)
			through.Before = func(request *http.Request) (*http.Response, error) {
				if answered, err := failed.Before(request); answered != nil || err != nil {
					return answered, err
				}
				return keystone.guard(request)
			}
			if err := ask(t.Context(), client); err != nil {
				t.Error(err)
			}
			wantSent(t, through, fetched, fetched, fetched, asked)
			// When it stays away nothing was done, whatever was asked for.
			client, _ = keystone.client(t, address, "secret", KeystoneOptions{})
			leaveWithout(client, down)
			_, err := client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil)
			wantErrors(t, err, ErrUnavailable)
		}
	}
}

// leaveWithout makes a client's Keystone go away for good.
func leaveWithout(client *Client, down func(*http.Request) (*http.Response, error)) {
	client.auth.(*keystone).over = &http.Client{Transport: &faultyTransport{Before: down}}
}

func TestClient_ConcurrentCalls_FetchOneToken(t *testing.T) {
	t.Parallel()
	keystone := newIdentity(t)
	client, _ := keystone.client(t, "", "secret", KeystoneOptions{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := ask(t.Context(), client); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if given := keystone.given.Load(); given != 1 {
		t.Errorf("%d tokens were fetched, want 1", given)
	}
}

func TestClient_CatalogWithoutService_NamesMissingEndpoint(t *testing.T) {
	t.Parallel()
	client, _ := newIdentity(t).client(t, "", "secret", KeystoneOptions{Region: "Two"})
	err := ask(t.Context(), client)
	if want := `the catalog has no public endpoint of the service type placement in the region "Two"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want one that says %q", err, want)
	}
	other, _ := newIdentity(t).client(t, "", "secret", KeystoneOptions{ServiceType: "baremetal"})
	if err := ask(t.Context(), other); err == nil || !strings.Contains(err.Error(), "endpoint of the service type baremetal;") {
		t.Errorf("the service type that was asked for is not looked for: %v", err)
	}
	if _, err := New("", WithKeystone(gophercloud.AuthOptions{IdentityEndpoint: "http://keystone"}, KeystoneOptions{Interface: "secret"})); err == nil {
		t.Error("an interface that there is not is accepted")
	}
	if _, err := New("", WithKeystone(gophercloud.AuthOptions{}, KeystoneOptions{})); err == nil {
		t.Error("a Keystone without an address is accepted")
	}
}
