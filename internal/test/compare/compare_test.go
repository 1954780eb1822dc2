package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/command"
	"github.com/berthd/berth/internal/frame"
)

// programVariable makes the test binary a berth, so that the tests need not build one.
const programVariable = "COMPARE_TEST_IS_BERTH"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		os.Exit(command.Run(context.Background(), frame.System(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// plant forwards connections to a service, and changes one byte of one error text.
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

// forward passes a request on, and its response when it is complete.
func forward(client net.Conn, address string) {
	defer client.Close()
	service, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer service.Close()
	request, err := http.ReadRequest(bufio.NewReader(client))
	if err != nil {
		return
	}
	request.Close = true
	_ = request.Write(service) // without it there is no response, which is a difference too
	response, _ := io.ReadAll(service)
	_, _ = client.Write(bytes.Replace(response, []byte("could not be found"), []byte("could not by found"), 1))
}

// TestCompare_SameBuildThenPlantedChange_OnlyChangeReported runs some requests of each source.
func TestCompare_SameBuildThenPlantedChange_OnlyChangeReported(t *testing.T) {
	t.Setenv(programVariable, "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	result := &report{out: &found}
	chosen := &options{old: program, new: program, root: "../../..", files: regexp.MustCompile("^(aggregates|http_prefix|names)$"), requests: 50, seed: 1}
	c, err := chosen.open(t.Context(), result)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	mark := time.Now()
	for _, source := range sources {
		t.Log(source.name, time.Since(mark))
		result.begin(source.name)
		if err := source.run(c, t.Context()); err != nil {
			t.Fatalf("%s: %v", source.name, err)
		}
		if compared := result.current().compared; compared < 10 {
			t.Errorf("%s: compared = %d, want more", source.name, compared)
		}
	}
	if result.table(); result.different() {
		t.Errorf("differences of a build from itself:\n%s", &found)
	}
	c.front = plant(t)
	result.begin("scenarios")
	if err := c.scenarios(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !result.different() || !strings.Contains(found.String(), "could not by found") {
		t.Errorf("the planted change is not found:\n%s", &found)
	}
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
