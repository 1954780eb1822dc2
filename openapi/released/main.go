// Command released refuses changes to the OpenAPI documents of microversions that
// are released, which means: contained in the last tag vX.Y.Z before the present
// commit. What clients see of a released microversion may be described better, by
// descriptions and examples, and else stays as it is.
//
// It compares structure, not compatibility: whether an addition would harm nobody
// is not a question that it asks, since a microversion is what it was.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// documents is where the documents are, from the root of the repository; those of
// each API in a directory of its own.
const documents = "openapi"

// The directories, of which the second is younger than some releases.
var apis = []string{"placement", "baremetal"}

func main() {
	if err := check(".", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check compares the documents in the repository that a directory belongs to with
// those of its last release.
func check(directory string, out io.Writer) error {
	top, err := git(directory, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	root := strings.TrimSpace(string(top))
	tag, err := lastRelease(root)
	if err != nil {
		return err
	}
	if tag == "" {
		fmt.Fprintln(out, "No microversion is released yet: there is no tag vX.Y.Z before this commit.")
		return nil
	}
	var names []string
	for _, api := range apis {
		listed, err := git(root, "ls-tree", "--name-only", tag, path.Join(documents, api)+"/")
		if err != nil {
			return err
		}
		names = append(names, strings.Fields(string(listed))...)
	}
	var all []error
	for _, name := range names {
		all = append(all, compareFile(root, tag, name))
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("%w\n\nThese microversions were released with %s; only descriptions and examples of their "+
			"documents may change. What is new belongs to a new microversion", err, tag)
	}
	fmt.Fprintf(out, "The %d documents that were released with %s are as they were.\n", len(names), tag)
	return nil
}

func compareFile(root, tag, name string) error {
	released, err := git(root, "show", tag+":"+name)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: the document is gone", name)
	}
	if err != nil {
		return err
	}
	changes, err := compare(released, now)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(changes) > 0 {
		return fmt.Errorf("%s:\n  %s", name, strings.Join(changes, "\n  "))
	}
	return nil
}

// A release has three numbers and nothing behind them; candidates are none.
var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// lastRelease is the newest tag of a release that the present commit contains;
// empty if there is none.
func lastRelease(root string) (string, error) {
	tags, err := git(root, "tag", "--merged", "HEAD", "--sort=-version:refname")
	if err != nil {
		return "", err
	}
	for tag := range strings.FieldsSeq(string(tags)) {
		if release.MatchString(tag) {
			return tag, nil
		}
	}
	return "", nil
}

func git(directory string, arguments ...string) ([]byte, error) {
	command := exec.Command("git", arguments...)
	command.Dir = directory
	// Inside of a hook git points at its own repository, which need not be this one.
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(arguments, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return output, nil
}
