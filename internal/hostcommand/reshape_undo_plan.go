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
	"github.com/berthd/berth/internal/frame"
)

// inverseFile is the file with the undo plan of this run.
type inverseFile struct {
	path string
	// of is the plan that it undoes.
	of    string
	hosts []string
	plans map[string]*planfile.Plan
	// claimed is the path once the file is ours.
	claimed string
	written bool
}

// chooseInverse returns the path of a new file. It returns an error if --undo-plan names an
// existing file, because that may be the only undo plan of an earlier run.
func (r *reshaping) chooseInverse() error {
	if r.plan == nil || !r.candidateRequest.apply {
		return nil
	}
	r.back = &inverseFile{path: r.candidateRequest.inverse, of: r.candidateRequest.plan, plans: map[string]*planfile.Plan{}}
	stem := strings.TrimSuffix(r.candidateRequest.plan, filepath.Ext(r.candidateRequest.plan)) + ".undo"
	for n := 2; ; n++ {
		if r.back.path == "" {
			r.back.path = stem + ".yaml"
		}
		_, err := os.Lstat(r.back.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case r.candidateRequest.inverse != "":
			return frame.WrongFlag("undo-plan", r.candidateRequest.inverse, "exists, and may be the undo plan of an earlier run", "name another file")
		}
		r.back.path = fmt.Sprintf("%s-%d.yaml", stem, n)
	}
}

// save adds a host, or replaces it after a retry. The file is synced to disk before save returns.
func (f *inverseFile) save(host string, plan *planfile.Plan) error {
	if len(plan.Hosts) == 0 {
		return nil
	}
	if f.plans[host] == nil {
		f.hosts = append(f.hosts, host)
	}
	f.plans[host] = plan
	// The last host that was changed is the first to go back.
	var all []*planfile.Plan
	for _, name := range slices.Backward(f.hosts) {
		all = append(all, f.plans[name])
	}
	joined, err := planfile.Join(all...)
	if err == nil {
		err = f.write(joined)
	}
	if err != nil && !f.written {
		_ = os.Remove(f.claimed) // an empty file leads nowhere
	}
	if err != nil {
		return fmt.Errorf("cannot write the undo plan; nothing was changed: %w", err)
	}
	f.written = true
	return nil
}

func (f *inverseFile) write(plan *planfile.Plan) error {
	// Before the file is claimed, a file of this name belongs to another run.
	if !f.written {
		claimed, err := os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		f.claimed = f.path
		if err := claimed.Close(); err != nil {
			return err
		}
	}
	next, err := os.CreateTemp(filepath.Dir(f.path), ".undo-*")
	if err != nil {
		return err
	}
	err = plan.Encode(next, "Undoes "+f.of+". Written before that was carried out; see 'berth reshape --help'.")
	err = errors.Join(err, next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}
