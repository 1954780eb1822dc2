// Command release builds the files of a release from a clone of the repository, without a container engine: static
// programs, packages for Debian and for RPM, an image for containers, SBOMs, the OpenAPI documents and checksums.
//
// `make release` and `make release-snapshot` call it; docs/releasing.md describes what it writes. The same commit and the
// same Go give the same bytes. The command is not for publishing: it uploads and tags nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run executes one command line and writes its progress.
func run(ctx context.Context, arguments []string, progress io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(progress)
	root := flags.String("root", ".", "`directory` of the clone")
	version := flags.String("version", "", "`version`, such as v0.1.0; default: the tag of the commit")
	snapshot := flags.Bool("snapshot", false, "build any commit and uncommitted changes, with a version that contains \"snapshot\"")
	key := flags.String("key", "", "private or public SSH `key` file that signs the checksums; default: no signature")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	directory, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	r, err := newRelease(ctx, directory, *version, *snapshot)
	if err != nil {
		return err
	}
	if *key != "" {
		if r.key, err = readableKey(*key); err != nil {
			return err
		}
	}
	r.progress = progress
	return r.publish(ctx)
}

// publish builds all files in a temporary directory and renames it at the end, so that dist/VERSION is complete or absent.
func (r *release) publish(ctx context.Context) error {
	dist := filepath.Join(r.root, "dist")
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(dist, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.out, r.stage = filepath.Join(work, "out"), filepath.Join(work, "stage")
	for _, directory := range []string{r.out, r.stage} {
		if err := os.Mkdir(directory, 0o755); err != nil {
			return err
		}
	}
	begun := time.Now()
	if err := r.build(ctx); err != nil {
		return err
	}
	if r.snapshot {
		if err := os.RemoveAll(r.destination()); err != nil {
			return err
		}
	}
	if err := os.Rename(r.out, r.destination()); err != nil {
		return err
	}
	r.report("%s is in %s after %s", r.tag(), r.destination(), time.Since(begun).Round(time.Second))
	return nil
}

// build writes all files of the release to r.out.
func (r *release) build(ctx context.Context) error {
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"programs", r.buildPrograms},
		{"licenses", r.writeLicenses},
		{"manual pages, completions and OpenAPI documents", r.generate},
		{"packages", r.writePackages},
		{"image", r.writeImage},
		{"SBOMs", r.writeBOMs},
		{"checksums", r.writeChecksums},
	}
	for _, step := range steps {
		begun := time.Now()
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		r.report("%s: %s", step.name, time.Since(begun).Round(100*time.Millisecond))
	}
	return nil
}

// report writes one line of progress.
func (r *release) report(format string, values ...any) {
	fmt.Fprintf(r.progress, "release: "+format+"\n", values...)
}
