package deploycheck

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/docker/go-units"
)

// project loads compose.yaml as `docker compose` does, with validation against the schema of Compose and no variables.
func project(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{deploy + "/compose/compose.yaml"}, cli.WithInterpolation(true))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func service(t *testing.T, name string) types.ServiceConfig {
	t.Helper()
	found, err := project(t).GetService(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// mountedFile returns the file of this repository that a service has at a path.
func mountedFile(t *testing.T, serviceName, target string) string {
	t.Helper()
	for _, mounted := range service(t, serviceName).Configs {
		if mounted.Target == target {
			return project(t).Configs[mounted.Source].File
		}
	}
	t.Fatalf("service %s has no file %s", serviceName, target)
	return ""
}

func TestDocs_Compose_ServicesAreRestricted(t *testing.T) {
	t.Parallel()
	loaded := project(t)
	if got, want := loaded.ServiceNames(), []string{"berth", "grafana", "postgres", "prometheus"}; !slices.Equal(got, want) {
		t.Errorf("services = %q, want %q", got, want)
	}
	for name, s := range loaded.Services {
		if !s.ReadOnly || s.Privileged || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s: its root is writable, or it has privileges", name)
		}
		if s.Restart != types.RestartPolicyUnlessStopped || s.HealthCheck == nil || s.HealthCheck.Disable {
			t.Errorf("%s: restart = %q, health check = %v; want unless-stopped and a check", name, s.Restart, s.HealthCheck)
		}
		if s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.MemoryBytes == 0 ||
			s.Deploy.Resources.Limits.NanoCPUs == 0 || s.Deploy.Resources.Limits.Pids == 0 {
			t.Errorf("%s: it has no limit of memory, processors or processes", name)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is published on %q, want 127.0.0.1", name, port.Published, port.HostIP)
			}
		}
		for variable, value := range s.Environment {
			if regexp.MustCompile(`PASSWORD|SECRET|TOKEN|KEY`).MatchString(variable) {
				t.Errorf("%s: %s is a secret in the environment", name, variable)
			}
			if value == nil {
				t.Errorf("%s: %s has no value, so that it depends on the environment of the caller", name, variable)
			}
		}
	}
}

func TestDocs_Compose_FilesExist(t *testing.T) {
	t.Parallel()
	loaded := project(t)
	for name, config := range loaded.Configs {
		if info, err := os.Stat(config.File); err != nil || !info.Mode().IsRegular() {
			t.Errorf("config %s: %s is not a file: %v", name, config.File, err)
		}
	}
	for name, s := range loaded.Services {
		for _, mounted := range s.Volumes {
			if mounted.Type != types.VolumeTypeVolume {
				t.Errorf("%s: %s is a %s, want a named volume or a config", name, mounted.Target, mounted.Type)
			}
		}
	}
	built := loaded.Services["berth"].Build
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	if built == nil || filepath.Clean(built.Context) != root {
		t.Fatalf("build = %v, want the context %s", built, root)
	}
	if _, err := os.Stat(filepath.Join(built.Context, built.Dockerfile)); err != nil {
		t.Error(err)
	}
}

func TestDocs_ComposeBerth_SettingsAndCommandsValid(t *testing.T) {
	t.Parallel()
	s := service(t, "berth")
	environment := imageEnvironment(t)
	for name, value := range s.Environment {
		environment = append(environment, name+"="+*value)
	}
	if len(s.Command) > 0 || len(s.Entrypoint) > 0 {
		t.Errorf("command = %q, entrypoint = %q; want those of the image", s.Command, s.Entrypoint)
	}
	checkNames(t, environment)
	checkServer(t, environment, []string{"serve"})
	test := s.HealthCheck.Test
	if len(test) < 3 || test[0] != "CMD" || test[1] != "/berth" {
		t.Fatalf("health check = %q, want CMD /berth …", test)
	}
	checkCommand(t, test[2:])
	address := serve(t)
	if out, err := berth(t, []string{"BERTH_URL=http://" + address}, test[2:]...).CombinedOutput(); err != nil {
		t.Errorf("health check: %v\n%s", err, out)
	}
	if out, err := berth(t, []string{"BERTH_URL=http://" + freeAddress(t)}, test[2:]...).CombinedOutput(); err == nil {
		t.Errorf("the health check succeeds without a server: %s", out)
	}
}

// imageEnvironment returns the variables that the last stage of the Dockerfile sets.
func imageEnvironment(t *testing.T) []string {
	t.Helper()
	text := readFile(t, deploy+"/Dockerfile")
	_, last, _ := strings.Cut(text, "\nFROM scratch\n")
	found := regexp.MustCompile(`(?m)^ENV (.*)$`).FindStringSubmatch(last)
	if found == nil {
		t.Fatal("the last stage of the Dockerfile has no ENV")
	}
	return strings.Fields(found[1])
}

// TestDocs_ComposeDatabase_SharesSocket checks that both services have the directory of the socket on one volume, and
// that PostgreSQL, which does not authenticate, has no network.
func TestDocs_ComposeDatabase_SharesSocket(t *testing.T) {
	t.Parallel()
	postgres, berth := service(t, "postgres"), service(t, "berth")
	database, err := url.Parse(*berth.Environment["BERTH_DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	if database.User.Username() != *postgres.Environment["POSTGRES_USER"] || database.Path != "/"+*postgres.Environment["POSTGRES_DB"] {
		t.Errorf("%s: want the user and the database of the service postgres", database)
	}
	source := func(s types.ServiceConfig, target string) string {
		for _, mounted := range s.Volumes {
			if mounted.Target == target && !mounted.ReadOnly {
				return mounted.Source
			}
		}
		return ""
	}
	// Debian's PostgreSQL has its socket here.
	volume := source(postgres, "/var/run/postgresql")
	if volume == "" || volume != source(berth, database.Query().Get("host")) {
		t.Errorf("%s: want a directory on the volume of /var/run/postgresql, %q", database, volume)
	}
	if postgres.NetworkMode != "none" || !slices.Contains(postgres.Command, "listen_addresses=") {
		t.Errorf("network = %q, command = %q; want none", postgres.NetworkMode, postgres.Command)
	}
	if condition := berth.DependsOn["postgres"].Condition; condition != types.ServiceConditionHealthy {
		t.Errorf("berth depends on postgres: %q, want %q", condition, types.ServiceConditionHealthy)
	}
}

// TestDocs_ComposeSpool_FitsInMemory compares the limits that apply to the directory of responses.
func TestDocs_ComposeSpool_FitsInMemory(t *testing.T) {
	t.Parallel()
	s := service(t, "berth")
	spool, err := strconv.ParseInt(*s.Environment["BERTH_SPOOL_MAX_BYTES"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	sized := regexp.MustCompile(`^/tmp:size=(\w+),mode=1777$`).FindStringSubmatch(strings.Join(s.Tmpfs, " "))
	if sized == nil {
		t.Fatalf("tmpfs = %q, want /tmp with a size and mode 1777", s.Tmpfs)
	}
	directory, err := units.RAMInBytes(sized[1])
	if err != nil {
		t.Fatal(err)
	}
	memory := int64(s.Deploy.Resources.Limits.MemoryBytes)
	// Berth needs up to 512 MiB besides: docs/sizing.md.
	if spool >= directory || directory+512<<20 > memory {
		t.Errorf("spool = %d, /tmp = %d, memory = %d; want each less than the next, with 512 MiB for Berth", spool, directory, memory)
	}
}
