package main

import (
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// unixPrefix marks a listen address that is the path of a Unix socket.
const unixPrefix = "unix:"

// longestSocket is what the kernel takes as the path of a socket, in bytes.
const longestSocket = 107

// addresses reads where to listen: addresses with ports, and paths of Unix sockets.
func addresses(field *string) reader {
	return reader{kind: "addresses", read: func(text string) *rule {
		list := splitList(text)
		for _, one := range list {
			if broken := listenAddress(one); broken != nil {
				if len(list) > 1 {
					broken.broken = fmt.Sprintf("holds %q, which %s", one, broken.broken)
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

func listenAddress(text string) *rule {
	path, isSocket := strings.CutPrefix(text, unixPrefix)
	if !isSocket {
		return address(new(string)).read(text)
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" || len(path) > longestSocket || strings.ContainsAny(path, "\x00\n") {
		return &rule{"is not the path of a socket", fmt.Sprintf("write unix: and an absolute path of at most %d bytes, such as unix:/run/berth/berth.sock", longestSocket)}
	}
	return nil
}

// isLocal tells whether only this machine can reach what is listened on: loopback
// addresses and Unix sockets.
func isLocal(listen string) bool {
	for _, one := range splitList(listen) {
		if !strings.HasPrefix(one, unixPrefix) && !isLoopback(one) {
			return false
		}
	}
	return listen != ""
}

// fileMode reads the permissions of a file as chmod(1) has them.
func fileMode(field *fs.FileMode) reader {
	return reader{kind: "mode", read: func(text string) *rule {
		bits, err := strconv.ParseUint(text, 8, 16)
		if err != nil || bits > 0o777 {
			return &rule{"is not a mode", "write the permissions in octal, such as 0660"}
		}
		*field = fs.FileMode(bits)
		return nil
	}}
}

// ownership is whom a file is to belong to; -1 leaves it as it is.
type ownership struct{ user, group int }

// owner reads USER, USER:GROUP or :GROUP, as names or numbers.
func owner(field *ownership) reader {
	return reader{kind: "owner", read: func(text string) *rule {
		read := ownership{-1, -1}
		name, group, _ := strings.Cut(text, ":")
		var broken *rule
		if name != "" {
			read.user, broken = accountNumber(name, "user", func() (string, error) {
				found, err := user.Lookup(name)
				if err != nil {
					return "", err
				}
				return found.Uid, nil
			})
		}
		if group != "" && broken == nil {
			read.group, broken = accountNumber(group, "group", func() (string, error) {
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

func accountNumber(name, kind string, lookup func() (string, error)) (int, *rule) {
	if number, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(number), nil
	}
	if text, err := lookup(); err == nil {
		if number, err := strconv.Atoi(text); err == nil {
			return number, nil
		}
	}
	return -1, &rule{fmt.Sprintf("names a %s %q that this machine does not have", kind, name), "write user:group, user or :group"}
}
