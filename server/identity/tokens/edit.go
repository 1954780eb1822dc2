package tokens

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The wait of a command for another one that changes the same file.
const (
	lockTimeout = 10 * time.Second
	lockPause   = 20 * time.Millisecond
)

// Add adds an entry to a file, and creates the file with mode 0600 if there is none.
func Add(ctx context.Context, path string, entry Entry) error {
	return edit(ctx, path, true, func(entries []Entry) ([]Entry, error) { return append(entries, entry), nil })
}

// Revoke removes the entries with these ids from a file. If one of the ids is not in the file, it changes
// nothing and returns an error.
func Revoke(ctx context.Context, path string, ids []string) error {
	return edit(ctx, path, false, func(entries []Entry) ([]Entry, error) {
		wanted := map[string]bool{}
		for _, id := range ids {
			wanted[id] = true
		}
		var kept []Entry
		for _, entry := range entries {
			if wanted[entry.ID] {
				delete(wanted, entry.ID)
				continue
			}
			kept = append(kept, entry)
		}
		var unknown []string
		for _, id := range ids {
			if wanted[id] {
				unknown = append(unknown, id)
			}
		}
		if len(unknown) > 0 {
			return nil, fmt.Errorf("the tokens file %s has no token %s; nothing was revoked; 'berth token list' shows the ids", path, strings.Join(unknown, ", "))
		}
		return kept, nil
	})
}

// edit changes the entries of a file under a lock that excludes other commands. It replaces the file
// atomically, so that the server reads either the entries before the change or those after it.
func edit(ctx context.Context, path string, create bool, change func([]Entry) ([]Entry, error)) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("the tokens file %s is a symbolic link; name the file that it points to with --tokens-file", path)
	}
	unlock, err := lockDirectory(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	entries, info, err := read(path, commandOwners())
	if err != nil && !(create && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEmpty))) {
		return err
	}
	if entries, err = change(entries); err != nil {
		return err
	}
	data, err := encode(entries)
	if err != nil {
		return err
	}
	if len(data) > maxFile {
		return fmt.Errorf("the tokens file %s would have %d bytes, more than %d; revoke tokens that are no longer used", path, len(data), maxFile)
	}
	return replace(path, data, info)
}

// lockDirectory locks the directory of the file against other commands, until unlock.
func lockDirectory(ctx context.Context, directory string) (unlock func(), err error) {
	opened, err := os.Open(directory)
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory of the tokens file: %w; create it, or choose another file with --tokens-file", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		err := syscall.Flock(int(opened.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = opened.Close() }, nil // closing releases the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("cannot lock the directory %s: %w", directory, err), opened.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("another process holds the lock on the directory %s; wait until it ends, and repeat the command", directory), opened.Close())
		case <-time.After(lockPause):
		}
	}
}

// replace writes a temporary file beside path and renames it to path. The file keeps its owner; before is
// the state of the existing file, nil without one.
func replace(path string, data []byte, before fs.FileInfo) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return fmt.Errorf("cannot write the tokens file: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write the tokens file: %w", errors.Join(err, os.Remove(file.Name())))
		}
	}()
	_, err = file.Write(data)
	if err == nil && before != nil {
		err = keepOwner(file, before)
	}
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// keepOwner gives a new file the owner and the group of the file that it replaces.
func keepOwner(file *os.File, before fs.FileInfo) error {
	status, ok := before.Sys().(*syscall.Stat_t)
	if !ok || int(status.Uid) == os.Geteuid() {
		return nil
	}
	return file.Chown(int(status.Uid), int(status.Gid))
}

// syncDirectory waits until the disk has stored the entries of a directory.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
