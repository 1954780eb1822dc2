package main

import (
	"bytes"
	"encoding/json"
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

	"github.com/berthd/berth/openapi"
)

// check fails if the structure of a microversion in the last release has changed. The last release is the newest tag
// vX.Y.Z that the current commit contains. It compares hashes, and rebuilds the documents of the tag only if hashes
// differ.
//
// It compares structure, not compatibility: a released microversion must not change, even if a change would break no
// client.
func check(directory string, now []api, out io.Writer) error {
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
	hashes, err := releasedHashes(root, tag)
	if err != nil {
		return err
	}
	if len(hashes) > 0 && len(differing(hashes, now)) == 0 {
		fmt.Fprintf(out, "The structure of the %d documents that were released with %s is unchanged.\n", len(hashes), tag)
		return nil
	}
	for _, key := range differing(hashes, now) {
		fmt.Fprintf(out, "The hash of %s differs from that of %s.\n", key, tag)
	}
	fmt.Fprintf(out, "Building the documents of %s …\n", tag)
	released, err := rebuild(root, tag, releasedWith(hashes, now))
	if err != nil {
		return fmt.Errorf("build the documents of %s: %w", tag, err)
	}
	return compare(tag, hashes, released, now, out)
}

// key names a document: "placement 1.39".
func key(api, version string) string { return api + " " + version }

// structures returns the structure of each document by its key.
func structures(all []api) map[string]openapi.Structure {
	found := map[string]openapi.Structure{}
	for _, api := range all {
		for _, version := range api.versions {
			found[key(api.name, version.name)] = version.structure
		}
	}
	return found
}

// differing returns the documents whose hashes differ or that no longer exist.
func differing(hashes map[string]string, now []api) (keys []string) {
	current := structures(now)
	for key, hash := range hashes {
		if structure, ok := current[key]; !ok || structure.Hash() != hash {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// compare reports the differences between the rebuilt documents of a release and the current ones. If hashes differ but
// the documents do not, the hashes were computed by a different method.
func compare(
	tag string, hashes map[string]string, released map[string]openapi.Structure, now []api, out io.Writer,
) error {
	current := structures(now)
	var all []error
	for key := range hashes {
		if _, ok := released[key]; !ok {
			all = append(all, fmt.Errorf("%s: %s has its hash and does not build its document", key, tag))
		}
	}
	for key, before := range released {
		after, ok := current[key]
		if !ok {
			all = append(all, fmt.Errorf("%s: the document is gone", key))
		} else if changes := openapi.Changes(before, after); len(changes) > 0 {
			all = append(all, fmt.Errorf("%s:\n  %s", key, strings.Join(changes, "\n  ")))
		}
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("%w\n\nThese microversions were released with %s; only descriptions and examples of their "+
			"documents may change. What is new belongs to a new microversion", err, tag)
	}
	fmt.Fprintf(out, "The structure of the %d documents that were released with %s is unchanged.\n", len(released), tag)
	return nil
}

// releasedHashes returns the hashes of a tag by document. It returns an empty map for a tag without hashes, whose
// documents must be built.
func releasedHashes(root, tag string) (map[string]string, error) {
	listed, err := git(root, "ls-tree", "-r", "--name-only", tag, recorded+"/")
	if err != nil {
		return nil, err
	}
	hashes := map[string]string{}
	for name := range strings.FieldsSeq(string(listed)) {
		if path.Base(name) != hashFile {
			continue
		}
		text, err := git(root, "show", tag+":"+name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) != 2 {
				return nil, fmt.Errorf("%s of %s: %q is not a hash and a version", name, tag, line)
			}
			hashes[key(strings.TrimPrefix(path.Dir(name), recorded+"/"), fields[1])] = fields[0]
		}
	}
	return hashes, nil
}

// releasedWith returns the APIs of a release by its hashes; without hashes, those without extensions.
func releasedWith(hashes map[string]string, now []api) []api {
	return slices.DeleteFunc(slices.Clone(now), func(of api) bool {
		for key := range hashes {
			if strings.HasPrefix(key, of.name+" ") {
				return false
			}
		}
		return len(hashes) > 0 || of.base != nil
	})
}

// rebuild builds the documents of a tag with the program of that tag, for the given APIs.
func rebuild(root, tag string, now []api) (map[string]openapi.Structure, error) {
	directory, err := os.MkdirTemp("", "berth-openapi-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	source, archive := filepath.Join(directory, "source"), filepath.Join(directory, "source.tar")
	if err := os.Mkdir(source, 0o755); err != nil {
		return nil, err
	}
	if _, err := git(root, "archive", "--format=tar", "--output", archive, tag); err != nil {
		return nil, err
	}
	if _, err := execute(source, "tar", "-xf", archive); err != nil {
		return nil, err
	}
	found := map[string]openapi.Structure{}
	for _, api := range now {
		written := filepath.Join(directory, api.name)
		name, isExtended := strings.CutPrefix(api.name, extensions)
		arguments := []string{"run", "./cmd/berth", "openapi", "--api", name, "--all", written}
		if isExtended {
			arguments = append(arguments, "--berth", "latest")
		}
		if _, err := execute(source, "go", arguments...); err != nil {
			return nil, err
		}
		if err := readAll(api.name, written, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readAll reads the documents in a directory.
func readAll(api, directory string, into map[string]openapi.Structure) error {
	names, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("there are no documents of %s", api)
	}
	for _, name := range names {
		document, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if document, err = withCurrentNames(document); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		structure, err := openapi.Read(document)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		into[key(api, strings.TrimSuffix(filepath.Base(name), ".json"))] = structure
	}
	return nil
}

// renamed are the schemas with another name in released documents. Names of schemas are in no request and in no
// response (docs/decisions/0023-api-reference.md#released-documents).
var renamed = map[string]string{"NodeMaintenance": "MaintenanceRequest"}

// withCurrentNames replaces the names of renamed schemas and the references to them in a released document.
func withCurrentNames(document []byte) ([]byte, error) {
	const reference = `"#/components/schemas/%s"`
	for before, now := range renamed {
		document = bytes.ReplaceAll(document, fmt.Appendf(nil, reference, before), fmt.Appendf(nil, reference, now))
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // keeps the last digits of bounds
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	components, _ := root["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for before, now := range renamed {
		if schema, ok := schemas[before]; ok {
			delete(schemas, before)
			schemas[now] = schema
		}
	}
	return json.Marshal(root)
}

// release matches tags of releases, not those of release candidates.
var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// lastRelease returns the newest tag of a release that the current commit contains, or "".
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
	return execute(directory, "git", arguments...)
}

// execute returns the output of a program, or an error with its standard error. It removes git's variables, which
// inside of a hook point at another repository.
func execute(directory, program string, arguments ...string) ([]byte, error) {
	command := exec.Command(program, arguments...)
	command.Dir = directory
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT_")
	})
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		said := bytes.TrimSpace(complaint.Bytes())
		return nil, fmt.Errorf("%s %s: %w: %s", program, strings.Join(arguments, " "), err, said)
	}
	return output, nil
}
