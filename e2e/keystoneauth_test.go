//go:build client

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/test/dbtest"
)

// visit is a request and what must come of it.
type visit struct {
	name, request string
	// headers are pairs.
	headers []string
	status  int
}

// reply is what came of it.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request such as "GET /traits", at the newest microversion.
func send(t *testing.T, url, request string, headers ...string) reply {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	made, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	made.Header.Set("OpenStack-API-Version", "placement 1.39")
	if body != "" {
		made.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		made.Header[headers[i]] = []string{headers[i+1]} // as it is spelled here
	}
	// Nothing is kept open, so that servers can stop at once.
	made.Close = true
	response, err := http.DefaultClient.Do(made)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(read)}
}

// check sends a request and compares the status.
func (v visit) check(t *testing.T, url string) reply {
	t.Helper()
	got := send(t, url, v.request, v.headers...)
	if got.status != v.status {
		t.Errorf("%s: %s is answered %d, want %d: %s", v.name, v.request, got.status, v.status, got.body)
	}
	return got
}

const (
	// A caller that may reshape gets 400, because this one is empty.
	emptyReshape = `POST /reshaper {"inventories":{},"allocations":{}}`
	// challenged is the body that the services before have for who has no token.
	challenged = `{"error":{"code":401,"title":"Unauthorized","message":"The request you have made requires authentication."}}`
)

// TestKeystone_RealService_IdentifiesCallers runs one Keystone and one Berth, and every kind of
// caller against them.
func TestKeystone_RealService_IdentifiesCallers(t *testing.T) {
	t.Parallel()
	identity := startKeystone(t)
	settings := identity.validator(t)
	serving := serveOn(t, dbtest.NewEmpty(t).URL, settings...)
	identity.service(t, "placement", serving.url)
	identity.service(t, "baremetal", serving.url)
	project := identity.project(t, "demo")
	identity.user(t, "alice", project, "reader")
	identity.user(t, "bob", project, "observer")
	identity.user(t, "nova", project, "service")
	everywhere := identity.user(t, "root", project, "admin")
	identity.grant(t, "admin", assignment{UserID: everywhere, System: true})
	identity.grant(t, "admin", assignment{UserID: everywhere, DomainID: "default"})
	for name, test := range map[string]func(*testing.T){
		"may what their roles say": func(t *testing.T) { callersMay(t, identity, serving.url, project) },
		"need a token":             func(t *testing.T) { callersNeedAToken(t, identity, serving.url) },
		"may have a credential":    func(t *testing.T) { callersMayHaveACredential(t, identity, serving.url) },
		"open the console":         func(t *testing.T) { callersOpenTheConsole(t, identity, serving.url) },
		"find the service":         func(t *testing.T) { callersFindTheService(t, identity, serving.url) },
	} {
		if !t.Run(name, test) {
			return
		}
	}
	t.Run("wait for a Keystone that is away", func(t *testing.T) { callersWait(t, identity, serving.url, settings) })
}

