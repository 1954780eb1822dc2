package connect

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// closedAddress returns the address of a port on which nothing listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

// TestCLI_NoServer_ErrorNamesAddressAndRemedy sends a request to a port on which nothing listens: the error is one line, and
// retries are printed only with --verbose.
func TestCLI_NoServer_ErrorNamesAddressAndRemedy(t *testing.T) {
	t.Parallel()
	for _, verbose := range []bool{false, true} {
		address := closedAddress(t)
		var printed strings.Builder
		f := &frame.Frame{Stdout: io.Discard, Stderr: &printed, Environ: []string{"BERTH_URL=" + address}}
		command := &cobra.Command{Use: "list"}
		Flags(f, command)
		if verbose {
			if err := command.ParseFlags([]string{"--verbose"}); err != nil {
				t.Fatal(err)
			}
		}
		service, err := Client(f, command)
		if err != nil {
			t.Fatal(err)
		}
		_, err = service.TraitList(t.Context(), client.TraitFilter{})
		var none *NoServerError
		if !errors.As(err, &none) || none.Address != address {
			t.Fatalf("error = %v, want a NoServerError of %s", err, address)
		}
		want := "no server answers at " + address + " (connection refused); start one with 'berth serve', or name another with --url or BERTH_URL"
		if !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error = %q, want one line that ends with %q", err, want)
		}
		if got := strings.Contains(printed.String(), "retrying the request"); got != verbose {
			t.Errorf("with --verbose=%v, standard error = %q", verbose, printed.String())
		}
	}
}

// TestCLI_OtherErrors_KeepTheirText passes on errors that are not of a connection.
func TestCLI_OtherErrors_KeepTheirText(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dialTransport{failingTransport{broken}}.RoundTrip(request)
	if err != broken {
		t.Errorf("error = %v, want %v", err, broken)
	}
}

type failingTransport struct{ err error }

func (f failingTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }
