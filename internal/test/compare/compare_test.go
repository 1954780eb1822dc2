package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/command"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
)

// programVariable makes the test binary a berth, so that the tests need not build one.
const programVariable = "COMPARE_TEST_IS_BERTH"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		os.Exit(command.Run(context.Background(), frame.System(), os.Args[1:]))
	}
	storetest.Main(m)
}

// planted is the changed text.
const original, planted = `"generation":0`, `"generation":9`

// plant forwards connections to a service, and changes one byte of some responses.
func plant(t *testing.T) func(address string) string {
	return func(address string) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				client, err := listener.Accept()
				if err != nil {
					return // the test has ended
				}
				go forward(client, address)
			}
		}()
		return listener.Addr().String()
	}
}

// forward passes a request and its response on as they are, except for the planted change.
func forward(client net.Conn, address string) {
	defer client.Close()
	service, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer service.Close()
	var request, response bytes.Buffer
	sent, err := http.ReadRequest(bufio.NewReader(io.TeeReader(client, &request)))
	if err == nil {
		_, err = io.Copy(io.Discard, sent.Body)
	}
	if err != nil {
		return // no response is a difference too
	}
	_, _ = service.Write(request.Bytes())
	received, err := http.ReadResponse(bufio.NewReader(io.TeeReader(service, &response)), sent)
	if err == nil {
		_, _ = io.Copy(io.Discard, received.Body)
	}
	_, _ = client.Write(bytes.Replace(response.Bytes(), []byte(original), []byte(planted), 1))
}

// requestFiles are the files of the test, below its root.
var requestFiles = map[string]string{
	"server/api/placement/testdata/scenarios/errors.yaml": `
about: A generated UUID, and an error.
version: "1.39"
steps:
  - {name: create, request: POST /resource_providers, body: {name: host}, status: 200, save: {HOST: $.uuid}}
  - {name: rename, request: PUT /resource_providers/$HOST, body: {name: other}, status: 200}
  - {name: missing, request: GET /resource_providers/$OTHER, status: 404}
`,
	"cmd/berth/command/testdata/sessions/errors.txt": `
$ berth provider create host
$ berth provider show host --output json
$ berth provider show other
`,
}

// TestCompare_SameBuildThenPlantedChange_OnlyChangeReported compares this build with itself, and with itself behind a proxy
// that changes a byte.
func TestCompare_SameBuildThenPlantedChange_OnlyChangeReported(t *testing.T) {
	t.Setenv(programVariable, "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, text := range requestFiles {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var printed strings.Builder
	c := &comparison{
		options: &options{old: program, new: program, root: root, files: regexp.MustCompile("")}, report: &report{out: &printed}, dir: t.TempDir(),
		create: func(context.Context, *side) (string, func(context.Context) error, error) {
			return dbtest.New(t).URL, nil, nil
		},
	}
	if got, want := counts(t, c), "scenarios 0/3 sessions 0/6"; got != want {
		t.Errorf("differences of a build from itself = %s, want %s\n%s", got, want, &printed)
	}
	c.front = plant(t)
	if got, want := counts(t, c), "scenarios 2/3 sessions 2/6"; got != want {
		t.Errorf("differences after a planted change = %s, want %s\n%s", got, want, &printed)
	}
}

// counts runs the sources with files, and returns how many comparisons of each are different.
func counts(t *testing.T, c *comparison) string {
	t.Helper()
	var all []string
	for _, source := range sources {
		if source.name == "badinput" {
			continue // reading the documents takes seconds
		}
		c.begin(source.name)
		if err := source.run(c, t.Context()); err != nil {
			t.Fatalf("%s: %v", source.name, err)
		}
		all = append(all, fmt.Sprintf("%s %d/%d", source.name, c.current().different, c.current().compared))
	}
	return strings.Join(all, " ")
}

func TestCompare_Normalizer_MapsGeneratedValuesOnly(t *testing.T) {
	t.Parallel()
	const a, b, c = "0de00000-0000-4000-8000-00000000000a", "0de00000-0000-4000-8000-00000000000b", "0de00000-0000-4000-8000-00000000000c"
	for name, test := range map[string]struct {
		old, new []string
		isEqual  bool
	}{
		"a generated UUID":                  {[]string{"x " + a, a}, []string{"x " + b, b}, true},
		"a UUID that corresponds to others": {[]string{a, a}, []string{b, c}, false},
		"two that correspond to one":        {[]string{a, b}, []string{c, c}, false},
		"a UUID of a request":               {[]string{c, a}, []string{c, c}, false},
		"another text":                      {[]string{"x"}, []string{"y"}, false},
		"a time of a request":               {[]string{"2026-01-01T00:00:00Z"}, []string{"2026-01-01T00:00:01Z"}, false},
		"the date":                          {[]string{"Date: Fri, 20 Nov 2026 18:00:09 GMT"}, []string{"Date: Fri, 20 Nov 2026 18:00:10 GMT"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, isEqual := newNormalizer(), true
			for i := range test.old {
				old, new := n.pair(test.old[i], test.new[i])
				isEqual = isEqual && old == new
			}
			if isEqual != test.isEqual {
				t.Errorf("equal = %t", isEqual)
			}
		})
	}
}
