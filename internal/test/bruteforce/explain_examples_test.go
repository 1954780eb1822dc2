package bruteforce_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/internal/test/bruteforce"
	"github.com/berthd/berth/server/search/explain"
)

// situation is a deployment and a query with its complete explanation in JSON.
type situation struct {
	Title, Deployment, Query, Explanation string
}

// situations is the number of situations in testdata/explain.yaml.
const situations = 6

func readSituations(t *testing.T) []situation {
	t.Helper()
	text, err := os.ReadFile("testdata/explain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read []situation
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&read); err != nil {
		t.Fatal(err)
	}
	if len(read) != situations {
		t.Fatalf("%d situations, want %d", len(read), situations)
	}
	return read
}

// want returns the explanation of a situation.
func (s situation) want(t *testing.T) *explain.Explanation {
	t.Helper()
	var read explain.Explanation
	decoder := json.NewDecoder(strings.NewReader(s.Explanation))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		t.Fatalf("%s: %v", s.Title, err)
	}
	return &read
}

func (s situation) parse(t *testing.T) *bruteforce.Deployment {
	t.Helper()
	deployment, err := bruteforce.ParseDeployment(s.Deployment)
	if err != nil {
		t.Fatalf("%s: %v", s.Title, err)
	}
	return deployment
}

// indented returns JSON with one member in each line.
func indented(t interface{ Fatal(args ...any) }, of any) string {
	text, err := json.MarshalIndent(of, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCandidates_BruteforceExplanations_MatchExamples(t *testing.T) {
	t.Parallel()
	for _, each := range readSituations(t) {
		got := indented(t, each.parse(t).Explain(bruteforce.Expand(each.Query), bruteforce.Berth))
		if want := indented(t, each.want(t)); got != want {
			t.Errorf("%s: explanation\n%s\nnot\n%s", each.Title, got, want)
		}
	}
}

func TestCandidates_BruteforceSimilarNames_MatchExpected(t *testing.T) {
	t.Parallel()
	names := []string{"CUSTOM_SSD", "CUSTOM_SSD_RAID", "STORAGE_DISK_SSD", "VGPU", "HW_GPU", "CUSTOM_A", "CUSTOM_B", "CUSTOM_C", "CUSTOM_D"}
	for wanted, want := range map[string]string{
		"CUSTOM_SDD":              "CUSTOM_SSD CUSTOM_D",
		"CUSTOM_RAID_SSD":         "CUSTOM_SSD_RAID",
		"CUSTOM_STORAGE_DISK_SSD": "STORAGE_DISK_SSD",
		"VPGU":                    "VGPU",
		"GPU":                     "VGPU",
		"SHORT":                   "",
		"CUSTOM_E":                "CUSTOM_A CUSTOM_B CUSTOM_C",
	} {
		if got := strings.Join(bruteforce.Similar([]string{wanted}, names), " "); got != want {
			t.Errorf("names similar to %s = %q, want %q", wanted, got, want)
		}
	}
}
