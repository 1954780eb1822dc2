package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSettings_Unit_LimitsMemory(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/deploy/berth.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []string{"MemoryHigh", "MemoryMax"} {
		if !regexp.MustCompile(`(?m)^` + limit + `=[0-9]+[MG]$`).Match(text) {
			t.Errorf("the unit lacks %s=", limit)
		}
	}
}

func TestSettings_Manifests_LimitMemory(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/deploy/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var manifest struct {
				Spec struct {
					Template struct {
						Spec struct {
							Containers []struct {
								Name      string `yaml:"name"`
								Resources struct {
									Requests, Limits map[string]string
								} `yaml:"resources"`
							} `yaml:"containers"`
						} `yaml:"spec"`
					} `yaml:"template"`
				} `yaml:"spec"`
			}
			if err := decoder.Decode(&manifest); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, c := range manifest.Spec.Template.Spec.Containers {
				if c.Resources.Limits["memory"] == "" || c.Resources.Requests["memory"] == "" {
					t.Errorf("%s: container %s has no memory request and limit", name, c.Name)
				}
			}
		}
	}
}
