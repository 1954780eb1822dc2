package command

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/internal/config"
	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/setting"
	"github.com/berthd/berth/internal/test/dbtest"
)

// container is the part of a container in a manifest that the tests check.
type container struct {
	Args []string `yaml:"args"`
	Env  []struct {
		Name string `yaml:"name"`
	} `yaml:"env"`
	Ports []struct {
		Name string `yaml:"name"`
	} `yaml:"ports"`
	Mounts []struct {
		Name     string `yaml:"name"`
		Path     string `yaml:"mountPath"`
		ReadOnly bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
	Startup   probe `yaml:"startupProbe"`
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Security  struct {
		ReadOnly bool `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
}

type probe struct {
	Get struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
}

type manifest struct {
	Kind       string            `yaml:"kind"`
	Data       map[string]string `yaml:"data"`
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Template struct {
			Spec struct {
				Containers []container `yaml:"containers"`
				Volumes    []struct {
					Name     string `yaml:"name"`
					EmptyDir struct {
						SizeLimit string `yaml:"sizeLimit"`
					} `yaml:"emptyDir"`
				} `yaml:"volumes"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

func manifests(t *testing.T) []manifest {
	t.Helper()
	files, err := filepath.Glob("../../docs/deploy/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	var all []manifest
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var document manifest
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, document)
		}
	}
	return all
}

// isVariable reports whether name is the environment variable of a setting.
func isVariable(name string) bool {
	return slices.ContainsFunc(new(config.Settings).Table(), func(row setting.Setting) bool { return row.Env() == name })
}

func TestDocs_Manifests_NameExistingSettings(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	environ := []string{"BERTH_DATABASE_URL=postgres://berth@db/berth"}
	for _, document := range manifests(t) {
		kinds[document.Kind] = true
		for _, values := range []map[string]string{document.Data, document.StringData} {
			for name, value := range values {
				if name == "placement.conf" {
					continue
				}
				if !isVariable(name) {
					t.Errorf("%s: %s is not a setting", document.Kind, name)
				}
				environ = append(environ, name+"="+value)
			}
		}
		for _, container := range document.Spec.Template.Spec.Containers {
			checkContainer(t, &container)
		}
	}
	for _, kind := range []string{"Deployment", "Service", "ConfigMap", "Secret", "PodDisruptionBudget", "Job"} {
		if !kinds[kind] {
			t.Errorf("the manifests lack a %s", kind)
		}
	}
	// Without the file, which has the settings of Keystone, the variables must be valid.
	if _, _, err := loaded(t, config.ForServer, []string{"--allow-insecure-noauth2"}, environ); err != nil {
		t.Errorf("invalid variables: %v", err)
	}
}

func checkContainer(t *testing.T, c *container) {
	t.Helper()
	for _, variable := range c.Env {
		if !isVariable(variable.Name) {
			t.Errorf("%s is not a setting", variable.Name)
		}
	}
	if !c.Security.ReadOnly {
		t.Errorf("%q: the root file system is not read-only", c.Args)
	}
	command, rest, err := rootCommand((&frame.Frame{})).Find(c.Args)
	if err != nil || command.RunE == nil {
		t.Fatalf("%q is not a command: %v", c.Args, err)
	}
	if err := command.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("%q: %v", c.Args, err)
	}
	if command.Name() != "serve" {
		return
	}
	for probe, want := range map[probe]string{c.Startup: "/livez", c.Liveness: "/livez", c.Readiness: "/readyz"} {
		named := slices.ContainsFunc(c.Ports, func(port struct {
			Name string `yaml:"name"`
		}) bool {
			return port.Name == probe.Get.Port
		})
		if probe.Get.Path != want || !named {
			t.Errorf("probe of %s on port %q, want %s on a named port", probe.Get.Path, probe.Get.Port, want)
		}
	}
}

// TestSettings_Manifests_SpoolIsWritable checks that the spool has a writable directory, because the
// root file systems of images and units are read-only.
func TestSettings_Manifests_SpoolIsWritable(t *testing.T) {
	t.Parallel()
	dir, mounted, limited := "", false, false
	for _, document := range manifests(t) {
		if named := document.Data["BERTH_SPOOL_DIR"]; named != "" {
			dir = named
		}
	}
	for _, document := range manifests(t) {
		for _, container := range document.Spec.Template.Spec.Containers {
			for _, mount := range container.Mounts {
				if mount.Path != dir || mount.ReadOnly {
					continue
				}
				mounted = true
				for _, volume := range document.Spec.Template.Spec.Volumes {
					limited = limited || volume.Name == mount.Name && volume.EmptyDir.SizeLimit != ""
				}
			}
		}
	}
	if dir == "" || !mounted || !limited {
		t.Errorf("directory = %q, mounted writable = %t, limited = %t; want a directory, true, true", dir, mounted, limited)
	}
	unit, err := os.ReadFile("../../docs/deploy/berth.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nCacheDirectory=berth\n", "\nEnvironment=BERTH_SPOOL_DIR=/var/cache/berth\n"} {
		if !strings.Contains(string(unit), want) {
			t.Errorf("the unit lacks %q", strings.TrimSpace(want))
		}
	}
}

// TestDocs_ManifestProbes_Return200 sends the requests of the probes to a server.
func TestDocs_ManifestProbes_Return200(t *testing.T) {
	t.Parallel()
	b := setupServe(t, "--database-url", dbtest.NewEmpty(t).URL)
	for _, document := range manifests(t) {
		for _, c := range document.Spec.Template.Spec.Containers {
			for _, probe := range []probe{c.Startup, c.Liveness, c.Readiness} {
				if probe.Get.Path == "" {
					continue
				}
				response, err := http.Get(b.url + probe.Get.Path)
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Errorf("%s: %s", probe.Get.Path, response.Status)
				}
			}
		}
	}
}

// TestDocs_SystemdUnit_NamesExistingCommandAndSettings parses the command line and the variables of the unit.
func TestDocs_SystemdUnit_NamesExistingCommandAndSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/deploy/berth.service")
	if err != nil {
		t.Fatal(err)
	}
	hasExecStart := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if name, _, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "BERTH_") && !isVariable(name) {
			t.Errorf("%s is not a setting", name)
		}
		words, ok := strings.CutPrefix(line, "ExecStart=/usr/bin/berth ")
		if !ok {
			continue
		}
		hasExecStart = true
		command, rest, err := rootCommand((&frame.Frame{})).Find(strings.Fields(words))
		if err != nil || command.Name() != "serve" {
			t.Fatalf("%q: %v", words, err)
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
	if !hasExecStart {
		t.Error("the unit lacks ExecStart")
	}
}
