package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

func TestServer_CertificateUnusableAtStart_Exits(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	empty := filepath.Join(directory, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"serve", "--tls-cert", empty, "--tls-key", empty},
		{"serve", "--tls-cert", filepath.Join(directory, "missing"), "--tls-key", empty},
	} {
		got := runCommand(t, nil, arguments...)
		if got.code != frame.ExitFailed || !strings.Contains(got.stderr, arguments[2]) {
			t.Errorf("%q: exit code %d, %s", arguments, got.code, got.stderr)
		}
	}
	for _, arguments := range [][]string{
		{"serve", "--tls-cert", empty}, {"serve", "--tls-key", empty}, {"serve", "--tls-client-ca", empty},
		{"serve", "--trusted-proxies", "10.0.0.0/8"}, {"serve", "--proxy-headers", "--trusted-proxies", "ten"},
	} {
		if got := runCommand(t, nil, arguments...); got.code != frame.ExitUsage {
			t.Errorf("%q: exit code %d, %s", arguments, got.code, got.stderr)
		}
	}
}
