package consumers_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent/consumers"
	"github.com/berthd/berth/client"
)

var (
	first  = uuid.MustParse("0d9c7b3a-7a3c-4b52-9d4f-6f1f0f3f4a11")
	second = uuid.MustParse("1d9c7b3a-7a3c-4b52-9d4f-6f1f0f3f4a12")
	third  = uuid.MustParse("2d9c7b3a-7a3c-4b52-9d4f-6f1f0f3f4a13")
)

// share returns a share with amounts of VCPU and MEMORY_MB; 0 omits a class.
func share(device string, vcpu, memory int64) consumers.Share {
	resources := client.Resources{}
	for class, amount := range map[string]int64{"VCPU": vcpu, "MEMORY_MB": memory} {
		if amount != 0 {
			resources[class] = amount
		}
	}
	return consumers.Share{Device: device, Resources: resources}
}

func have(vcpu, memory int64) client.Resources { return share("", vcpu, memory).Resources }

// expect checks the shares of one consumer; without shares, it must be unknown.
func expect(t *testing.T, source consumers.Source, consumer uuid.UUID, have client.Resources, want ...consumers.Share) {
	t.Helper()
	got, known, err := source.Shares(t.Context(), consumer, have)
	if err != nil {
		t.Fatal(err)
	}
	if known != (len(want) > 0) || (known && !reflect.DeepEqual(got, want)) {
		t.Errorf("%s: known %v, shares %v, want %v", consumer, known, got, want)
	}
}

// write writes a file, and creates its directories.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAgent_ConsumersFile_RereadOnEachAttempt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "consumers.json")
	file := consumers.NewFile(path)
	if _, _, err := file.Shares(t.Context(), first, have(2, 0)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is not there: %v", err)
	}
	write(t, path, `{"`+first.String()+`": [
		{"device": "numa:1", "resources": {"VCPU": 2, "MEMORY_MB": 1024, "VGPU": 1}},
		{"device": "gpu:0000:03:00.0", "resources": {"VGPU": 1}}]}`)
	expect(t, file, first, have(2, 1024), share("numa:1", 2, 1024))
	expect(t, file, first, client.Resources{"DISK_GB": 1})
	expect(t, file, second, have(2, 1024))

	write(t, path, `{}`)
	expect(t, file, first, have(2, 1024), share("numa:1", 2, 1024))
	consumers.Begin(file)
	expect(t, file, first, have(2, 1024))
}

func TestAgent_ConsumersFileInvalid_ReportsLineAndEntry(t *testing.T) {
	t.Parallel()
	entry := func(shares string) string { return `{"` + first.String() + `": ` + shares + `}` }
	for want, content := range map[string]string{
		"unexpected end of file":               ``,
		"line 2: invalid character":            "{\n x",
		"line 2: invalid character '{' after":  "{}\n{}",
		"the file contains null":               `null`,
		`"x" is not a UUID of a consumer`:      `{"x": []}`,
		"has no shares":                        entry(`[]`),
		"share 1 names no device":              entry(`[{"resources": {"VCPU": 1}}]`),
		"device numa:0 has no resources":       entry(`[{"device": "numa:0"}]`),
		"device numa:0 appears twice":          entry(`[{"device": "numa:0", "resources": {"VCPU": 1}}, {"device": "numa:0", "resources": {"VCPU": 1}}]`),
		`"vcpu" is not a valid resource class`: entry(`[{"device": "numa:0", "resources": {"vcpu": 1}}]`),
		"0 of VCPU is not a positive amount":   entry(`[{"device": "numa:0", "resources": {"VCPU": 0}}]`),
		`unknown field "resource"`:             entry(`[{"device": "numa:0", "resource": {"VCPU": 1}}]`),
		`unknown field "Device"`:               entry(`[{"device": "numa:0", "Device": "numa:1", "resources": {"VCPU": 1}}]`),
		`unknown field "RESOURCES"`:            entry(`[{"device": "numa:0", "RESOURCES": {"VCPU": 1}}]`),
		`the member "device" appears twice`:    entry(`[{"device": "numa:0", "device": "numa:1", "resources": {"VCPU": 1}}]`),
		"the text is not UTF-8":                entry("[{\"device\": \"\xff\", \"resources\": {\"VCPU\": 1}}]"),
		`the member "VCPU" appears twice`:      entry(`[{"device": "numa:0", "resources": {"VCPU": 1, "VCPU": 2}}]`),
		"cannot be a JSON string":              entry(`[{"device": "numa:0", "resources": {"VCPU": "1"}}]`),
		"cannot be a JSON number":              entry(`[{"device": "numa:0", "resources": {"VCPU": 1.5}}]`),
		"has two entries":                      `{"` + first.String() + `": [{"device": "a", "resources": {"VCPU": 1}}], "` + strings.ToUpper(first.String()) + `": [{"device": "a", "resources": {"VCPU": 1}}]}`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "consumers.json")
			write(t, path, content)
			_, _, err := consumers.NewFile(path).Shares(t.Context(), second, have(1, 1))
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v, want %s", err, want)
			}
		})
	}
}
