package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Files lists the policy files of an operator. A missing file is not an error unless Required is set.
type Files struct {
	// Main is read first; empty: there is no main file.
	Main string
	// Required reports that the operator named Main explicitly, so it must exist.
	Required bool
	// Fallback is read if Main does not exist; empty: none.
	Fallback string
	// Dirs lists directories whose files are read after Main, in the order of their names. Files whose
	// name begins with a dot are skipped.
	Dirs []string
}

// seenFile is a file and its state at the last check.
type seenFile struct {
	path string
	info fs.FileInfo
	main bool
}

// Open returns the policy of the default rules and those of files. It returns the problems in any case; an
// error means that the files cannot be loaded.
func Open(options Options, files Files) (*Policy, []Problem, error) {
	p := &Policy{options: options, files: files}
	seen, err := files.look()
	if err != nil {
		return nil, nil, err
	}
	if files.Required && (len(seen) == 0 || !seen[0].main) {
		return nil, nil, fmt.Errorf("the policy file %s does not exist; create it, or remove the setting to use the default rules", files.Main)
	}
	problems, err := p.read(seen)
	return p, problems, err
}

// Paths returns the files from which the current rules were read.
func (p *Policy) Paths() []string {
	p.reading.Lock()
	defer p.reading.Unlock()
	var paths []string
	for _, file := range p.seen {
		paths = append(paths, file.path)
	}
	return paths
}

// look returns the files that exist now.
func (f *Files) look() ([]seenFile, error) {
	var seen []seenFile
	for _, path := range []string{f.Main, f.Fallback} {
		if path == "" || len(seen) > 0 {
			continue
		}
		info, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("policy file: %w", err)
		}
		if err == nil {
			seen = append(seen, seenFile{path, info, true})
		}
	}
	for _, dir := range f.Dirs {
		more, err := lookInto(dir)
		if err != nil {
			return nil, err
		}
		seen = append(seen, more...)
	}
	return seen, nil
}

// lookInto returns the files of a directory, without those of subdirectories.
func lookInto(dir string) ([]seenFile, error) {
	// ReadDir sorts by name.
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the directory of policy files: %w", err)
	}
	var seen []seenFile
	for _, entry := range found {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("policy file: %w", err)
		}
		if !info.IsDir() {
			seen = append(seen, seenFile{path, info, false})
		}
	}
	return seen, nil
}

// same reports whether two checks found the same files in the same state.
func same(a, b []seenFile) bool {
	return slices.EqualFunc(a, b, func(a, b seenFile) bool {
		return a.path == b.path && a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime()) &&
			os.SameFile(a.info, b.info)
	})
}

// read loads the rules from files and makes them current. On an error the previous rules remain current.
func (p *Policy) read(seen []seenFile) ([]Problem, error) {
	var contents [][]byte
	for _, file := range seen {
		data, err := os.ReadFile(file.path)
		if err != nil {
			return nil, fmt.Errorf("policy file: %w", err)
		}
		contents = append(contents, data)
	}
	p.seen = seen
	var entries []entry
	for i, file := range seen {
		more, err := parseFile(file.path, contents[i])
		if err != nil {
			return nil, fmt.Errorf("policy file: %w", err)
		}
		entries = append(entries, more...)
	}
	set, problems, err := makeRuleSet(p.options, entries)
	if err != nil {
		return problems, fmt.Errorf("policy file: %w", err)
	}
	p.current.Store(set)
	return problems, nil
}

// Refresh reloads the files if they have changed. If they cannot be loaded, the previous rules remain
// current, and Refresh does not try the same state again.
func (p *Policy) Refresh() (changed bool, problems []Problem, err error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	now, err := p.statFiles()
	if err != nil || same(now, p.seen) {
		return false, nil, err
	}
	// An empty file is treated like a missing one; a full disk leaves such a file.
	if p.hadMain() && p.seen[0].info.Size() > 0 && now[0].info.Size() == 0 {
		return false, nil, fmt.Errorf("the policy file %s is empty; keeping the previous rules; write {} into it to use the default rules", now[0].path)
	}
	problems, err = p.read(now)
	return err == nil, problems, err
}

// statFiles returns the state of the files. If the main file existed before and is missing now, it returns
// an error instead of falling back to the default rules, which may permit what the file denied.
func (p *Policy) statFiles() ([]seenFile, error) {
	now, err := p.files.look()
	if err != nil {
		return nil, err
	}
	if p.hadMain() && (len(now) == 0 || !now[0].main) {
		return nil, fmt.Errorf("the policy file %s is gone; keeping its rules until it exists again or the server restarts",
			p.seen[0].path)
	}
	return now, nil
}

func (p *Policy) hadMain() bool { return len(p.seen) > 0 && p.seen[0].main }

// Watch reloads the files when they change, until ctx ends. It checks them at the given interval and loads
// a state that two consecutive checks have found, so that it does not load a file that is being written.
func (p *Policy) Watch(ctx context.Context, every time.Duration, log *slog.Logger) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var pending []seenFile
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if p.isStable(&pending) {
			told = ""
			continue
		}
		changed, problems, err := p.Refresh()
		for _, problem := range problems {
			log.Warn("policy: " + problem.String())
		}
		switch {
		case err != nil && err.Error() != told:
			told = err.Error()
			log.Error("cannot load the policy files; keeping the previous rules", "cause", err)
		case changed:
			told = ""
			log.Info("reloaded the policy files", "files", p.Paths())
		}
	}
}

// isStable reports that there is nothing to load: the files have not changed since they were loaded, or
// they have changed since the last check.
func (p *Policy) isStable(pending *[]seenFile) bool {
	p.reading.Lock()
	defer p.reading.Unlock()
	now, err := p.statFiles()
	if err != nil {
		return false
	}
	unsettled := !same(now, *pending)
	*pending = now
	return unsettled || same(now, p.seen)
}
