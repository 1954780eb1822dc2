package main

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

	"github.com/berthd/berth/server/dbtest"
)

// container is the part of a manifest that berth has a say in.
type container struct {
	Args []string `yaml:"args"`
	Env  []struct {
		Name string `yaml:"name"`
	} `yaml:"env"`
	Ports []struct {
		Name string `yaml:"name"`
	} `yaml:"ports"`
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
			var one manifest
			if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, one)
		}
	}
	return all
}

// isVariable tells whether a name in a container is a setting's.
func isVariable(name string) bool {
	return slices.ContainsFunc(new(Settings).table(), func(row setting) bool { return row.env() == name })
}

func TestTheManifestsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	environ := []string{"BERTH_DATABASE_URL=postgres://berth@db/berth"}
	for _, one := range manifests(t) {
		kinds[one.Kind] = true
		for _, values := range []map[string]string{one.Data, one.StringData} {
			for name, value := range values {
				if name == "placement.conf" {
					continue
				}
				if !isVariable(name) {
					t.Errorf("%s: %s is no setting", one.Kind, name)
				}
				environ = append(environ, name+"="+value)
			}
		}
		for _, container := range one.Spec.Template.Spec.Containers {
			checkContainer(t, &container)
		}
	}
	for _, kind := range []string{"Deployment", "Service", "ConfigMap", "Secret", "PodDisruptionBudget", "Job"} {
		if !kinds[kind] {
			t.Errorf("there is no %s", kind)
		}
	}
	// Keystone's are in the file; here is what the variables say by themselves.
	if _, _, err := loaded(t, forServer, []string{"--allow-insecure-noauth2"}, environ); err != nil {
		t.Errorf("the variables: %v", err)
	}
}

func checkContainer(t *testing.T, c *container) {
	t.Helper()
	for _, variable := range c.Env {
		if !isVariable(variable.Name) {
			t.Errorf("%s is no setting", variable.Name)
		}
	}
	if !c.Security.ReadOnly {
		t.Errorf("%q may write to its image", c.Args)
	}
	command, rest, err := (&process{}).rootCommand().Find(c.Args)
	if err != nil || command.RunE == nil {
		t.Fatalf("%q is no command: %v", c.Args, err)
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
			t.Errorf("a probe asks %s of port %q, want %s", probe.Get.Path, probe.Get.Port, want)
		}
	}
}

// TestTheProbesOfTheManifestsAreAnswered asks a server what the manifests ask.
func TestTheProbesOfTheManifestsAreAnswered(t *testing.T) {
	t.Parallel()
	b := setupServe(t, "--database-url", dbtest.NewEmpty(t).URL)
	for _, one := range manifests(t) {
		for _, c := range one.Spec.Template.Spec.Containers {
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

// TestTheUnitStartsWhatThereIs reads the command line and the variables of the unit.
func TestTheUnitStartsWhatThereIs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/deploy/berth.service")
	if err != nil {
		t.Fatal(err)
	}
	started := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if name, _, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "BERTH_") && !isVariable(name) {
			t.Errorf("%s is no setting", name)
		}
		words, ok := strings.CutPrefix(line, "ExecStart=/usr/bin/berth ")
		if !ok {
			continue
		}
		started = true
		command, rest, err := (&process{}).rootCommand().Find(strings.Fields(words))
		if err != nil || command.Name() != "serve" {
			t.Fatalf("%q: %v", words, err)
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
	if !started {
		t.Error("there is no ExecStart")
	}
}
