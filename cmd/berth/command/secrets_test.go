package command

import (
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/testfile"
)

// TestSettings_UnusableConnection_PasswordHidden checks connections that berth cannot parse or use, in
// which the password may be anywhere.
func TestSettings_UnusableConnection_PasswordHidden(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"[placement_database]\nconnection = mysql+pymysql://u:a/hunter2@h/d?charset=utf8",
		"[placement_database]\nconnection = mysql+pymysql://u:a@hunter2/b@h/d?charset=utf8",
		"[placement_database]\nconnection = postgresql://u:a@b/$hunter2@h/d?connect_timeout=3",
		"[placement_database]\nslave_connection = postgresql://u:$hunter2@h/d",
		"[keystone_authtoken]\npassword = a$hunter2",
	} {
		path := testfile.PlacementConf(t, line+"\n")
		for _, format := range []string{"table", "json"} {
			got := runCommand(t, nil, "config", "--config-file", path, "--output", format)
			if all := got.stdout + got.stderr; got.code != frame.ExitUsage || strings.Contains(all, "hunter2") {
				t.Errorf("%s: exit code %d\n%s", line, got.code, all)
			}
		}
	}
}

func TestSettings_KeystonePassword_Masked(t *testing.T) {
	t.Parallel()
	got := runCommand(t, keystoneEnviron("BERTH_KEYSTONE_APPLICATION_CREDENTIAL_SECRET=open"), "config")
	if all := got.stdout + got.stderr; strings.Contains(all, "sesame") || strings.Contains(all, "open\n") || !strings.Contains(all, "***") {
		t.Errorf("output of berth config:\n%s", all)
	}
	got = runCommand(t, keystoneEnviron("BERTH_KEYSTONE_AUTH_URL=http://u:sesame@k/v3", "BERTH_KEYSTONE_WWW_AUTHENTICATE_URI=http://k:5000/v3"), "config")
	if all := got.stdout + got.stderr; got.code != frame.ExitUsage || strings.Contains(all, "sesame") || !strings.Contains(all, "http://k:5000/v3") {
		t.Errorf("password in a URL: exit code %d, output of berth config:\n%s", got.code, all)
	}
}

// keystoneEnviron returns an environment with the required settings of --auth keystone.
func keystoneEnviron(more ...string) []string {
	return append([]string{"BERTH_AUTH=keystone", "BERTH_KEYSTONE_AUTH_URL=http://k:5000/v3", "BERTH_KEYSTONE_USERNAME=berth",
		"BERTH_KEYSTONE_PASSWORD=sesame", "BERTH_KEYSTONE_PROJECT_NAME=service"}, more...)
}
