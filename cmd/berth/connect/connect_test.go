package connect

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
)

// loadedEndpoint returns the endpoint of a command with these flags and variables.
func loadedEndpoint(t *testing.T, arguments, environ []string) (*endpoint, error) {
	t.Helper()
	command := &cobra.Command{Use: "x"}
	Flags((&frame.Frame{}), command)
	if err := command.ParseFlags(arguments); err != nil {
		t.Fatal(err)
	}
	return load(command.Flags(), environ)
}

func TestCLI_AuthMethod_DerivedFromFlagsAndEnvironment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments, environ []string
		want               string
	}{
		"nothing":                            {nil, nil, "noauth"},
		"a token in the environment":         {nil, []string{"BERTH_TOKEN=x"}, "token"},
		"a token as a flag":                  {[]string{"--token=x"}, nil, "token"},
		"an openrc file was sourced":         {nil, []string{"OS_AUTH_URL=http://k/v3"}, "keystone"},
		"a cloud is named":                   {nil, []string{"OS_CLOUD=here"}, "keystone"},
		"a cloud is named by a flag":         {[]string{"--cloud=here"}, nil, "keystone"},
		"a token is nearer than an openrc":   {nil, []string{"OS_AUTH_URL=http://k/v3", "BERTH_TOKEN=x"}, "token"},
		"flag --auth takes precedence":       {[]string{"--auth=noauth"}, []string{"OS_AUTH_URL=http://k/v3", "BERTH_TOKEN=x"}, "noauth"},
		"BERTH_CLIENT_AUTH takes precedence": {nil, []string{"OS_CLOUD=here", "BERTH_CLIENT_AUTH=noauth"}, "noauth"},
		"BERTH_AUTH is ignored":              {nil, []string{"BERTH_AUTH=keystone"}, "noauth"},
	} {
		found, err := loadedEndpoint(t, test.arguments, test.environ)
		if err != nil || found.Auth != test.want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestCLI_OpenrcVariables_YieldCredentials(t *testing.T) {
	t.Parallel()
	const url = "OS_AUTH_URL=http://k/v3"
	for name, test := range map[string]struct {
		environ []string
		want    gophercloud.AuthOptions
		scope   gophercloud.AuthScope
	}{
		"a password, all by name": {
			[]string{url, "OS_USERNAME=alice", "OS_PASSWORD=s", "OS_USER_DOMAIN_NAME=people", "OS_PROJECT_NAME=demo", "OS_PROJECT_DOMAIN_ID=d1"},
			gophercloud.AuthOptions{Username: "alice", Password: "s", DomainName: "people"},
			gophercloud.AuthScope{ProjectName: "demo", DomainID: "d1"},
		},
		"default domains": {
			[]string{url, "OS_USERNAME=alice", "OS_PASSWORD=s", "OS_PROJECT_NAME=demo"},
			gophercloud.AuthOptions{Username: "alice", Password: "s", DomainName: "Default"},
			gophercloud.AuthScope{ProjectName: "demo", DomainName: "Default"},
		},
		"ids need no domains": {
			[]string{url, "OS_USER_ID=u1", "OS_PASSWORD=s", "OS_PROJECT_ID=p1"},
			gophercloud.AuthOptions{UserID: "u1", Password: "s"}, gophercloud.AuthScope{ProjectID: "p1"},
		},
		"the system": {
			[]string{url, "OS_USER_ID=u1", "OS_PASSWORD=s", "OS_SYSTEM_SCOPE=all"},
			gophercloud.AuthOptions{UserID: "u1", Password: "s"}, gophercloud.AuthScope{System: true},
		},
		"an application credential brings its scope": {
			[]string{url, "OS_APPLICATION_CREDENTIAL_ID=c1", "OS_APPLICATION_CREDENTIAL_SECRET=s", "OS_PROJECT_ID=p1"},
			gophercloud.AuthOptions{ApplicationCredentialID: "c1", ApplicationCredentialSecret: "s"}, gophercloud.AuthScope{},
		},
	} {
		found, err := loadedEndpoint(t, nil, test.environ)
		if err != nil {
			t.Fatal(err)
		}
		got, err := found.openrc()
		var scope gophercloud.AuthScope
		if got.Scope != nil {
			scope, got.Scope = *got.Scope, nil
		}
		test.want.IdentityEndpoint, test.want.AllowReauth = "http://k/v3", true
		if err != nil || got != test.want || scope != test.scope {
			t.Errorf("%s: %+v, %+v, %v", name, got, scope, err)
		}
	}
}

func TestCLI_CloudsYAML_FoundInSearchPath(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, ".config", "openstack", "clouds.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	const clouds = `clouds:
  here:
    auth: {auth_url: "http://k/v3", username: alice, password: s, project_id: p1, user_domain_name: Default}
    region_name: one
    verify: false
`
	if err := os.WriteFile(file, []byte(clouds), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := loadedEndpoint(t, []string{"--cloud=here"}, []string{"HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if _, err := found.keystone(transport); err != nil || !transport.TLSClientConfig.InsecureSkipVerify {
		t.Errorf("%v, %+v", err, transport.TLSClientConfig)
	}
	found, err = loadedEndpoint(t, []string{"--cloud=there"}, []string{"HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := found.keystone(transport); err == nil || !strings.Contains(err.Error(), `cloud: "there" (clouds.yaml) cannot be used`) {
		t.Errorf("a cloud that is not there: %v", err)
	}
}
