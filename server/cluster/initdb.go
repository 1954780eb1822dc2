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

// partialPrefix starts the names of directories in which initdb is at work.
const partialPrefix = "data.partial-"

// initialise makes the data directory unless it exists. initdb works in a
// directory of another name, which is renamed when it is complete: a process
// killed in between leaves nothing that could be taken for a database. The
// lock is held.
func (h home) initialise(ctx context.Context, log *slog.Logger, disposable bool) error {
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
		return fmt.Errorf("make the data directory: %w", err)
	}
	if err := h.own(partial); err != nil {
		return fmt.Errorf("give the data directory to its account: %w", err)
	}
	log.Info("initialising a private PostgreSQL", "directory", h.dir, "version", h.binaries.Major)
	if err := h.initdb(ctx, partial, disposable); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	// An empty data directory may be there already; rename replaces it.
	if err := os.Rename(partial, h.data()); err != nil {
		return fmt.Errorf("put the data directory into place: %w", err)
	}
	return syncDir(h.dir)
}

// syncDir makes a rename durable: if it were forgotten in a power failure, the
// database would come back under the name of a half made one and be removed.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// discard throws a database away, and nothing that is not one. It goes under a
// name that is cleared away even if this process is killed half-way.
func (h home) discard() error {
	if _, err := h.dataMajor(); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := h.removePartials(); err != nil {
		return err
	}
	if err := os.Rename(h.data(), filepath.Join(h.dir, partialPrefix+"discarded")); err != nil {
		return fmt.Errorf("throw away the data of an earlier run: %w", err)
	}
	return h.removePartials()
}

// refuseForeignFiles keeps the package's hands off directories that something
// else has filled.
func (h home) refuseForeignFiles() error {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return fmt.Errorf("look into the directory of the database: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		ours := name == filepath.Base(h.lockFile()) || name == filepath.Base(h.data()) ||
			strings.HasPrefix(name, filepath.Base(h.logFile())) || strings.HasPrefix(name, partialPrefix)
		if !ours {
			return fmt.Errorf("%s is not empty (it contains %s) and holds no database of berth: "+
				"nothing is initialised there", h.dir, name)
		}
	}
	inside, err := os.ReadDir(h.data())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	if len(inside) > 0 {
		return fmt.Errorf("%s is not empty (it contains %s) but has no PG_VERSION: "+
			"nothing is initialised there", h.data(), inside[0].Name())
	}
	return nil
}

// removePartials clears what killed initdbs left behind. One of them may still
// be running, orphaned: it fails when its files vanish, and it never touches
// the new directory, whose name it does not know.
func (h home) removePartials() error {
	partials, err := filepath.Glob(filepath.Join(h.dir, partialPrefix+"*"))
	if err != nil {
		return err
	}
	for _, partial := range partials {
		if err := os.RemoveAll(partial); err != nil {
			return fmt.Errorf("remove a half made database: %w", err)
		}
	}
	return nil
}

// initdb fills an empty directory. Names and texts are ordered by bytes, so
// that no upgrade of the C library can corrupt an index.
func (h home) initdb(ctx context.Context, dir string, disposable bool) error {
	args := []string{
		"--pgdata=" + dir,
		"--username=" + Superuser,
		"--encoding=UTF8",
		"--no-locale",
		"--auth-local=trust", // the directory of the socket is the guard
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

// command prepares a server program: as the right account, with an environment
// in which no setting of the caller's libpq or locale can leak.
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
