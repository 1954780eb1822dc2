package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// release is one release: its sources, its version, and the directories of one build.
type release struct {
	root string
	// version has no leading v, as in the names of packages; tag returns it with one.
	version string
	// changes is the version of the section of CHANGELOG.md that describes the release.
	changes  string
	commit   string
	date     time.Time
	snapshot bool
	// key is the file of an SSH key, or empty.
	key string
	// out is the directory of finished files, stage that of files that only go into packages.
	out, stage string
	progress   io.Writer
}

func (r *release) tag() string { return "v" + r.version }

func (r *release) destination() string { return filepath.Join(r.root, "dist", r.version) }

// file returns the path of a file of the release: its name begins with that of the program and the version.
func (r *release) file(suffix string) string {
	return filepath.Join(r.out, "berth_"+r.version+"_"+suffix)
}

// newRelease reads the commit and the version from the clone in root and checks that they may be released. requested is
// empty or a version.
func newRelease(ctx context.Context, root, requested string, snapshot bool) (*release, error) {
	requested = strings.TrimPrefix(requested, "v")
	if requested != "" && (!semver.IsValid("v"+requested) || semver.Canonical("v"+requested) != "v"+requested) {
		return nil, fmt.Errorf("version %q is not a semantic version with three numbers and no build metadata, such as v0.1.0", requested)
	}
	r := &release{root: root, version: requested, snapshot: snapshot, progress: io.Discard}
	var err error
	if r.commit, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := r.git(ctx, "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return nil, err
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r.date = time.Unix(epoch, 0).UTC()
	if snapshot {
		return r, r.nameSnapshot(ctx)
	}
	return r, r.checkReleasable(ctx)
}

// nameSnapshot sets a version that is lower than that of the release, and that no release has.
func (r *release) nameSnapshot(ctx context.Context) error {
	if r.version == "" {
		versions, err := r.changelogVersions()
		if err != nil {
			return err
		}
		r.version = versions[0]
	}
	r.changes, _, _ = strings.Cut(r.version, "-")
	r.version = fmt.Sprintf("%s-snapshot.%s.g%s", r.changes, r.date.Format("20060102150405"), r.commit[:8])
	changed, err := r.uncommitted(ctx)
	if len(changed) > 0 {
		r.version += ".dirty"
	}
	return err
}

// checkReleasable sets the version from the tag of the commit if none was requested, and returns an error that names
// every violated rule.
func (r *release) checkReleasable(ctx context.Context) error {
	var violations []error
	changed, err := r.uncommitted(ctx)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		shown := strings.Join(changed[:min(len(changed), 5)], ", ")
		violations = append(violations, fmt.Errorf("%d files are not committed (%s); commit or remove them, or try with 'make release-snapshot'", len(changed), shown))
	}
	if err := r.versionFromTags(ctx); err != nil {
		return errors.Join(append(violations, err)...)
	}
	r.changes = r.version
	versions, err := r.changelogVersions()
	if err != nil {
		return err
	}
	if !slices.Contains(versions, r.version) {
		violations = append(violations, fmt.Errorf("CHANGELOG.md has no section \"## [%s] - YYYY-MM-DD\"; add it before the tag", r.version))
	}
	if _, err := os.Stat(r.destination()); err == nil {
		violations = append(violations, fmt.Errorf("version %s exists already in %s; a released version never changes, so tag the next one", r.version, r.destination()))
	}
	return errors.Join(violations...)
}

// versionFromTags compares the requested version with the tags of the commit, or sets the version from its only tag.
func (r *release) versionFromTags(ctx context.Context) error {
	listed, err := r.git(ctx, "tag", "--points-at", "HEAD")
	if err != nil {
		return err
	}
	var tags []string
	for _, tag := range strings.Fields(listed) {
		if semver.IsValid(tag) && semver.Canonical(tag) == tag {
			tags = append(tags, tag)
		}
	}
	const remedy = "tag the commit as docs/releasing.md describes, or try with 'make release-snapshot'"
	switch {
	case len(tags) == 0:
		return fmt.Errorf("commit %.12s has no tag of a version; %s", r.commit, remedy)
	case r.version != "" && !slices.Contains(tags, r.tag()):
		return fmt.Errorf("version %s is not a tag of commit %.12s, whose tags are %s; %s", r.version, r.commit, strings.Join(tags, ", "), remedy)
	case r.version == "" && len(tags) > 1:
		return fmt.Errorf("commit %.12s has the tags %s; choose one with VERSION=", r.commit, strings.Join(tags, ", "))
	case r.version == "":
		r.version = strings.TrimPrefix(tags[0], "v")
	}
	return nil
}

// uncommitted returns the files that differ from the commit, and the untracked ones.
func (r *release) uncommitted(ctx context.Context) ([]string, error) {
	status, err := r.git(ctx, "status", "--porcelain")
	if err != nil || status == "" {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(status) {
		files = append(files, strings.Fields(line)[1])
	}
	return files, nil
}

var changelogHeading = regexp.MustCompile(`(?m)^## \[([0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.-]*)\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// changelogVersions returns the versions that CHANGELOG.md describes, newest first.
func (r *release) changelogVersions() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, heading := range changelogHeading.FindAllSubmatch(text, -1) {
		versions = append(versions, string(heading[1]))
	}
	if len(versions) == 0 {
		return nil, errors.New(`CHANGELOG.md has no section of a version, such as "## [0.1.0] - 2026-11-23"`)
	}
	return versions, nil
}

// git returns the output of a git command in the clone, without the white space around it.
func (r *release) git(ctx context.Context, arguments ...string) (string, error) {
	output, err := command(ctx, r.root, nil, "git", arguments...)
	return strings.TrimSpace(string(output)), err
}

// command executes a program in a directory and returns its standard output. environment overrides variables of this
// process. An error contains what the program wrote to standard error.
func command(ctx context.Context, directory string, environment []string, name string, arguments ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir, c.Env = directory, append(os.Environ(), environment...)
	var complaint strings.Builder
	c.Stderr = &complaint
	output, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, strings.TrimSpace(complaint.String()))
	}
	return output, nil
}
