//go:build client

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

// TestReconcile_NovaOfKeystoneCatalog_IsRepaired finds Debian's nova and the server in the catalog of Debian's Keystone. Both
// let it validate the tokens.
func TestReconcile_NovaOfKeystoneCatalog_IsRepaired(t *testing.T) {
	t.Parallel()
	identity := startKeystone(t)
	service := serveOn(t, dbtest.NewEmpty(t).URL, identity.validator(t)...)
	identity.service(t, "placement", service.url)
	nova := startPeer(t, "compute_api.py", "/v2.1", identity.url, keystonePassword, keystoneRegion)
	identity.service(t, "compute", nova.url)
	project := identity.project(t, "ops")
	identity.user(t, "ada", project, "admin")
	identity.user(t, "bob", project, "reader")
	as := func(user string, arguments ...string) (printed string, err error) {
		command := berthCommand(t, arguments...)
		command.Env = append(command.Env, "OS_AUTH_URL="+identity.url, "OS_REGION_NAME="+keystoneRegion, "OS_USERNAME="+user, "OS_PASSWORD="+keystonePassword,
			"OS_PROJECT_NAME=ops", "OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default")
		output, err := command.CombinedOutput()
		return string(output), err
	}
	ada := func(arguments ...string) string {
		t.Helper()
		printed, err := as("ada", arguments...)
		if err != nil {
			t.Fatalf("berth %q: %v\n%s", arguments, err, printed)
		}
		return printed
	}
	nova.add("host", map[string]any{"name": "compute-1", "uuid": computeID(1)})
	nova.add("server", map[string]any{"uuid": computeID(11), "host": "compute-1"})
	ada("provider", "create", "compute-1", "--uuid", computeID(1))
	ada("inventory", "set", "compute-1", "--resource", "VCPU=64", "--resource", "MEMORY_MB=65536", "--resource", "DISK_GB=1000")
	for _, number := range []int{11, 15} { // nova does not have the second one
		ada("allocation", "set", computeID(number), "--project", "web", "--user", "ada", "--type", "INSTANCE", "--on", computeID(1)+"=VCPU:2,MEMORY_MB:2048,DISK_GB:20")
	}

	reconcile := []string{"reconcile", "--with", "nova", "--min-age", "0", "--settle", "10ms"}
	if printed, err := as("bob", reconcile...); err == nil || !strings.Contains(printed, "403") {
		t.Errorf("a reader: got %v, want an error with 403\n%s", err, printed)
	}
	printed := ada(slices.Concat(reconcile, []string{"--repair", "--save-plan", t.TempDir() + "/plan.json"})...)
	if !strings.Contains(printed, computeID(15)) || strings.Contains(printed, computeID(11)) {
		t.Errorf("the repair printed\n%s", printed)
	}
	if left := ada("consumer", "list"); strings.Contains(left, computeID(15)) || !strings.Contains(left, computeID(11)) {
		t.Errorf("the consumers are\n%s", left)
	}
}
