package tokens

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// maxFile bounds the file in bytes: some 25,000 tokens. While the server loads a file, it uses about
// fifteen times its size.
const maxFile = 8 << 20

// secretMode is the mode of a secret that root gives to a service: the service manager systemd and
// Kubernetes with fsGroup mount such files. No other file may be readable by a group.
const secretMode fs.FileMode = 0o440

// superuser is the user ID of root.
const superuser = 0

// serverOwners lists the users of whom the server accepts the file: root, and the user of this process.
func serverOwners() []int { return []int{superuser, os.Geteuid()} }

// commandOwners is serverOwners for the commands, with which root manages the file of another user; nil:
// any user.
func commandOwners() []int {
	if os.Geteuid() == superuser {
		return nil
	}
	return serverOwners()
}

// ReadSecret returns the content of a file with a secret of the server, under the same rules as the tokens file: only its
// owner may read it. what names it in errors, such as "key file".
func ReadSecret(what, path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the %s: %w", what, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = checkAccess(what, path, info, serverOwners())
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// checkAccess returns an error for a file that others could read or replace the content of.
func checkAccess(what, path string, info fs.FileInfo, owners []int) error {
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return fmt.Errorf("the %s %s is not a regular file", what, path)
	case mode.Perm()&^0o600 != 0 && !(mode.Perm() == secretMode && ownerOf(info) == superuser):
		return fmt.Errorf("the %s %s has the mode %04o, but only its owner may read and write it; run: chmod 600 %s", what, path, mode.Perm(), path)
	case owners != nil && !slices.Contains(owners, ownerOf(info)):
		return fmt.Errorf("the %s %s belongs to the user ID %d, which is neither root nor the user of this process (%d); run: chown %d %s",
			what, path, ownerOf(info), os.Geteuid(), os.Geteuid(), path)
	}
	return nil
}

// check is checkAccess for the tokens file, whose size is bounded.
func check(path string, info fs.FileInfo, owners []int) error {
	err := checkAccess("tokens file", path, info, owners)
	switch {
	case err != nil:
		return err
	case info.Size() > maxFile:
		return fmt.Errorf("the tokens file %s has %d bytes, more than %d; revoke tokens that are no longer used", path, info.Size(), maxFile)
	}
	return nil
}

// ownerOf returns the user ID of the owner of a file.
func ownerOf(info fs.FileInfo) int {
	if status, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(status.Uid)
	}
	return -1
}

// read returns the entries in a file, and its state. A named pipe does not block it.
func read(path string, owners []int) ([]Entry, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("cannot open the tokens file: %w; create a token with 'berth token create', or choose another file with --tokens-file", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the tokens file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = check(path, info, owners)
	}
	if err != nil {
		return nil, info, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New("it grew while it was read")
	}
	var entries []Entry
	if err == nil {
		entries, err = parse(data)
	}
	if err != nil {
		return nil, info, fmt.Errorf("cannot read the tokens file %s: %w", path, err)
	}
	return entries, info, nil
}

// List returns the entries of a file, for commands.
func List(path string) ([]Entry, error) {
	entries, _, err := read(path, commandOwners())
	return entries, err
}
