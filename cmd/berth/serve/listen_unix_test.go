package serve

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/internal/test/testfile"
)

var ownerOnly = config.Ownership{User: -1, Group: -1}

func TestServer_UnixSocket_HasModeAndOwnerAndIsRemoved(t *testing.T) {
	t.Parallel()
	path := testfile.SocketPath(t)
	listener, err := listenUnix(t.Context(), path, 0o666, config.Ownership{User: -1, Group: os.Getgid()})
	if err != nil {
		t.Fatal(err)
	}
	found, err := os.Stat(path)
	if err != nil || found.Mode() != fs.ModeSocket|0o666 || found.Sys().(*syscall.Stat_t).Gid != uint32(os.Getgid()) {
		t.Errorf("mode %v, %+v, %v", found.Mode(), found.Sys(), err)
	}
	if err := errors.Join(listener.Close(), listener.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestServer_StaleUnixSocket_Replaced(t *testing.T) {
	t.Parallel()
	path := testfile.SocketPath(t)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	listener, err := listenUnix(t.Context(), path, 0o600, ownerOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	connection, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
}

func TestServer_UnixSocketInUse_NotReplaced(t *testing.T) {
	t.Parallel()
	path := testfile.SocketPath(t)
	listener, err := listenUnix(t.Context(), path, 0o600, ownerOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := listenUnix(t.Context(), path, 0o600, ownerOnly); err == nil || !strings.Contains(err.Error(), "served by another berth") {
		t.Errorf("got %v", err)
	}

	// A socket of a program without the lock file is not replaced either.
	foreign := testfile.SocketPath(t)
	other, err := net.Listen("unix", foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := listenUnix(t.Context(), foreign, 0o600, ownerOnly); err == nil || !strings.Contains(err.Error(), "another program listens") {
		t.Errorf("got %v", err)
	}
	for _, path := range []string{path, foreign} {
		if found, err := os.Lstat(path); err != nil || found.Mode().Type() != fs.ModeSocket {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
}

func TestServer_UnixSocketPathIsFile_NotReplaced(t *testing.T) {
	t.Parallel()
	path := testfile.SocketPath(t)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(t.Context(), path, 0o600, ownerOnly); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestServer_ConcurrentStartsOnOneSocket_OneListens(t *testing.T) {
	t.Parallel()
	path := testfile.SocketPath(t)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	won := make(chan net.Listener)
	for range 20 {
		go func() {
			listener, _ := listenUnix(t.Context(), path, 0o600, ownerOnly)
			won <- listener
		}()
	}
	var winners []net.Listener
	for range 20 {
		if listener := <-won; listener != nil {
			winners = append(winners, listener)
		}
	}
	if len(winners) != 1 {
		t.Errorf("%d have it", len(winners))
	}
	connection, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
	for _, winner := range winners {
		winner.Close()
	}
}
