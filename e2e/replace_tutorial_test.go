//go:build client

package e2e

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

// replacedCloud is a cloud with Keystone and OpenStack Placement, as the tutorial to replace it expects one.
type replacedCloud struct {
	identity *keystone
	// directory has placement.conf, and the database of OpenStack Placement.
	directory string
	// programs has a systemctl that starts and stops placement-api.
	programs string
	port     string
}

// typeReplaceTutorial runs the tutorial to replace OpenStack Placement in a cloud of its own.
func typeReplaceTutorial(t *testing.T) {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cloud := newReplacedCloud(t)
	back := filepath.Join(cloud.directory, "back.db")
	typeGuide(t, "../docs/tutorial-replace-placement.md",
		"PATH="+cloud.programs+":"+filepath.Dir(program)+":"+os.Getenv("PATH"), "HOME="+t.TempDir(),
		"CONF="+filepath.Join(cloud.directory, "placement.conf"),
		"OLD_DATABASE=sqlite:///"+filepath.Join(cloud.directory, "placement.db"), "BACK_DATABASE=sqlite:///"+back,
		"BERTH_DATABASE_URL="+dbtest.NewEmpty(t).URL,
		"OLD_URL=http://127.0.0.1:"+cloud.port, "NEW_URL=http://"+freeAddress(t), "COPY_PORT="+importPort(t),
		"OS_AUTH_URL="+cloud.identity.url, "OS_USERNAME=admin", "OS_PASSWORD="+keystonePassword, "OS_PROJECT_NAME=admin",
		"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_IDENTITY_API_VERSION=3", "OS_REGION_NAME="+keystoneRegion)
}

func newReplacedCloud(t *testing.T) *replacedCloud {
	t.Helper()
	cloud := &replacedCloud{identity: startKeystone(t), directory: t.TempDir(), programs: t.TempDir(), port: importPort(t)}
	database := filepath.Join(cloud.directory, "placement.db")
	old := startPython(t, "sqlite:///"+database, true)
	fillReplacedCloud(t, old.url)
	old.stop()
	addIdleConsumer(t, database)

	cloud.identity.user(t, "placement", cloud.identity.project(t, "service"), "service")
	cloud.identity.service(t, "placement", "http://127.0.0.1:"+cloud.port)
	cloud.writeFiles(t, database)
	if out, err := exec.Command(filepath.Join(cloud.programs, "systemctl"), "start", "placement-api").CombinedOutput(); err != nil {
		t.Fatalf("start placement-api: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command(filepath.Join(cloud.programs, "systemctl"), "stop", "placement-api").Run()
		if log, err := os.ReadFile(filepath.Join(cloud.directory, "uwsgi.log")); t.Failed() && err == nil {
			t.Logf("the log of Placement:\n%s", log)
		}
	})
	return cloud
}

// writeFiles writes placement.conf, and a systemctl for machines without systemd. Both services, the one of systemctl
// and the one of placement-api, read the file.
func (c *replacedCloud) writeFiles(t *testing.T, database string) {
	t.Helper()
	_, keystonePort, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(c.identity.url, "http://"), "/v3"))
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`[DEFAULT]
use_stderr = true
[api]
auth_strategy = keystone
[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:%[1]s
auth_url = http://127.0.0.1:%[1]s
auth_type = password
project_domain_name = Default
user_domain_name = Default
project_name = service
username = placement
password = %[2]s
[placement_database]
connection = sqlite:///%[3]s
`, keystonePort, keystonePassword, database)
	const systemctl = `#!/bin/sh -e
# Starts and stops OpenStack Placement as its systemd unit does.
cd %[1]s
case "$1 $2" in
'start placement-api')
    OS_PLACEMENT_CONFIG_DIR=%[1]s uwsgi --plugin python3 --http-socket 127.0.0.1:%[2]s --wsgi-file %[1]s/app.py --master --lazy-apps \
        --need-app --processes 1 --buffer-size 65535 --add-header 'Connection: close' --pidfile %[1]s/pid --daemonize %[1]s/uwsgi.log
    until curl -s -o answer http://127.0.0.1:%[2]s; do sleep 0.1; done ;;
'stop placement-api')
    uwsgi --stop pid
    while curl -s -o answer http://127.0.0.1:%[2]s; do sleep 0.1; done ;;
*) exit 1 ;;
esac
`
	for file, text := range map[string]string{
		filepath.Join(c.directory, "placement.conf"): conf,
		filepath.Join(c.directory, "app.py"):         "from placement.wsgi import init_application\napplication = init_application()\n",
		filepath.Join(c.programs, "systemctl"):       fmt.Sprintf(systemctl, c.directory, c.port),
	} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// fillReplacedCloud makes three hosts, a shared disk and four instances.
func fillReplacedCloud(t *testing.T, at string) {
	t.Helper()
	const version, id, storage = "1.38", "c0ffee00-0000-4000-8000-0000000000", "c0ffee00-0000-4000-8000-0000000000a1"
	provider := func(number, name, inventories, traits string) {
		uuid := id + number
		writeTo(t, at, version, "POST", "/resource_providers", fmt.Sprintf(`{"name": %q, "uuid": %q}`, name, uuid))
		writeTo(t, at, version, "PUT", "/resource_providers/"+uuid+"/inventories", `{"resource_provider_generation": 0, "inventories": {`+inventories+`}}`)
		writeTo(t, at, version, "PUT", "/resource_providers/"+uuid+"/traits", `{"resource_provider_generation": 1, "traits": [`+traits+`]}`)
		writeTo(t, at, version, "PUT", "/resource_providers/"+uuid+"/aggregates", `{"resource_provider_generation": 2, "aggregates": ["`+storage+`"]}`)
	}
	for number := range 3 {
		provider(fmt.Sprintf("1%d", number+1), fmt.Sprintf("cmp-%d", number+1),
			`"VCPU": {"total": 16, "allocation_ratio": 4.0}, "MEMORY_MB": {"total": 65536, "reserved": 512}`, `"HW_CPU_X86_AVX2"`)
	}
	provider("10", "pool", `"DISK_GB": {"total": 4000}`, `"MISC_SHARES_VIA_AGGREGATE"`)
	for number := range 4 {
		writeTo(t, at, version, "PUT", fmt.Sprintf("/allocations/%sc%d", id, number+1), fmt.Sprintf(`{"allocations": {
			"%[1]s1%[2]d": {"resources": {"VCPU": 4, "MEMORY_MB": 8192}}, "%[1]s10": {"resources": {"DISK_GB": 100}}},
			"project_id": "lab", "user_id": "ada", "consumer_generation": null, "consumer_type": "INSTANCE"}`, id, number%3+1))
	}
}

// addIdleConsumer adds a consumer without allocations, which deletions of instances leave behind in some releases.
func addIdleConsumer(t *testing.T, database string) {
	t.Helper()
	pool, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.ExecContext(t.Context(), `INSERT INTO consumers (uuid, project_id, user_id, generation)
		SELECT 'c0ffee00-0000-4000-8000-0000000000f1', project_id, user_id, 1 FROM consumers LIMIT 1`); err != nil {
		t.Fatal(err)
	}
}