func callersMay(t *testing.T, identity *keystone, url, project string) {
	token := func(who gophercloud.AuthOptions) string { return identity.token(t, who) }
	of := func(scope gophercloud.AuthScope) gophercloud.AuthOptions {
		who := identity.password("root", "")
		who.Scope = &scope
		return who
	}
	admin, alice := token(identity.password("root", "demo")), token(identity.password("alice", "demo"))
	bob, nova := token(identity.password("bob", "demo")), token(identity.password("nova", "demo"))
	system, domain := token(of(gophercloud.AuthScope{System: true})), token(of(gophercloud.AuthScope{DomainID: "default"}))
	own, other := "GET /usages?project_id="+project, "GET /usages?project_id="+uuid.NewString()
	for _, c := range []visit{
		{"an administrator", "GET /resource_providers", []string{"X-Auth-Token", admin}, 200},
		{"an administrator", other, []string{"X-Auth-Token", admin}, 200},
		{"an administrator", emptyReshape, []string{"X-Auth-Token", admin}, 403},
		{"an administrator", "GET /v1/nodes", []string{"X-Auth-Token", admin}, 200},
		{"a service", "GET /resource_providers", []string{"X-Auth-Token", nova}, 200},
		{"a service", emptyReshape, []string{"X-Auth-Token", nova}, 400},
		{"a reader", own, []string{"X-Auth-Token", alice}, 200},
		{"a reader", other, []string{"X-Auth-Token", alice}, 403},
		{"a reader", "GET /resource_providers", []string{"X-Auth-Token", alice}, 403},
		{"a user without roles", own, []string{"X-Auth-Token", bob}, 403},
		{"a user without roles", "GET /traits", []string{"X-Auth-Token", bob}, 403},
		{"an administrator of the system", "GET /resource_providers", []string{"X-Auth-Token", system}, 403},
		{"an administrator of the domain", "GET /resource_providers", []string{"X-Auth-Token", domain}, 403},
		// What a client says of itself changes nothing.
		{"a reader who says to be more", "GET /resource_providers", []string{"X-Auth-Token", alice, "X-Roles", "admin", "X-Role", "admin"}, 403},
		{"a reader who says to be more", "GET /resource_providers", []string{"x-auth-token", alice, "x_roles", "admin", "X_User_Id", "admin"}, 403},
		{"a reader who says to be elsewhere", other, []string{"X-Auth-Token", alice, "X-Project-Id", strings.TrimPrefix(other, "GET /usages?project_id=")}, 403},
		{"an administrator of the system who says not to be", "GET /traits", []string{"X-Auth-Token", system, "OpenStack-System-Scope", "", "X-Project-Id", project}, 403},
		// A service passes on what others want.
		{"a reader, by a service", own, []string{"X-Auth-Token", alice, "X-Service-Token", nova}, 200},
		{"a reader, by a service", emptyReshape, []string{"X-Auth-Token", alice, "X-Service-Token", nova}, 403},
		{"an administrator, by one who is no service", "GET /traits", []string{"X-Auth-Token", admin, "X-Service-Token", alice}, 401},
		{"an administrator, by a made-up service", "GET /traits", []string{"X-Auth-Token", admin, "X-Service-Token", "made-up"}, 401},
		{"a service alone", "GET /traits", []string{"X-Service-Token", nova}, 401},
	} {
		c.check(t, url)
	}
}

func callersNeedAToken(t *testing.T, identity *keystone, url string) {
	revoked := identity.token(t, identity.password("alice", "demo"))
	identity.revoke(t, revoked)
	for _, c := range []visit{
		{"no token", "GET /resource_providers", nil, 401},
		{"no token", "GET /unknown", nil, 401},
		{"no token", "GET /v1/nodes", nil, 401},
		{"no token, and headers with an identity", "GET /traits", []string{"X-User-Id", "admin", "X-Roles", "admin", "X-Identity-Status", "Confirmed"}, 401},
		{"a token that is none", "GET /traits", []string{"X-Auth-Token", "admin"}, 401},
		{"a token that is none", "GET /v1/nodes", []string{"X-Auth-Token", "admin"}, 401},
		{"a token that is notused", "GET /v1/nodes", []string{"X-Auth-Token", "notused"}, 401},
		{"a made-up Fernet token", "GET /traits", []string{"X-Auth-Token", revoked[:len(revoked)-8] + "AAAAAAA" + revoked[len(revoked)-1:]}, 401},
		{"a made-up Fernet token", "GET /v1/nodes", []string{"X-Auth-Token", "gAAAAABp" + strings.Repeat("A", 175)}, 401},
		{"a made-up JSON web signature", "GET /traits", []string{"X-Auth-Token", "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.e30." + strings.Repeat("A", 86)}, 401},
		{"a token that was revoked", "GET /traits", []string{"X-Auth-Token", revoked}, 401},
		{"a token, and Accept: text/html", "GET /traits", []string{"X-Auth-Token", "none", "Accept", "text/html"}, 401},
	} {
		got := c.check(t, url)
		if where := got.header.Get("WWW-Authenticate"); where != `Keystone uri="http://keystone.example.org/identity"` {
			t.Errorf("%s is sent to %q", c.name, where)
		}
		if strings.TrimSpace(got.body) != challenged || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s is told %s", c.name, got.body)
		}
	}
	for _, open := range []string{"GET /", "GET ", "GET /v1", "GET /v1/", "GET /livez", "GET /docs"} {
		visit{"no token", open, nil, 200}.check(t, url)
	}
}

