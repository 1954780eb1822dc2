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

// Files are where an operator writes rules. What does not exist is no mistake, unless
// it is required.
type Files struct {
	// Main is read first; empty: there is none.
	Main string
	// Required says that somebody named Main and it has to be there.
	Required bool
	// Fallback is read where Main does not exist; empty: nothing is.
	Fallback string
	// Dirs are directories whose files are read after Main, in the order of their
	// names; those that begin with a dot are left out.
	Dirs []string
}

// seenFile is a file and how it looked when it was last seen.
type seenFile struct {
	path string
	info fs.FileInfo
	main bool
}

// Open makes the policy of the default rules and those of files. The problems are
// told in any case; the error says that the files cannot be used.
func Open(options Options, files Files) (*Policy, []Problem, error) {
	p := &Policy{options: options, files: files}
	seen, err := files.look()
	if err != nil {
		return nil, nil, err
	}
	if files.Required && (len(seen) == 0 || !seen[0].main) {
		return nil, nil, fmt.Errorf("the policy file %s does not exist; write it, or leave the setting out for the default rules", files.Main)
	}
	problems, err := p.read(seen)
	return p, problems, err
}

// Paths lists the files that the rules in force were read from.
func (p *Policy) Paths() []string {
	p.reading.Lock()
	defer p.reading.Unlock()
	var paths []string
	for _, file := range p.seen {
		paths = append(paths, file.path)
	}
	return paths
}

// look finds the files that there are now.
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

// lookInto finds the files of a directory. It does not go down into others.
func lookInto(dir string) ([]seenFile, error) {
	// ReadDir sorts by name.
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("directory of policy files: %w", err)
	}
	var seen []seenFile
	for _, one := range found {
		if strings.HasPrefix(one.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, one.Name())
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

// same says whether two looks saw the same files in the same state.
func same(a, b []seenFile) bool {
	return slices.EqualFunc(a, b, func(a, b seenFile) bool {
		return a.path == b.path && a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime()) &&
			os.SameFile(a.info, b.info)
	})
}

// read makes the rules of files that were seen and puts them in force. On an error the
// rules stay as they are.
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

// Refresh reads the files again if they changed. If they cannot be used the rules
// that are in force stay, and the same state is not tried again.
func (p *Policy) Refresh() (changed bool, problems []Problem, err error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	now, err := p.glance()
	if err != nil || same(now, p.seen) {
		return false, nil, err
	}
	// For the same reason as one that is gone; a full disk leaves such a file.
	if p.hadMain() && p.seen[0].info.Size() > 0 && now[0].info.Size() == 0 {
		return false, nil, fmt.Errorf("the policy file %s is empty now; the rules read before stay in force; write {} into it for the default rules", now[0].path)
	}
	problems, err = p.read(now)
	return err == nil, problems, err
}

// glance looks at the files. A main file that was there and is gone is a mistake,
// not a wish for the default rules: those may allow what the file forbade.
func (p *Policy) glance() ([]seenFile, error) {
	now, err := p.files.look()
	if err != nil {
		return nil, err
	}
	if p.hadMain() && (len(now) == 0 || !now[0].main) {
		return nil, fmt.Errorf("the policy file %s is gone; the rules read from it stay in force until it is back or the service is started again",
			p.seen[0].path)
	}
	return now, nil
}

func (p *Policy) hadMain() bool { return len(p.seen) > 0 && p.seen[0].main }

// Watch reads the files again when they change, until the context ends. It looks
// every so often, and takes a state that two looks in a row have seen, so that a file
// that is being written is not read half.
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
		if p.settled(&pending) {
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
			log.Error("the policy files cannot be used; the rules read before stay in force", "cause", err)
		case changed:
			told = ""
			log.Info("policy files read again", "files", p.Paths())
		}
	}
}

// settled says that there is nothing to read, or not yet: the files are as they were
// when they were read, or changed since the last look.
func (p *Policy) settled(pending *[]seenFile) bool {
	p.reading.Lock()
	defer p.reading.Unlock()
	now, err := p.glance()
	if err != nil {
		return false
	}
	unsettled := !same(now, *pending)
	*pending = now
	return unsettled || same(now, p.seen)
}
