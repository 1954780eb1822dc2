//go:build client

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

// The password of every user of a keystone, its administrator included, and the only
// region.
const (
	keystonePassword = "correct horse"
	keystoneRegion   = "One"
)

// keystone is the real Keystone on a loopback port, with a database of its own.
type keystone struct {
	// url ends in /v3.
	url string
	// admin asks as the administrator, in the project admin.
	admin *gophercloud.ServiceClient

	directory, port string
	command         *exec.Cmd
	log             bytes.Buffer
	roles           map[string]string
}

// startKeystone runs a Keystone until the test ends. The lines are added to its
// configuration, such as "[token]", "expiration = 5".
func startKeystone(t *testing.T, lines ...string) *keystone {
	t.Helper()
	template, err := keystoneTemplate()
	if err != nil {
		t.Fatal(err)
	}
	made := &keystone{directory: t.TempDir(), roles: map[string]string{}}
	if err := os.CopyFS(made.directory, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	if err := configureKeystone(made.directory, lines...); err != nil {
		t.Fatal(err)
	}
	made.port = strconv.Itoa(freePort(t))
	made.url = "http://127.0.0.1:" + made.port + "/v3"
	t.Cleanup(func() {
		made.stop(t)
		if t.Failed() {
			t.Logf("what keystone printed:\n%s", made.log.String())
		}
	})
	made.start(t)
	made.admin = made.as(t, made.password("admin", "admin"))
	made.service(t, "identity", made.url)
	return made
}

// keystoneTemplate is a directory with a database and keys, made once for all tests:
// each of the programs takes seconds.
var keystoneTemplate = sync.OnceValues(func() (string, error) {
	program, err := binary()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(filepath.Dir(program), "keystone") // removed with the program
	if err := os.MkdirAll(filepath.Join(directory, "keys"), 0o700); err != nil {
		return "", err
	}
	if err := configureKeystone(directory); err != nil {
		return "", err
	}
	me, err := user.Current()
	if err != nil {
		return "", err
	}
	keys := make(chan error)
	go func() {
		keys <- manageKeystone(directory, "fernet_setup", "--keystone-user", me.Uid, "--keystone-group", me.Gid)
	}()
	err = manageKeystone(directory, "db_sync")
	if keysErr := <-keys; err == nil {
		err = keysErr
	}
	if err == nil {
		err = manageKeystone(directory, "bootstrap", "--bootstrap-password", keystonePassword, "--bootstrap-region-id", keystoneRegion)
	}
	if err != nil {
		return "", err
	}
	// Keystone writes while it reads over another connection, which SQLite lets it do
	// in this mode only.
	out, err := exec.Command(python, "-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('pragma journal_mode=wal')",
		filepath.Join(directory, "keystone.db")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("set up the database of keystone: %w\n%s", err, out)
	}
	return directory, nil
})

func configureKeystone(directory string, lines ...string) error {
	return os.WriteFile(filepath.Join(directory, "keystone.conf"), []byte(fmt.Sprintf(`[DEFAULT]
use_stderr = false
log_file = %[1]s/keystone.log
[database]
connection = sqlite:///%[1]s/keystone.db
[fernet_tokens]
key_repository = %[1]s/keys
[fernet_receipts]
key_repository = %[1]s/keys
[credential]
key_repository = %[1]s/keys
[identity]
password_hash_rounds = 4
%[2]s
`, directory, strings.Join(lines, "\n"))), 0o600)
}

// manageKeystone runs Debian's keystone-manage (the package python3-keystone).
func manageKeystone(directory string, arguments ...string) error {
	command := exec.Command("/usr/bin/keystone-manage",
		append([]string{"--config-file", filepath.Join(directory, "keystone.conf")}, arguments...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(directory, "keystone.log"))
		return fmt.Errorf("%s: %w\n%s\n%s", command, err, out, log)
	}
	return nil
}

// start runs it after a stop. One process handles one request at a time: SQLite's
// connections may not change threads.
func (k *keystone) start(t *testing.T) {
	t.Helper()
	k.command = exec.Command("/usr/bin/uwsgi", "--plugin", "python3", "--http-socket", "127.0.0.1:"+k.port,
		"--wsgi-file", "/usr/bin/keystone-wsgi-public", "--master", "--die-on-term", "--need-app", "--workers", "2",
		"--buffer-size", "65535", "--post-buffering", "65536", "--add-header", "Connection: close", "--disable-logging")
	k.command.Env = append(withoutSettings(os.Environ()), "OS_KEYSTONE_CONFIG_DIR="+k.directory, "OS_KEYSTONE_CONFIG_FILES=keystone.conf")
	k.command.Stdout, k.command.Stderr = &k.log, &k.log
	k.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := k.command.Start(); err != nil {
		t.Fatalf("run keystone (Debian's packages python3-keystone, uwsgi-core and uwsgi-plugin-python3): %v", err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(k.url)
		if err == nil {
			response.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("keystone does not answer at %s: %v", k.url, err)
		}
	}
}

// stop ends it, and whatever it has started.
func (k *keystone) stop(t *testing.T) {
	t.Helper()
	if k.command == nil || k.command.Process == nil {
		return
	}
	_ = k.command.Process.Signal(syscall.SIGTERM)
	last := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-k.command.Process.Pid, syscall.SIGKILL) })
	defer last.Stop()
	_ = k.command.Wait() // it says how it was killed
	k.command = nil
}