func callersMayHaveACredential(t *testing.T, identity *keystone, url string) {
	admin := identity.password("root", "demo")
	rule := func(service, method, path string) applicationcredentials.AccessRule {
		return applicationcredentials.AccessRule{Service: service, Method: method, Path: path}
	}
	free := identity.token(t, identity.credential(t, admin, "free"))
	bound := identity.token(t, identity.credential(t, admin, "bound",
		rule("placement", "GET", "/resource_providers"), rule("placement", "GET", "/resource_providers/{uuid}/**"),
		rule("placement", "PUT", "/traits/*"), rule("baremetal", "GET", "/v1/nodes"), rule("compute", "GET", "/traits")))
	provider := "/resource_providers/" + uuid.NewString()
	nova := identity.token(t, identity.password("nova", "demo"))
	for _, c := range []visit{
		{"without rules", "GET /traits", []string{"X-Auth-Token", free}, 200},
		{"with rules", "GET /resource_providers", []string{"X-Auth-Token", bound}, 200},
		{"with rules", "GET /resource_providers?name=a", []string{"X-Auth-Token", bound}, 200},
		{"with rules", "GET " + provider + "/usages", []string{"X-Auth-Token", bound}, 404},
		{"with rules", "GET " + provider, []string{"X-Auth-Token", bound}, 401},
		{"with rules", `POST /resource_providers {"name":"a"}`, []string{"X-Auth-Token", bound}, 401},
		{"with rules", "PUT /traits/CUSTOM_A", []string{"X-Auth-Token", bound}, 201},
		{"with rules", "DELETE /traits/CUSTOM_A", []string{"X-Auth-Token", bound}, 401},
		{"with rules", "GET /traits", []string{"X-Auth-Token", bound}, 401},
		{"with rules", "GET /v1/nodes", []string{"X-Auth-Token", bound}, 200},
		{"with rules", "GET /v1/drivers", []string{"X-Auth-Token", bound}, 401},
		{"with rules, by a service", "GET /traits", []string{"X-Auth-Token", bound, "X-Service-Token", nova}, 200},
	} {
		c.check(t, url)
	}
}

