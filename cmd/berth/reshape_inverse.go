package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthd/berth/agent/declared"
)

// inverseFile holds the plan that leads back from what this run did.
type inverseFile struct {
	path string
	// of is the plan that it undoes.
	of    string
	hosts []string
	plans map[string]*declared.Plan
	// claimed is the path once the file is ours.
	claimed string
	written bool
}

// chooseInverse finds a file that does not exist. One that was named by hand and
// does is refused: it may be the only way back from an earlier run.
func (r *reshaping) chooseInverse() error {
	if r.plan == nil || !r.wish.apply {
		return nil
	}
	r.back = &inverseFile{path: r.wish.inverse, of: r.wish.plan, plans: map[string]*declared.Plan{}}
	stem := strings.TrimSuffix(r.wish.plan, filepath.Ext(r.wish.plan)) + ".inverse"
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
		case r.wish.inverse != "":
			return wrongFlag("inverse", r.wish.inverse, "exists, and may be the way back from an earlier run", "name another file")
		}
		r.back.path = fmt.Sprintf("%s-%d.yaml", stem, n)
	}
}

// save adds a host, or writes it anew after another attempt. What is in the file
// when this returns survives the end of this process.
func (f *inverseFile) save(host string, plan *declared.Plan) error {
	if len(plan.Hosts) == 0 {
		return nil
	}
	if f.plans[host] == nil {
		f.hosts = append(f.hosts, host)
	}
	f.plans[host] = plan
	// The last host that was changed is the first to go back.
	var all []*declared.Plan
	for _, name := range slices.Backward(f.hosts) {
		all = append(all, f.plans[name])
	}
	joined, err := declared.Join(all...)
	if err == nil {
		err = f.write(joined)
	}
	if err != nil && !f.written {
		_ = os.Remove(f.claimed) // an empty file leads nowhere
	}
	if err != nil {
		return fmt.Errorf("the way back could not be written, so nothing was done: %w", err)
	}
	f.written = true
	return nil
}

func (f *inverseFile) write(plan *declared.Plan) error {
	// Until it is ours a file of this name is somebody else's.
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
	next, err := os.CreateTemp(filepath.Dir(f.path), ".inverse-*")
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
