package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// architectures are those of the programs, packages and images, with Go's names, which Debian and OCI share.
var architectures = []string{"amd64", "arm64"}

// program returns the path of the program for an architecture.
func (r *release) program(arch string) string { return r.file("linux_" + arch) }

func (r *release) buildPrograms(ctx context.Context) error {
	for _, arch := range architectures {
		if err := r.goBuild(ctx, "linux", arch, r.program(arch)); err != nil {
			return err
		}
	}
	return nil
}

// goBuild builds a static program whose bytes depend on the sources, the version and Go only: not on the directory, on
// the state of the clone, or on variables that select another compilation.
func (r *release) goBuild(ctx context.Context, system, arch, output string) error {
	const variables = "github.com/berthd/berth/cmd/berth/version."
	flags := fmt.Sprintf("-s -w -buildid= -X %[1]sversion=%[2]s -X %[1]scommit=%[3]s -X %[1]sdate=%[4]s",
		variables, r.tag(), r.commit, r.date.Format("2006-01-02"))
	_, err := command(ctx, r.root, []string{
		"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off",
	}, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", flags, "-o", output, "./cmd/berth")
	return err
}

// runnable returns the path of a program that runs on this machine. It builds one if the release has none.
func (r *release) runnable(ctx context.Context) (string, error) {
	if runtime.GOOS == "linux" && slices.Contains(architectures, runtime.GOARCH) {
		return r.program(runtime.GOARCH), nil
	}
	path := filepath.Join(r.stage, "berth")
	return path, r.goBuild(ctx, runtime.GOOS, runtime.GOARCH, path)
}

// licensesFile returns the path of the license texts of Go, all linked modules and embedded files of npm packages.
func (r *release) licensesFile() string { return r.file("third-party-licenses.txt") }

// writeLicenses writes the license texts that the licenses require to accompany the programs.
func (r *release) writeLicenses(ctx context.Context) error {
	var text bytes.Buffer
	listed, err := command(ctx, r.root, []string{"GOFLAGS=", "GOWORK=off"}, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}", "all")
	if err != nil {
		return err
	}
	directories := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		path, directory, _ := strings.Cut(strings.TrimSpace(line), " ")
		directories[path] = directory
	}
	goroot, err := command(ctx, r.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	if err := appendLicenses(&text, "Go", strings.TrimSpace(string(goroot))); err != nil {
		return err
	}
	modules, err := r.linkedModules()
	if err != nil {
		return err
	}
	for _, path := range modules {
		if err := appendLicenses(&text, path, directories[path]); err != nil {
			return err
		}
	}
	packages, err := r.embeddedPackages()
	if err != nil {
		return err
	}
	for _, npm := range packages {
		content, err := os.ReadFile(filepath.Join(r.root, npm.text))
		if err != nil {
			return err
		}
		appendLicense(&text, npm.name, filepath.Base(npm.text), content)
	}
	return os.WriteFile(r.licensesFile(), text.Bytes(), 0o644)
}

// linkedModules returns the sorted paths of the modules in any of the programs.
func (r *release) linkedModules() ([]string, error) {
	var paths []string
	for _, arch := range architectures {
		info, err := buildinfo.ReadFile(r.program(arch))
		if err != nil {
			return nil, err
		}
		for _, module := range info.Deps {
			paths = append(paths, module.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// appendLicenses appends the files with the license and the notices of a module.
func appendLicenses(text *bytes.Buffer, path, directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	found := false
	for _, entry := range entries {
		name := strings.ToUpper(entry.Name())
		if entry.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			return err
		}
		found = true
		appendLicense(text, path, entry.Name(), content)
	}
	if !found {
		return fmt.Errorf("%s: %s has no license file", path, directory)
	}
	return nil
}

func appendLicense(text *bytes.Buffer, path, name string, content []byte) {
	fmt.Fprintf(text, "%s\n%s: %s\n\n%s\n\n", strings.Repeat("=", 80), path, name, bytes.TrimSpace(content))
}
