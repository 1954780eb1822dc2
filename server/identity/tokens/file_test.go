package tokens

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// state is the state of a file that does not exist.
type state struct {
	fs.FileInfo
	mode fs.FileMode
	uid  uint32
	size int64
}

func (s state) Mode() fs.FileMode { return s.mode }
func (s state) Size() int64       { return s.size }
func (s state) Sys() any          { return &syscall.Stat_t{Uid: s.uid} }

func TestAuth_TokensFileMode_OnlyOwnerMayRead(t *testing.T) {
	t.Parallel()
	server := []int{superuser, 990}
	mode := func(bits string) string {
		return "the tokens file /t has the mode " + bits + ", but only its owner may read and write it; run: chmod 600 /t"
	}
	for _, c := range []struct {
		state  state
		owners []int
		want   string
	}{
		{state{mode: 0o600, uid: 990}, server, ""},
		{state{mode: 0o400, uid: 990}, server, ""},
		{state{mode: 0o600, uid: superuser}, server, ""},
		{state{mode: 0o440, uid: superuser}, server, ""},
		{state{mode: 0o440, uid: 990}, server, mode("0440")},
		{state{mode: 0o640, uid: superuser}, server, mode("0640")},
		{state{mode: 0o604, uid: 990}, server, mode("0604")},
		{state{mode: 0o620, uid: 990}, server, mode("0620")},
		{state{mode: 0o700, uid: 990}, server, mode("0700")},
		{state{mode: 0o600, uid: 1000}, nil, ""},
		{state{mode: 0o600, uid: 1000}, server, fmt.Sprintf(
			"the tokens file /t belongs to the user ID 1000, which is neither root nor the user of this process (%d); run: chown %[1]d /t", os.Geteuid())},
		{state{mode: 0o600 | fs.ModeNamedPipe, uid: 990}, server, "the tokens file /t is not a regular file"},
		{state{mode: 0o600, uid: 990, size: maxFile}, server, ""},
		{state{mode: 0o600, uid: 990, size: maxFile + 1}, server, "the tokens file /t has 8388609 bytes, more than 8388608; revoke tokens that are no longer used"},
	} {
		got := ""
		if err := check("/t", c.state, c.owners); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("check(%v, uid %d, %d bytes) = %q, want %q", c.state.mode, c.state.uid, c.state.size, got, c.want)
		}
	}
}

// TestAuth_TokensFileOfOtherKind_ReadOrRejected reads a named pipe, a directory and symbolic links. A link is read, as
// Kubernetes mounts secrets, and never replaced.
func TestAuth_TokensFileOfOtherKind_ReadOrRejected(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path := func(name string) string { return filepath.Join(directory, name) }
	entry, _ := added(t, path("tokens.yaml"), Entry{User: "ada", Project: "lab", Roles: []string{"reader"}})
	for _, err := range []error{
		syscall.Mkfifo(path("pipe"), 0o600), os.Mkdir(path("directory"), 0o600),
		os.Symlink("tokens.yaml", path("link")), os.Symlink("pipe", path("link to a pipe")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe", "directory", "link to a pipe"} {
		if entries, err := List(path(name)); err == nil || !strings.HasSuffix(err.Error(), " is not a regular file") {
			t.Errorf("List(%s) = %v, %v", name, entries, err)
		}
	}
	if entries, err := List(path("link")); err != nil || len(entries) != 1 || entries[0].ID != entry.ID {
		t.Errorf("List(link) = %v, %v", entries, err)
	}
	want := fmt.Sprintf("the tokens file %s is a symbolic link; name the file that it points to with --tokens-file", path("link"))
	if err := Revoke(t.Context(), path("link"), []string{entry.ID}); err == nil || err.Error() != want {
		t.Errorf("Revoke(link) = %v, want %s", err, want)
	}
}

// TestAuth_ConcurrentTokenCommands_LoseNoToken adds tokens from several goroutines, which open the directory on their
// own as processes do.
func TestAuth_ConcurrentTokenCommands_LoseNoToken(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path := filepath.Join(directory, "tokens.yaml")
	var running sync.WaitGroup
	const writers = 16
	for range writers {
		running.Go(func() {
			entry, _, err := NewEntry(Entry{User: "ada", Project: "lab", Roles: []string{"reader"}}, time.Now())
			if err == nil {
				err = Add(t.Context(), path, entry)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	entries, err := List(path)
	if err != nil || len(entries) != writers {
		t.Fatalf("%d tokens, %v; want %d", len(entries), err, writers)
	}
	files, err := os.ReadDir(directory)
	if err != nil || len(files) != 1 {
		t.Errorf("files = %v, %v; want the tokens file only", files, err)
	}
	var ids []string
	for _, entry := range entries {
		ids = append(ids, entry.ID)
	}
	if err := Revoke(t.Context(), path, append(ids, "none")); err == nil || !strings.Contains(err.Error(), "has no token none; nothing was revoked") {
		t.Errorf("Revoke with an unknown id: %v", err)
	}
	if err := Revoke(t.Context(), path, ids); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); string(content) != "tokens: []\n" || err != nil {
		t.Errorf("file = %q, %v", content, err)
	}
	if opened(t, path).Tokens() != 0 {
		t.Error("the file has tokens")
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
}