// password is how a user signs in to a project; empty: to none.
func (k *keystone) password(username, project string) gophercloud.AuthOptions {
	who := gophercloud.AuthOptions{IdentityEndpoint: k.url, Username: username, Password: keystonePassword, DomainID: "default"}
	if project != "" {
		who.Scope = &gophercloud.AuthScope{ProjectName: project, DomainID: "default"}
	}
	return who
}

// as returns a client with the identity of a user. It requests a new token when one has expired.
func (k *keystone) as(t *testing.T, who gophercloud.AuthOptions) *gophercloud.ServiceClient {
	t.Helper()
	who.AllowReauth = true
	provider, err := gopheropenstack.NewClient(k.url)
	if err == nil {
		err = gopheropenstack.AuthenticateV3(t.Context(), provider, &who, gophercloud.EndpointOpts{})
	}
	if err != nil {
		t.Fatalf("sign in to keystone: %v", err)
	}
	made, err := gopheropenstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// token returns a new token of a user.
func (k *keystone) token(t *testing.T, who gophercloud.AuthOptions) string {
	t.Helper()
	return k.as(t, who).Token()
}

// revoke makes a token worthless.
func (k *keystone) revoke(t *testing.T, token string) {
	t.Helper()
	if err := tokens.Revoke(t.Context(), k.admin, token).Err; err != nil {
		t.Fatal(err)
	}
}

// project makes one and returns its id.
func (k *keystone) project(t *testing.T, name string) string {
	t.Helper()
	made, err := projects.Create(t.Context(), k.admin, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// user makes one, with roles in a project, and returns its id.
func (k *keystone) user(t *testing.T, name, project string, roles ...string) string {
	t.Helper()
	made, err := users.Create(t.Context(), k.admin, users.CreateOpts{Name: name, DomainID: "default", Password: keystonePassword}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		k.grant(t, role, assignment{UserID: made.ID, ProjectID: project})
	}
	return made.ID
}

type assignment = roles.AssignOpts

// grant assigns a role, and creates it unless it exists.
func (k *keystone) grant(t *testing.T, role string, to assignment) {
	t.Helper()
	if err := roles.Assign(t.Context(), k.admin, k.role(t, role), to).ExtractErr(); err != nil {
		t.Fatal(err)
	}
}

func (k *keystone) role(t *testing.T, name string) string {
	t.Helper()
	if k.roles[name] != "" {
		return k.roles[name]
	}
	pages, err := roles.List(k.admin, roles.ListOpts{Name: name}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := roles.ExtractRoles(pages)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		made, err := roles.Create(t.Context(), k.admin, roles.CreateOpts{Name: name}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		found = []roles.Role{*made}
	}
	k.roles[name] = found[0].ID
	return found[0].ID
}

// service enters one in the catalog, reached at the same address by everybody.
func (k *keystone) service(t *testing.T, serviceType, url string) {
	t.Helper()
	pages, err := services.List(k.admin, services.ListOpts{ServiceType: serviceType}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := services.ExtractServices(pages)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		made, err := services.Create(t.Context(), k.admin, services.CreateOpts{Name: serviceType, Type: serviceType}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		found = []services.Service{*made}
	}
	for _, availability := range []gophercloud.Availability{gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal} {
		if _, err := endpoints.Create(t.Context(), k.admin, endpoints.CreateOpts{
			ServiceID: found[0].ID, Availability: availability, Region: keystoneRegion, URL: url,
		}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
}

// credential creates an application credential of a user and returns the options to authenticate with it. Without rules
// it permits everything that the user may do.
func (k *keystone) credential(t *testing.T, who gophercloud.AuthOptions, name string, rules ...applicationcredentials.AccessRule) gophercloud.AuthOptions {
	t.Helper()
	asking := k.as(t, who)
	user, err := asking.GetAuthResult().(tokens.CreateResult).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	made, err := applicationcredentials.Create(t.Context(), asking, user.ID,
		applicationcredentials.CreateOpts{Name: name, AccessRules: rules}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return gophercloud.AuthOptions{IdentityEndpoint: k.url, ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret}
}

// validator makes the user who validates the tokens of a service and returns the
// settings of berth for it.
func (k *keystone) validator(t *testing.T) []string {
	t.Helper()
	k.user(t, "berth", k.project(t, "service"), "service")
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(keystonePassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--auth", "keystone", "--keystone-auth-url", k.url, "--keystone-www-authenticate-uri", "http://keystone.example.org/identity",
		"--keystone-username", "berth", "--keystone-password-file", path, "--keystone-project-name", "service",
		"--keystone-region-name", keystoneRegion, "--keystone-http-request-max-retries", "0"}
}
