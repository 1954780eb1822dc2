package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// signingIn has complete credentials for Keystone, as NAME=value.
func signingIn(more ...string) []string {
	return append([]string{"BERTH_AUTH=keystone", "BERTH_KEYSTONE_AUTH_URL=http://k:5000/v3", "BERTH_KEYSTONE_USERNAME=berth",
		"BERTH_KEYSTONE_PASSWORD=sesame", "BERTH_KEYSTONE_PROJECT_NAME=service"}, more...)
}

func TestSettings_Keystone_MapToAuthOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := gophercloud.AuthOptions{IdentityEndpoint: "http://k:5000/v3", Username: "berth", Password: "sesame", DomainName: "Default",
		Scope: &gophercloud.AuthScope{ProjectName: "service", DomainName: "Default"}}
	but := func(change func(*gophercloud.AuthOptions)) gophercloud.AuthOptions {
		changed, scope := base, *base.Scope
		changed.Scope = &scope
		change(&changed)
		return changed
	}
	for name, c := range map[string]struct {
		environ []string
		want    gophercloud.AuthOptions
	}{
		"by names": {signingIn(), base},
		"by ids": {signingIn("BERTH_KEYSTONE_USER_ID=u", "BERTH_KEYSTONE_PROJECT_ID=p"),
			gophercloud.AuthOptions{IdentityEndpoint: "http://k:5000/v3", UserID: "u", Password: "sesame", Scope: &gophercloud.AuthScope{ProjectID: "p"}}},
		"in domains by id": {signingIn("BERTH_KEYSTONE_USER_DOMAIN_ID=ud", "BERTH_KEYSTONE_PROJECT_DOMAIN_ID=pd", "BERTH_KEYSTONE_AUTH_TYPE=v3password"),
			but(func(o *gophercloud.AuthOptions) {
				o.DomainID, o.DomainName = "ud", ""
				o.Scope.DomainID, o.Scope.DomainName = "pd", ""
			})},
		"for the system": {signingIn("BERTH_KEYSTONE_SYSTEM_SCOPE=all"),
			but(func(o *gophercloud.AuthOptions) { o.Scope = &gophercloud.AuthScope{System: true} })},
		"with a password in a file": {signingIn("BERTH_KEYSTONE_PASSWORD=", "BERTH_KEYSTONE_PASSWORD_FILE="+file),
			but(func(o *gophercloud.AuthOptions) { o.Password = "from a file" })},
		"by an application credential": {[]string{"BERTH_AUTH=keystone", "BERTH_KEYSTONE_AUTH_URL=http://k:5000/v3", "BERTH_KEYSTONE_AUTH_TYPE=v3applicationcredential",
			"BERTH_KEYSTONE_APPLICATION_CREDENTIAL_ID=a", "BERTH_KEYSTONE_APPLICATION_CREDENTIAL_SECRET_FILE=" + file},
			gophercloud.AuthOptions{IdentityEndpoint: "http://k:5000/v3", ApplicationCredentialID: "a", ApplicationCredentialSecret: "from a file"}},
	} {
		settings, _, err := loaded(t, ForServer, nil, c.environ)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := settings.KeystoneOptions()
		if err != nil || !reflect.DeepEqual(got.Who, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got.Who, err, c.want)
		}
	}
}

func TestSettings_KeystoneIncomplete_NamesMissingSetting(t *testing.T) {
	t.Parallel()
	for lack, want := range map[string]string{
		"BERTH_KEYSTONE_AUTH_URL=":                                `keystone-auth-url: "" (default) is not set, but --auth keystone requires it; write`,
		"BERTH_KEYSTONE_AUTH_URL=keystone:5000":                   `keystone-auth-url: "keystone:5000" (environment BERTH_KEYSTONE_AUTH_URL) is not a web address`,
		"BERTH_KEYSTONE_USERNAME=":                                `keystone-username: "" (default) is not set`,
		"BERTH_KEYSTONE_PASSWORD=":                                `give it as BERTH_KEYSTONE_PASSWORD, or the name of a file as --keystone-password-file`,
		"BERTH_KEYSTONE_PASSWORD_FILE=/f":                         `keystone-password-file: "/f" (environment BERTH_KEYSTONE_PASSWORD_FILE) is set beside --keystone-password, but only one`,
		"BERTH_KEYSTONE_PROJECT_NAME=":                            `keystone-project-name: "" (default) is not set`,
		"BERTH_KEYSTONE_AUTH_TYPE=v3oidcpassword":                 `write one of password, v3password, v3applicationcredential`,
		"BERTH_KEYSTONE_AUTH_TYPE=v3applicationcredential":        `keystone-application-credential-id: "" (default) is not set`,
		"BERTH_KEYSTONE_KEYFILE=/k":                               `keystone-keyfile: "/k" (environment BERTH_KEYSTONE_KEYFILE) is set without --keystone-certfile`,
		"BERTH_KEYSTONE_HTTP_CONNECT_TIMEOUT=soon":                `keystone-http-connect-timeout: "soon"`,
		"BERTH_KEYSTONE_WWW_AUTHENTICATE_URI=http://k/\" evil=\"": `is not a web address`,
	} {
		_, _, err := loaded(t, ForServer, nil, signingIn(lack))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: got %v, want %s", lack, err, want)
		}
	}
	// With noauth2 the credentials are not required.
	if _, _, err := loaded(t, ForServer, nil, []string{"BERTH_KEYSTONE_USERNAME=berth"}); err != nil {
		t.Error(err)
	}
	// Only noauth2 requires a loopback address.
	if _, _, err := loaded(t, ForServer, []string{"--listen", ":8778"}, signingIn()); err != nil {
		t.Error(err)
	}
}

