package config

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server/identity/oidc"
)

// withOIDC has the settings that --auth oidc requires, as NAME=value.
func withOIDC(more ...string) []string {
	return append([]string{"BERTH_AUTH=oidc", "BERTH_OIDC_ISSUER=https://issuer.example.org/realms/a/", "BERTH_OIDC_AUDIENCE=berth, https://berth.example.org"}, more...)
}

func TestSettings_OIDC_MapToOptions(t *testing.T) {
	t.Parallel()
	base := oidc.Options{
		Issuer: "https://issuer.example.org/realms/a/", Audiences: []string{"berth", "https://berth.example.org"},
		Algorithms: []string{"RS256", "ES256"}, TokenTypes: []string{"at+jwt", "jwt"}, Leeway: 30 * time.Second,
		Claims:  oidc.ClaimMapping{User: "sub", Project: "project", Roles: "roles"},
		Timeout: 10 * time.Second, RefreshInterval: 5 * time.Minute, MaxKeyAge: time.Hour,
	}
	changed := base
	changed.KeysURL, changed.Algorithms, changed.TokenTypes = "https://keys.example.org", []string{"EdDSA"}, []string{"at+jwt"}
	changed.Leeway, changed.Timeout, changed.RefreshInterval, changed.MaxKeyAge = 0, time.Second, time.Minute, 2*time.Minute
	changed.Claims = oidc.ClaimMapping{User: "email", Project: "a.b", Roles: "groups", System: "system",
		RoleMap: map[string][]string{"/ops": {"admin", "service"}, "a=b": {"member"}}}
	for name, c := range map[string]struct {
		environ []string
		want    oidc.Options
	}{
		"defaults": {withOIDC(), base},
		"all": {withOIDC("BERTH_OIDC_JWKS_URL=https://keys.example.org", "BERTH_OIDC_ALGORITHMS=EdDSA", "BERTH_OIDC_TOKEN_TYPES=at+jwt",
			"BERTH_OIDC_LEEWAY=0", "BERTH_OIDC_FETCH_TIMEOUT=1", "BERTH_OIDC_JWKS_REFRESH_INTERVAL=1m", "BERTH_OIDC_JWKS_MAX_AGE=2m",
			"BERTH_OIDC_USER_CLAIM=email", "BERTH_OIDC_PROJECT_CLAIM=a.b", "BERTH_OIDC_ROLES_CLAIM=groups", "BERTH_OIDC_SYSTEM_CLAIM=system",
			"BERTH_OIDC_ROLE_MAP=/ops=admin, a=b=member,/ops=service"), changed},
	} {
		settings, _, err := loaded(t, ForServer, nil, c.environ)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := settings.OIDCOptions()
		got.Transport = nil
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
		if _, err := oidc.New(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSettings_OIDCInvalid_NamesSettingAndRemedy(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"BERTH_OIDC_ISSUER=":                          `oidc-issuer: "" (default) is not set, but --auth oidc requires it; write the URL`,
		"BERTH_OIDC_ISSUER=http://issuer.example.org": `oidc-issuer: "http://issuer.example.org" (environment BERTH_OIDC_ISSUER) is not a safe address of an issuer: want https; http is possible on the loopback interface only; write`,
		"BERTH_OIDC_AUDIENCE=":                        `oidc-audience: "" (default) is not set, but --auth oidc requires it; write the audience`,
		"BERTH_OIDC_ALGORITHMS=RS256,HS256":           `oidc-algorithms: "RS256,HS256" (environment BERTH_OIDC_ALGORITHMS) contains "HS256", which is not possible; write some of RS256,`,
		"BERTH_OIDC_ALGORITHMS=none":                  `contains "none", which is not possible`,
		"BERTH_OIDC_ALGORITHMS=,":                     `is an empty list; write some of`,
		"BERTH_OIDC_TOKEN_TYPES=id":                   `contains "id", which is not possible; write some of at+jwt,jwt`,
		"BERTH_OIDC_ROLE_MAP=admin":                   `contains "admin", which is not a pair value=role; write pairs`,
		"BERTH_OIDC_ROLE_MAP==admin":                  `contains "=admin", which is not a pair value=role`,
		"BERTH_OIDC_LEEWAY=1h":                        `oidc-leeway: "1h"`,
		"BERTH_OIDC_JWKS_MAX_AGE=1m":                  `oidc-jwks-max-age: "1m" (environment BERTH_OIDC_JWKS_MAX_AGE) is less than --oidc-jwks-refresh-interval; write at least`,
		"BERTH_OIDC_PROJECT_CLAIM= ":                  `names no claim; write the name of a claim`,
		"BERTH_LISTEN=0.0.0.0:8778":                   `listen: "0.0.0.0:8778" (environment BERTH_LISTEN) is reachable from other hosts without TLS, so that the network can read tokens`,
	} {
		_, _, err := loaded(t, ForServer, nil, withOIDC(given))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %s", given, err, want)
		}
	}
}

// TestSettings_OIDCCAFile_IsTrusted fetches a document from a server whose certificate only --oidc-cafile
// makes valid.
func TestSettings_OIDCCAFile_IsTrusted(t *testing.T) {
	t.Parallel()
	issuer := httptest.NewTLSServer(http.NotFoundHandler())
	defer issuer.Close()
	directory := t.TempDir()
	file := filepath.Join(directory, "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(directory, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file: "404 Not Found", "": "certificate signed by unknown authority",
		empty: "oidc-cafile: " + empty + " contains no certificate", filepath.Join(directory, "none"): "no such file",
	} {
		settings, _, err := loaded(t, ForServer, nil, []string{"BERTH_AUTH=oidc", "BERTH_OIDC_ISSUER=" + issuer.URL, "BERTH_OIDC_AUDIENCE=berth", "BERTH_OIDC_CAFILE=" + path})
		if err != nil {
			t.Fatal(err)
		}
		options, err := settings.OIDCOptions()
		if err == nil {
			var verifying *oidc.Authenticator
			if verifying, err = oidc.New(options); err == nil {
				err = verifying.Check(t.Context())
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %s", path, err, want)
		}
	}
}