// callersFindTheService lets the clients that people use find it in the catalog.
func callersFindTheService(t *testing.T, identity *keystone, url string) {
	who := identity.password("nova", "demo")
	made, err := client.New("", client.WithKeystone(who, client.KeystoneOptions{Region: keystoneRegion}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.ProviderCreate(t.Context(), "rack-1", uuid.New(), uuid.Nil); err != nil {
		t.Errorf("package client: %v", err)
	}
	who = identity.password("root", "demo")
	service, err := client.New("", client.WithKeystone(who, client.KeystoneOptions{ServiceType: "baremetal"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := baremetal.New(service).NodeList(t.Context(), baremetal.NodeFilter{}); err != nil {
		t.Errorf("package client/baremetal: %v", err)
	}
	who = identity.password("alice", "demo")
	refused, err := client.New(url, client.WithKeystone(who, client.KeystoneOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := refused.TraitList(t.Context(), client.TraitFilter{}); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("package client as a reader: %v", err)
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{openstack, "resource", "provider", "list", "-f", "json"},
		{program, "provider", "list", "--output", "json"},
	} {
		out, err := asOpenrc(t, identity, command)
		if err != nil || !strings.Contains(out, "rack-1") {
			t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
		}
	}
}

// asOpenrc runs a command with the variables of an openrc file.
func asOpenrc(t *testing.T, identity *keystone, line []string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Env = append(withoutSettings(os.Environ()),
		"OS_AUTH_URL="+identity.url, "OS_IDENTITY_API_VERSION=3", "OS_REGION_NAME="+keystoneRegion, "OS_USERNAME=root", "OS_PASSWORD="+keystonePassword,
		"OS_USER_DOMAIN_NAME=Default", "OS_PROJECT_NAME=demo", "OS_PROJECT_DOMAIN_NAME=Default")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err == nil && !json.Valid(out) {
		err = errors.New("the output is no JSON")
	}
	return string(out) + stderr.String(), err
}

// callersWait stops Keystone, and starts it again.
func callersWait(t *testing.T, identity *keystone, url string, settings []string) {
	known, fresh := identity.token(t, identity.password("nova", "demo")), identity.token(t, identity.password("nova", "demo"))
	visit{"a token that is known", "GET /traits", []string{"X-Auth-Token", known}, 200}.check(t, url)
	identity.stop(t)
	late := serveOn(t, dbtest.NewEmpty(t).URL, settings...)
	visit{"a token that is known", "GET /traits", []string{"X-Auth-Token", known}, 200}.check(t, url)
	for _, c := range []struct{ url, request string }{{url, "GET /traits"}, {url, "GET /v1/nodes"}, {late.url, "GET /traits"}} {
		got := visit{"a token that is new", c.request, []string{"X-Auth-Token", fresh}, 503}.check(t, c.url)
		if got.header.Get("Retry-After") != "5" || got.header.Get("WWW-Authenticate") != "" || !strings.Contains(got.body, "The Keystone service is temporarily unavailable.") {
			t.Errorf("%s is answered %v %s", c.request, got.header, got.body)
		}
	}
	visit{"no token", "GET /", nil, 200}.check(t, late.url)
	visit{"no token", "GET /traits", nil, 401}.check(t, late.url)
	identity.start(t)
	visit{"a token that is new", "GET /traits", []string{"X-Auth-Token", fresh}, 200}.check(t, url)
	visit{"a token that is new", "GET /traits", []string{"X-Auth-Token", fresh}, 200}.check(t, late.url)
}

// TestKeystone_ExpiredToken_AcceptedOnlyWithServiceToken runs a Keystone whose tokens last for
// seconds, our own among them.
func TestKeystone_ExpiredToken_AcceptedOnlyWithServiceToken(t *testing.T) {
	t.Parallel()
	const lasts = 15 * time.Second
	identity := startKeystone(t, "[token]", "expiration = 15")
	settings := identity.validator(t)
	project := identity.project(t, "demo")
	identity.user(t, "root", project, "admin")
	identity.user(t, "nova", project, "service")
	url := serveOn(t, dbtest.NewEmpty(t).URL, settings...).url

	issued := time.Now()
	token := identity.token(t, identity.password("root", "demo"))
	alone := visit{"an administrator", "GET /traits", []string{"X-Auth-Token", token}, 200}
	alone.check(t, url)
	time.Sleep(time.Until(issued.Add(lasts + time.Second)))
	alone.name, alone.status = "an administrator whose token has expired", 401
	alone.check(t, url)
	// Tokens are fetched one by one: on a busy machine they would not last.
	by := func(user string) string { return identity.token(t, identity.password(user, "demo")) }
	visit{"the same, by a service", "GET /traits", []string{"X-Auth-Token", token, "X-Service-Token", by("nova")}, 200}.check(t, url)
	visit{"the same, by another administrator", "GET /traits", []string{"X-Auth-Token", token, "X-Service-Token", by("root")}, 401}.check(t, url)
	visit{"the same, by a service whose token has expired", "GET /traits", []string{"X-Auth-Token", token, "X-Service-Token", token}, 401}.check(t, url)
	// The token of the service has expired too, and the client gets no error.
	visit{"an administrator with a new token", "GET /traits", []string{"X-Auth-Token", by("root")}, 200}.check(t, url)
	alone.check(t, url)
}
