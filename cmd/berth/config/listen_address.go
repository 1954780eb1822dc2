package config

import (
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
)

// UnixPrefix marks a listen address that is the path of a Unix socket.
const UnixPrefix = "unix:"

// maxSocketPath is the maximum length of a socket path in the kernel, in bytes.
const maxSocketPath = 107

// addresses returns a reader of listen addresses: addresses with ports, and paths of Unix
// sockets.
func addresses(field *string) setting.Reader {
	return setting.Reader{Kind: "addresses", Read: func(text string) *frame.Rule {
		list := setting.SplitList(text)
		for _, text := range list {
			if broken := listenAddress(text); broken != nil {
				if len(list) > 1 {
					broken.Broken = fmt.Sprintf("holds %q, which %s", text, broken.Broken)
				}
				return broken
			}
		}
		if len(list) == 0 {
			return listenAddress("")
		}
		*field = text
		return nil
	}}
}

func listenAddress(text string) *frame.Rule {
	path, isSocket := strings.CutPrefix(text, UnixPrefix)
	if !isSocket {
		return setting.Address(new(string)).Read(text)
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" || len(path) > maxSocketPath || strings.ContainsAny(path, "\x00\n") {
		return &frame.Rule{Broken: "is not the path of a socket", Remedy: fmt.Sprintf("write unix: and an absolute path of at most %d bytes, such as unix:/run/berth/berth.sock", maxSocketPath)}
	}
	return nil
}

// isLocal reports whether only this host can reach the listen addresses: all are loopback
// addresses or Unix sockets.
func isLocal(listen string) bool {
	for _, text := range setting.SplitList(listen) {
		if !strings.HasPrefix(text, UnixPrefix) && !setting.IsLoopback(text) {
			return false
		}
	}
	return listen != ""
}

// fileMode returns a reader of octal file permissions, as in chmod(1).
func fileMode(field *fs.FileMode) setting.Reader {
	return setting.Reader{Kind: "mode", Read: func(text string) *frame.Rule {
		bits, err := strconv.ParseUint(text, 8, 16)
		if err != nil || bits > 0o777 {
			return &frame.Rule{Broken: "is not a file mode", Remedy: "write the permissions in octal, such as 0660"}
		}
		*field = fs.FileMode(bits)
		return nil
	}}
}

// Ownership is the owner of a file; -1 leaves the user or the group unchanged.
type Ownership struct{ User, Group int }

// owner returns a reader of USER, USER:GROUP or :GROUP, as names or numbers.
func owner(field *Ownership) setting.Reader {
	return setting.Reader{Kind: "owner", Read: func(text string) *frame.Rule {
		read := Ownership{-1, -1}
		name, group, _ := strings.Cut(text, ":")
		var broken *frame.Rule
		if name != "" {
			read.User, broken = accountNumber(name, "user", func() (string, error) {
				found, err := user.Lookup(name)
				if err != nil {
					return "", err
				}
				return found.Uid, nil
			})
		}
		if group != "" && broken == nil {
			read.Group, broken = accountNumber(group, "group", func() (string, error) {
				found, err := user.LookupGroup(group)
				if err != nil {
					return "", err
				}
				return found.Gid, nil
			})
		}
		if broken == nil {
			*field = read
		}
		return broken
	}}
}

func accountNumber(name, kind string, lookup func() (string, error)) (int, *frame.Rule) {
	if number, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(number), nil
	}
	if text, err := lookup(); err == nil {
		if number, err := strconv.Atoi(text); err == nil {
			return number, nil
		}
	}
	return -1, &frame.Rule{Broken: fmt.Sprintf("names a %s %q that does not exist on this host", kind, name), Remedy: "write user:group, user or :group"}
}
