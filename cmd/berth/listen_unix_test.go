package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// socketPath is short enough for the kernel, which the usual directory may not be.
func socketPath(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	return filepath.Join(directory, "s")
}

var nobodyElse = ownership{-1, -1}

func TestASocketHasItsModeAndOwnerAndGoesWithItsServer(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	listener, err := listenUnix(t.Context(), path, 0o666, ownership{-1, os.Getgid()})
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

func TestASocketThatADeadProcessLeftIsReplaced(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	listener, err := listenUnix(t.Context(), path, 0o600, nobodyElse)
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

func TestASocketThatIsServedStays(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	listener, err := listenUnix(t.Context(), path, 0o600, nobodyElse)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := listenUnix(t.Context(), path, 0o600, nobodyElse); err == nil || !strings.Contains(err.Error(), "served by another berth") {
		t.Errorf("got %v", err)
	}

	// Also one of a program that knows nothing of the lock.
	foreign := socketPath(t)
	other, err := net.Listen("unix", foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := listenUnix(t.Context(), foreign, 0o600, nobodyElse); err == nil || !strings.Contains(err.Error(), "another program listens") {
		t.Errorf("got %v", err)
	}
	for _, path := range []string{path, foreign} {
		if found, err := os.Lstat(path); err != nil || found.Mode().Type() != fs.ModeSocket {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
}

func TestAFileIsNotReplacedByASocket(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(t.Context(), path, 0o600, nobodyElse); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestOfManyThatStartAtOnceOneHasTheSocket(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	won := make(chan net.Listener)
	for range 20 {
		go func() {
			listener, _ := listenUnix(t.Context(), path, 0o600, nobodyElse)
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

func TestWhereToListenIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		ok, local bool
	}{
		"127.0.0.1:8778": {true, true},
		"127.0.0.1:8778, unix:/run/berth/berth.sock": {true, true},
		"unix:/run/berth.sock":                       {true, true},
		"127.0.0.1:1,:2":                             {true, false},
		"unix:berth.sock":                            {false, true},
		"unix:/run/../x":                             {false, true},
		"unix:/" + strings.Repeat("x", 107):          {false, true},
		"unix:":                                      {false, true},
		"127.0.0.1:8778,nonsense":                    {false, false},
		"":                                           {false, false},
		" , ":                                        {false, true},
	} {
		var field string
		if broken := addresses(&field).read(text); (broken == nil) != want.ok || want.ok && field != text {
			t.Errorf("%q: %+v, stored %q", text, broken, field)
		}
		if want.ok && isLocal(text) != want.local {
			t.Errorf("%q is local: %v", text, !want.local)
		}
	}
}

func TestOwnersAndModesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ownership{
		"": {-1, -1}, "root": {0, -1}, ":0": {-1, 0}, "0:65534": {0, 65534}, "65532": {65532, -1}, "root:root": {0, 0},
	} {
		var got ownership
		if broken := owner(&got).read(text); broken != nil || got != want {
			t.Errorf("%q: %+v, %+v", text, got, broken)
		}
	}
	for _, text := range []string{"no-such-user-here", ":no-such-group-here", "-1"} {
		if broken := owner(new(ownership)).read(text); broken == nil {
			t.Errorf("%q was read", text)
		}
	}
	var mode fs.FileMode
	if broken := fileMode(&mode).read("0640"); broken != nil || mode != 0o640 {
		t.Errorf("%v, %+v", mode, broken)
	}
	for _, text := range []string{"", "0980", "1777", "rw"} {
		if broken := fileMode(&mode).read(text); broken == nil {
			t.Errorf("%q was read", text)
		}
	}
}
