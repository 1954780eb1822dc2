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

// authenticator returns the headers that identify the caller.
type authenticator interface {
	// headers returns the headers that identify the caller. The caller must not change them.
	headers(ctx context.Context) (http.Header, error)
	// refused drops a token that the service rejected, and reports whether a new one can be requested.
	refused(token string) bool
}

// fixed is an authenticator with constant headers.
type fixed struct{ always http.Header }

func (f fixed) headers(context.Context) (http.Header, error) { return f.always, nil }
func (f fixed) refused(string) bool                          { return false }

// noAuth returns the headers with which a service without authentication identifies the caller.
func noAuth(user, project string, roles ...string) fixed {
	token := user
	if project != "" {
		token += ":" + project
	}
	if len(roles) == 0 {
		// The reshape requires the service role.
		roles = []string{"admin", "service"}
	}
	return fixed{http.Header{tokenHeader: {token}, "X-Roles": {strings.Join(roles, ",")}}}
}

// keystone requests tokens from Keystone and caches the newest.
type keystone struct {
	who   gophercloud.AuthOptions
	which gophercloud.EndpointOpts
	over  *http.Client
	now   func() time.Time

	// turn is a lock of one slot for the fields below. Its owner requests a token while other callers wait until it is
	// free or their context ends.
	turn    chan struct{}
	token   string
	expires time.Time
	address string
	owner   TokenOwner
}

// TokenOwner is the project and the user of a token, by their IDs. The project is empty if the token has none.
type TokenOwner struct{ Project, User string }

// TokenOwner returns whom the token of Keystone belongs to. The zero value: the client uses no Keystone, and only the service
// knows.
func (c *Client) TokenOwner(ctx context.Context) (TokenOwner, error) {
	of, ok := c.auth.(*keystone)
	if !ok {
		return TokenOwner{}, nil
	}
	if err := of.ensure(ctx); err != nil {
		return TokenOwner{}, err
	}
	defer of.leave()
	return of.owner, nil
}

// renewBefore is the time before its expiry at which a token is renewed: a request may wait for a connection and for
// the service.
const renewBefore = 2 * time.Minute

func newKeystone(who gophercloud.AuthOptions, which KeystoneOptions, over *http.Client) (*keystone, error) {
	if who.IdentityEndpoint == "" {
		return nil, errors.New("keystone: the identity endpoint is missing (OS_AUTH_URL)")
	}
	// This package renews tokens; the renewal of gophercloud needs its own client.
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

// ensure takes the turn and requests a token unless the cached one is valid. If it returns no error, the caller must
// call leave.
func (k *keystone) ensure(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if k.token != "" && k.now().Before(k.expires.Add(-renewBefore)) {
		return nil
	}
	err := k.fetch(ctx)
	if err != nil {
		k.leave()
	}
	return err
}

// fetch requests a token and finds the address of the service in the catalog.
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
		ExtractUser() (*tokens.User, error)
		ExtractProject() (*tokens.Project, error)
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
	k.owner = TokenOwner{}
	if user, err := granted.ExtractUser(); err == nil && user != nil {
		k.owner.User = user.ID
	}
	if project, err := granted.ExtractProject(); err == nil && project != nil {
		k.owner.Project = project.ID
	}
	k.address, _ = openstack.V3Endpoint(ctx, provider, catalog, k.which) // endpoint returns a more detailed error
	return nil
}

// keystoneFailure returns an Error like those of the service: a wrong password is an ErrUnauthorized, an unreachable
// Keystone an ErrUnavailable.
func keystoneFailure(identity string, err error) error {
	failed := &Error{Method: http.MethodPost, Path: identity, Title: "Keystone does not respond", Cause: err}
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
