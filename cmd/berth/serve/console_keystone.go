package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	gophertokens "github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/berthd/berth/internal/exactjson"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/identity/keystone"
)

// Bounds of sign-ins: those at a time, and how long another one waits for its turn.
const (
	maxSignIns = 8
	signInWait = 5 * time.Second
)

// keystoneUsers requests tokens of users for the console. It keeps no password.
type keystoneUsers struct {
	endpoint string
	over     http.Client
	total    time.Duration
	slots    chan struct{}
	log      *slog.Logger
}

// keystoneSignIn returns the sign-in of the console, over the same connections as the validation of tokens.
func (s *service) keystoneSignIn() (console.Keystone, error) {
	options, err := s.Settings.KeystoneOptions()
	if err != nil {
		return nil, err
	}
	return newKeystoneUsers(options, s.log).signIn, nil
}

func newKeystoneUsers(options keystone.Options, log *slog.Logger) *keystoneUsers {
	return &keystoneUsers{
		endpoint: options.Who.IdentityEndpoint, total: cmp.Or(options.Total, 15*time.Second), log: log,
		over:  http.Client{Transport: options.Transport, Timeout: options.Timeout, CheckRedirect: keystone.SameHostRedirects},
		slots: make(chan struct{}, maxSignIns),
	}
}

// signIn implements console.Keystone.
func (k *keystoneUsers) signIn(ctx context.Context, given console.Credentials) (console.Grant, error) {
	if given.Token == "" && (given.ApplicationID == "" || given.Secret == "") && (given.User == "" || given.Password == "") {
		return console.Grant{}, console.InvalidCredentials("Enter both fields: the user and the password, or the credential and its secret.")
	}
	ctx, cancel := context.WithTimeout(ctx, k.total)
	defer cancel()
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
	case <-time.After(signInWait):
		return console.Grant{}, console.Unavailable("Too many users sign in at the same time. Try again.")
	case <-ctx.Done():
		return console.Grant{}, console.Unavailable("Keystone does not answer. Try again.")
	}
	provider, err := openstack.NewClient(k.endpoint)
	if err != nil {
		return console.Grant{}, k.failure(err)
	}
	provider.HTTPClient = k.over
	identity, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		return console.Grant{}, k.failure(err)
	}
	return k.request(ctx, identity, given)
}

// request returns a token for a project. Where none is given it is that of a user's only project; a user with several
// chooses.
func (k *keystoneUsers) request(ctx context.Context, identity *gophercloud.ServiceClient, given console.Credentials) (console.Grant, error) {
	asked := signInOptions(given)
	grant, err := k.create(ctx, identity, asked)
	if err != nil || !asked.unscoped {
		return grant, err
	}
	identity.TokenID = grant.Token
	if grant.Projects, err = k.projects(ctx, identity); err != nil || len(grant.Projects) != 1 {
		return grant, err
	}
	identity.TokenID = ""
	return k.create(ctx, identity, signInOptions(console.Credentials{Token: grant.Token, ProjectID: grant.Projects[0].ID}))
}

// signInRequest is a request for a token. Without a scope Keystone would use the default project of the user.
type signInRequest struct {
	gophertokens.AuthOptions
	unscoped bool
}

// ToTokenV3CreateMap adds the scope that gophercloud does not have.
func (r *signInRequest) ToTokenV3CreateMap(scope map[string]any) (map[string]any, error) {
	body, err := r.AuthOptions.ToTokenV3CreateMap(scope)
	if auth, ok := body["auth"].(map[string]any); ok && r.unscoped {
		auth["scope"] = "unscoped"
	}
	return body, err
}

// projectID is the form of the ids of projects.
var projectID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func signInOptions(given console.Credentials) *signInRequest {
	if given.Token != "" {
		return &signInRequest{AuthOptions: gophertokens.AuthOptions{TokenID: given.Token, Scope: gophertokens.Scope{ProjectID: given.ProjectID}}}
	}
	if given.ApplicationID != "" {
		return &signInRequest{AuthOptions: gophertokens.AuthOptions{ApplicationCredentialID: given.ApplicationID, ApplicationCredentialSecret: given.Secret}}
	}
	domain := cmp.Or(strings.TrimSpace(given.Domain), "Default")
	request := &signInRequest{AuthOptions: gophertokens.AuthOptions{Username: strings.TrimSpace(given.User), DomainName: domain, Password: given.Password}}
	switch project := strings.TrimSpace(given.Project); {
	case project == "":
		request.unscoped = true
	case projectID.MatchString(project):
		request.Scope.ProjectID = project
	default:
		request.Scope = gophertokens.Scope{ProjectName: project, DomainName: domain}
	}
	return request
}

func (k *keystoneUsers) create(ctx context.Context, identity *gophercloud.ServiceClient, asked *signInRequest) (console.Grant, error) {
	token, err := gophertokens.Create(ctx, identity, asked).ExtractToken()
	if err != nil {
		return console.Grant{}, k.failure(err)
	}
	return console.Grant{Token: token.ID, Expires: token.ExpiresAt}, nil
}

// projects returns the projects for which the user of the client's token may get one, by name.
func (k *keystoneUsers) projects(ctx context.Context, identity *gophercloud.ServiceClient) ([]console.Project, error) {
	var body json.RawMessage
	var answer struct {
		Projects []struct {
			ID      string `json:"id"`
			Name    string `json:"name"`
			Enabled bool   `json:"enabled"`
		} `json:"projects"`
	}
	_, err := identity.Get(ctx, identity.ServiceURL("auth", "projects"), &body,
		&gophercloud.RequestOpts{MoreHeaders: map[string]string{"X-Auth-Token": identity.TokenID}})
	if err == nil {
		err = exactjson.Unmarshal(body, &answer)
	}
	if err != nil {
		return nil, k.failure(err)
	}
	var found []console.Project
	for _, each := range answer.Projects {
		if each.Enabled {
			found = append(found, console.Project{ID: each.ID, Name: each.Name})
		}
	}
	slices.SortFunc(found, func(a, b console.Project) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	if len(found) == 0 {
		return nil, console.InvalidCredentials("The user has a role on no project.")
	}
	return found, nil
}

// failure returns the error of a request for the user. Keystone's own sentence tells a wrong password from a locked account.
// The log gets neither what was sent nor what Keystone wrote.
func (k *keystoneUsers) failure(err error) error {
	var answered gophercloud.ErrUnexpectedResponseCode
	cause := err.Error()
	if errors.As(err, &answered) {
		switch answered.Actual {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict:
			return console.InvalidCredentials("Keystone: " + sentenceOf(answered))
		}
		cause = http.StatusText(answered.Actual)
	}
	k.log.Warn("cannot sign a user of the console in with Keystone", "address", k.endpoint, "cause", cause)
	return console.Unavailable("Keystone does not answer. Try again.")
}

// sentenceOf returns what Keystone wrote, or the text of the status.
func sentenceOf(answered gophercloud.ErrUnexpectedResponseCode) string {
	var body struct{ Error struct{ Message string } }
	if json.Unmarshal(answered.Body, &body) != nil || body.Error.Message == "" {
		return http.StatusText(answered.Actual) + "."
	}
	const most = 300
	text := strings.Join(strings.Fields(body.Error.Message), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