func TestSettings_KeystoneDurations_AcceptOpenStackForm(t *testing.T) {
	t.Parallel()
	settings, _, err := loaded(t, ForServer, nil, signingIn("BERTH_KEYSTONE_TOKEN_CACHE_TIME=-1", "BERTH_KEYSTONE_HTTP_CONNECT_TIMEOUT=7",
		"BERTH_KEYSTONE_SERVICE_TOKEN_ROLES=service, nova", "BERTH_KEYSTONE_SERVICE_TOKEN_ROLES_REQUIRED=false"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := settings.KeystoneOptions()
	if err != nil || got.CacheTime != -time.Second || got.Timeout != 7*time.Second || got.ServiceRolesRequired ||
		!reflect.DeepEqual(got.ServiceRoles, []string{"service", "nova"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	settings, _, err = loaded(t, ForServer, nil, signingIn())
	if got, keyErr := settings.KeystoneOptions(); errors.Join(err, keyErr) != nil || got.CacheTime != 5*time.Minute || got.Retries != 3 ||
		!got.ServiceRolesRequired || got.ServiceType != "placement" || got.Interface != "internal" {
		t.Errorf("the defaults are %+v, %v, %v", got, err, keyErr)
	}
}

func TestSettings_KeystoneFileUnusable_NamesSetting(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"BERTH_KEYSTONE_CAFILE=" + empty:        "contains no certificate",
		"BERTH_KEYSTONE_CAFILE=/missing":        "keystone-cafile: open /missing",
		"BERTH_KEYSTONE_CERTFILE=" + empty:      "keystone-certfile: ",
		"BERTH_KEYSTONE_PASSWORD_FILE=" + empty: "is empty; write the secret into it",
	} {
		environ := signingIn(setting)
		if strings.Contains(setting, "PASSWORD_FILE") {
			environ = append(environ, "BERTH_KEYSTONE_PASSWORD=")
		}
		settings, _, err := loaded(t, ForServer, nil, environ)
		if err != nil {
			t.Errorf("%s: %v", setting, err)
			continue
		}
		if _, err := settings.KeystoneOptions(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", setting, err, want)
		}
	}
}

func TestSettings_KeystoneLimits_ReachTheAuthenticator(t *testing.T) {
	t.Parallel()
	settings, _, err := loaded(t, ForServer, nil, signingIn())
	if err != nil {
		t.Fatal(err)
	}
	got, err := settings.KeystoneOptions()
	if err != nil || got.Total != 15*time.Second || got.MaxValidations != 64 || got.MaxQueued != 1024 || got.BreakerFailures != 5 ||
		got.BreakerTime != 5*time.Second || !slices.Equal(got.TokenFormats, []string{"fernet", "jws"}) {
		t.Errorf("the defaults are %+v, %v", got, err)
	}
	settings, _, err = loaded(t, ForServer, nil, signingIn("BERTH_KEYSTONE_AUTHENTICATION_TIMEOUT=7", "BERTH_KEYSTONE_MAX_VALIDATIONS=8",
		"BERTH_KEYSTONE_MAX_QUEUED_VALIDATIONS=9", "BERTH_KEYSTONE_CIRCUIT_BREAKER_FAILURES=0", "BERTH_KEYSTONE_CIRCUIT_BREAKER_TIMEOUT=10s",
		"BERTH_KEYSTONE_TOKEN_FORMATS=uuid, any"))
	if err != nil {
		t.Fatal(err)
	}
	got, err = settings.KeystoneOptions()
	if err != nil || got.Total != 7*time.Second || got.MaxValidations != 8 || got.MaxQueued != 9 || got.BreakerFailures != 0 ||
		got.BreakerTime != 10*time.Second || !slices.Equal(got.TokenFormats, []string{"uuid", "any"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for environ, want := range map[string]string{
		"BERTH_KEYSTONE_TOKEN_FORMATS=fernet,pki": "holds pki, which is not a format of tokens; write some of fernet,jws,uuid,any",
		"BERTH_KEYSTONE_TOKEN_FORMATS=,":          "names no format of tokens; write any",
		"BERTH_KEYSTONE_MAX_VALIDATIONS=0":        "keystone-max-validations",
	} {
		if _, _, err := loaded(t, ForServer, nil, signingIn(environ)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", environ, err, want)
		}
	}
}
