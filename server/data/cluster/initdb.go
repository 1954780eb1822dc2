package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// partialPrefix is the prefix of directories in which initdb is running.
const partialPrefix = "data.partial-"

// initialize creates the data directory unless it exists. initdb runs in a directory of another name, which is renamed
// when it is complete: a process that is killed in between leaves no partial data directory. The caller holds the lock.
func (h home) initialize(ctx context.Context, log *slog.Logger, disposable bool) error {
	if _, err := h.dataMajor(); err == nil {
		return nil
	}
	if err := h.refuseForeignFiles(); err != nil {
		return err
	}
	if err := h.removePartials(); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(h.dir, partialPrefix)
	if err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := h.own(partial); err != nil {
		return fmt.Errorf("change the owner of the data directory: %w", err)
	}
	log.Info("initializing a private PostgreSQL", "directory", h.dir, "version", h.binaries.Major)
	if err := h.initdb(ctx, partial, disposable); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	// An empty data directory may exist already; rename replaces it.
	if err := os.Rename(partial, h.data()); err != nil {
		return fmt.Errorf("rename the data directory: %w", err)
	}
	return syncDir(h.dir)
}

// syncDir makes a rename durable: if a power failure reverted it, the database would have the name of a partial one and
// would be removed.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// discard deletes a database, and no other files. It first renames it to a partial name, which a later start removes if
// this process is killed in between.
func (h home) discard() error {
	if _, err := h.dataMajor(); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := h.removePartials(); err != nil {
		return err
	}
	if err := os.Rename(h.data(), filepath.Join(h.dir, partialPrefix+"discarded")); err != nil {
		return fmt.Errorf("delete the data of an earlier run: %w", err)
	}
	return h.removePartials()
}

// refuseForeignFiles returns an error for a directory with files of another origin.
func (h home) refuseForeignFiles() error {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return fmt.Errorf("read the directory of the database: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		ours := name == filepath.Base(h.lockFile()) || name == filepath.Base(h.data()) || name == filepath.Base(h.logDir()) ||
			strings.HasPrefix(name, filepath.Base(h.logFile())) || strings.HasPrefix(name, partialPrefix)
		if !ours {
			return fmt.Errorf("%s is not empty (it contains %s) and has no database of Berth: "+
				"choose another directory", h.dir, name)
		}
	}
	inside, err := os.ReadDir(h.data())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the data directory: %w", err)
	}
	if len(inside) > 0 {
		return fmt.Errorf("%s is not empty (it contains %s) but has no PG_VERSION: "+
			"choose another directory", h.data(), inside[0].Name())
	}
	return nil
}

// removePartials deletes the directories of killed initdb processes. One of these may still be running without a
// parent: it fails when its files vanish, and it never changes the new directory, whose name it does not have.
func (h home) removePartials() error {
	partials, err := filepath.Glob(filepath.Join(h.dir, partialPrefix+"*"))
	if err != nil {
		return err
	}
	for _, partial := range partials {
		if err := os.RemoveAll(partial); err != nil {
			return fmt.Errorf("remove a partial database: %w", err)
		}
	}
	return nil
}

// initdb fills an empty directory. The collation is C, so that no upgrade of the C library can corrupt an index.
func (h home) initdb(ctx context.Context, dir string, disposable bool) error {
	args := []string{
		"--pgdata=" + dir,
		"--username=" + Superuser,
		"--encoding=UTF8",
		"--no-locale",
		"--auth-local=trust", // access to the directory of the socket is restricted
		"--auth-host=reject",
		"--no-instructions",
	}
	if disposable {
		args = append(args, "--no-sync")
	} else {
		args = append(args, "--data-checksums")
	}
	command, err := h.command(ctx, "initdb", args...)
	if err != nil {
		return err
	}
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return fmt.Errorf("initdb failed: %w\n%s", err, lastLines(output.String(), 15))
	}
	return nil
}

// command returns the command of a server program: with the account of the server, and with an environment without
// libpq or locale settings of the caller.
func (h home) command(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	credential, err := h.credential()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, h.binaries.Path(program), args...)
	command.Dir = "/" // the caller's directory may be closed to the account
	command.Env = []string{"LC_ALL=C", "TZ=UTC"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, set := os.LookupEnv(name); set {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	return command, nil
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
