package scenario

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestScenario_File_Parsed(t *testing.T) {
	t.Parallel()
	files, err := Load(fstest.MapFS{
		"tides.yaml": {Data: []byte(`
about: The tides.
version: 1.10
settings: {prefix: /sea}
values: {FLOOD: {repeat: ab, times: 3}, EBB: low}
given: [{request: POST /moon}]
steps: [{name: it rises, request: GET /tide, status: 200, text: [a, b], headers: {A: x, B: [y, z], C: null}, version: null}]
`)},
		"notes.txt": {Data: []byte("no scenario")},
	})
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	file, step := files[0], files[0].Steps[0]
	if version, given := optional(&file.Version); !given || version == nil || *version != "1.10" {
		t.Errorf("version %v", version)
	}
	if version, given := optional(&step.Version); !given || version != nil {
		t.Errorf("null is given and no text, got %v, %v", version, given)
	}
	if file.Theme != "tides" || file.Values["FLOOD"] != "ababab" || file.Values["EBB"] != "low" || len(step.Text) != 2 {
		t.Errorf("got %+v", file)
	}
	if len(step.Headers["A"]) != 1 || len(step.Headers["B"]) != 2 || step.Headers["C"] != nil {
		t.Errorf("headers %v", step.Headers)
	}
	var settings struct {
		Prefix string `yaml:"prefix"`
	}
	if err := file.DecodeSettings(&settings); err != nil || settings.Prefix != "/sea" {
		t.Errorf("settings %+v, %v", settings, err)
	}
}

func TestScenario_FileInvalid_ErrorNamesField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a key that does not exist": {"about: x\nsteps: [{name: n, request: GET /, status: 200, jsno: {}}]", "field jsno not found"},
		"no sentence about it":      {"steps: []", "about is missing"},
		"a step without a name":     {"about: x\nsteps: [{request: GET /, status: 200}]", "the name is missing"},
		"two steps of one name":     {"about: x\nsteps: [{name: n, request: GET /, status: 200}, {name: n, request: GET /, status: 200}]", "not unique"},
		"a step without a status":   {"about: x\nsteps: [{name: n, request: GET /}]", "the status is missing"},
		"a request without a path":  {"about: x\nsteps: [{name: n, request: GET, status: 200}]", "a method and a target"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse("t", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSettings_UnknownName_Rejected(t *testing.T) {
	t.Parallel()
	file, err := Parse("t", []byte("about: x\nsettings: {mystery: 1}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.DecodeSettings(&struct{}{}); err == nil {
		t.Error("the setting must be refused")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("about: x\nversion: 1.1\nsteps: [{name: n, request: GET /, status: 200, json: {a: [1]}, changes: []}]")
	f.Add("about: x\nvalues: {A: {repeat: x, times: 2}}\nsteps: [{name: n, request: GET /, status: 200, headers: {A: [x]}}]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("t", []byte(text))
		if err == nil && file.About == "" {
			t.Error("a file without its sentence passed")
		}
	})
}
