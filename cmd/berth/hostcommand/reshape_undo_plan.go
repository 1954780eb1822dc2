package hostcommand

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthd/berth/agent/planfile"
	"github.com/berthd/berth/cmd/berth/frame"
)

// undoFile is the file with the undo plan of this run.
type undoFile struct {
	path string
	// source is the file of the plan that it undoes.
	source string
	hosts  []string
	plans  map[string]*planfile.Plan
	// created is the path after this run has created the file.
	created string
	written bool
}

// chooseUndoFile sets the path of a new file. It returns an error if --undo-plan names an
// existing file, because that may be the only undo plan of an earlier run.
func (r *reshapeRun) chooseUndoFile() error {
	if r.plan == nil || !r.options.apply {
		return nil
	}
	r.undo = &undoFile{path: r.options.inverse, source: r.options.plan, plans: map[string]*planfile.Plan{}}
	stem := strings.TrimSuffix(r.options.plan, filepath.Ext(r.options.plan)) + ".undo"
	for n := 2; ; n++ {
		if r.undo.path == "" {
			r.undo.path = stem + ".yaml"
		}
		_, err := os.Lstat(r.undo.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case r.options.inverse != "":
			return frame.WrongFlag("undo-plan", r.options.inverse, "exists, and may be the undo plan of an earlier run", "name another file")
		}
		r.undo.path = fmt.Sprintf("%s-%d.yaml", stem, n)
	}
}

// save adds the undo plan of a host, or replaces it after a retry. It syncs the file to disk.
func (f *undoFile) save(host string, plan *planfile.Plan) error {
	if len(plan.Hosts) == 0 {
		return nil
	}
	if f.plans[host] == nil {
		f.hosts = append(f.hosts, host)
	}
	f.plans[host] = plan
	// The undo plan has the hosts in reverse order.
	var all []*planfile.Plan
	for _, name := range slices.Backward(f.hosts) {
		all = append(all, f.plans[name])
	}
	joined, err := planfile.Join(all...)
	if err == nil {
		err = f.write(joined)
	}
	if err != nil && !f.written {
		_ = os.Remove(f.created) // it is empty
	}
	if err != nil {
		return fmt.Errorf("cannot write the undo plan; no changes applied: %w", err)
	}
	f.written = true
	return nil
}

// write replaces the content of the file atomically. The first call creates the file, and fails if it exists.
func (f *undoFile) write(plan *planfile.Plan) error {
	if !f.written {
		created, err := os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		f.created = f.path
		if err := created.Close(); err != nil {
			return err
		}
	}
	next, err := os.CreateTemp(filepath.Dir(f.path), ".undo-*")
	if err != nil {
		return err
	}
	err = plan.Encode(next, "Undo plan of "+f.source+", written before the reshape; see 'berth reshape --help'.")
	err = errors.Join(err, next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}
