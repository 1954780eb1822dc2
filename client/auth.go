package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

const tokenHeader = "X-Auth-Token"

// authenticator knows who the caller is.
type authenticator interface {
	// headers say who the caller is. They must not be changed.
	headers(ctx context.Context) (http.Header, error)
	// refused is told of a token that the service did not accept, and says whether
	// another one can be had.
	refused(token string) bool
}

// fixed headers never change.
type fixed struct{ always http.Header }

func (f fixed) headers(context.Context) (http.Header, error) { return f.always, nil }
func (f fixed) refused(string) bool                          { return false }

// noAuth is what a service without authentication takes for an identity.
func noAuth(user, project string, roles ...string) fixed {
	token := user
	if project != "" {
		token += ":" + project
	}
	if len(roles) == 0 {
		// The service role is what the reshape asks for.
		roles = []string{"admin", "service"}
	}
	return fixed{http.Header{tokenHeader: {token}, "X-Roles": {strings.Join(roles, ",")}}}
}

// keystone gets tokens and keeps the newest.
type keystone struct {
	who   gophercloud.AuthOptions
	which gophercloud.EndpointOpts
	over  *http.Client
	now   func() time.Time

	// turn has one place. Who takes it may read and write what follows, and fetch a
	// token while the others wait for it, or give up waiting.
	turn    chan struct{}
	token   string
	expires time.Time
	address string
}

// early is how long before its end a token is not used any more: a request may
// wait for a connection and for the service.
const early = 2 * time.Minute

func newKeystone(who gophercloud.AuthOptions, which KeystoneOptions, over *http.Client) (*keystone, error) {
	if who.IdentityEndpoint == "" {
		return nil, errors.New("keystone: the identity endpoint is missing (OS_AUTH_URL)")
	}
	// Tokens are renewed here; the other library's way needs its own client.
	who.AllowReauth = false
	wanted := gophercloud.EndpointOpts{Region: which.Region, Availability: gophercloud.Availability(which.Interface)}
	wanted.ApplyDefaults(cmp.Or(which.ServiceType, "placement"))
	switch wanted.Availability {
	case gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin:
	default:
		return nil, fmt.Errorf("keystone: the interface %q is none of public, internal and admin", which.Interface)
	}
	return &keystone{who: who, which: wanted, over: over, now: time.Now, turn: make(chan struct{}, 1)}, nil
}

func (k *keystone) headers(ctx context.Context) (http.Header, error) {
	if err := k.ensure(ctx); err != nil {
		return nil, err
	}
	defer k.leave()
	return http.Header{tokenHeader: {k.token}}, nil
}

func (k *keystone) refused(token string) bool {
	k.turn <- struct{}{}
	defer k.leave()
	if k.token == token {
		k.token = ""
	}
	return true
}

func (k *keystone) endpoint(ctx context.Context) (string, error) {
	if err := k.ensure(ctx); err != nil {
		return "", err
	}
	defer k.leave()
	if k.address == "" {
		return "", fmt.Errorf("keystone: the catalog has no %s endpoint of the service type %s%s; "+
			"give the address of the service", k.which.Availability, k.which.Type, inRegion(k.which.Region))
	}
	return k.address, nil
}

func inRegion(region string) string {
	if region == "" {
		return ""
	}
	return fmt.Sprintf(" in the region %q", region)
}

func (k *keystone) leave() { <-k.turn }

// ensure takes the turn and gets a token unless there is one that lasts. Without
// an error the caller has to leave.
func (k *keystone) ensure(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if k.token != "" && k.now().Before(k.expires.Add(-early)) {
		return nil
	}
	err := k.fetch(ctx)
	if err != nil {
		k.leave()
	}
	return err
}

// fetch gets a token and with it the address of the service.
func (k *keystone) fetch(ctx context.Context) error {
	provider, err := openstack.NewClient(k.who.IdentityEndpoint)
	if err != nil {
		return fmt.Errorf("keystone: %w", err)
	}
	provider.HTTPClient = *k.over
	who := k.who
	if err := openstack.AuthenticateV3(ctx, provider, &who, gophercloud.EndpointOpts{}); err != nil {
		return keystoneFailure(k.who.IdentityEndpoint, err)
	}
	granted, ok := provider.GetAuthResult().(interface {
		ExtractToken() (*tokens.Token, error)
		ExtractServiceCatalog() (*tokens.ServiceCatalog, error)
	})
	if !ok {
		return fmt.Errorf("keystone: an answer of the type %T has no token", provider.GetAuthResult())
	}
	token, err := granted.ExtractToken()
	if err != nil {
		return fmt.Errorf("keystone: the token: %w", err)
	}
	catalog, err := granted.ExtractServiceCatalog()
	if err != nil {
		return fmt.Errorf("keystone: the catalog: %w", err)
	}
	k.token, k.expires = token.ID, token.ExpiresAt
	k.address, _ = openstack.V3Endpoint(ctx, provider, catalog, k.which) // its error says less than endpoint does
	return nil
}

// keystoneFailure is an Error like those of the service, so that a wrong password
// is an ErrUnauthorized and a Keystone that is away an ErrUnavailable.
func keystoneFailure(identity string, err error) error {
	failed := &Error{Method: http.MethodPost, Path: identity, Title: "Keystone does not answer", Cause: err}
	if parsed, parseErr := url.Parse(identity); parseErr == nil {
		failed.Path = parsed.Redacted()
	}
	var answered gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answered) {
		failed.Status, failed.Title = answered.Actual, "Keystone: "+http.StatusText(answered.Actual)
		failed.Detail, failed.Cause = excerpt(answered.Body), nil
	}
	return failed
}
