package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the packager
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the packager
)

// format is a format of packages, with the directories and names in which distributions that use it differ.
type format struct {
	name       string
	zsh        string
	recommends []string
	depends    []string
	scripts    nfpm.Scripts
}

var formats = []format{
	{
		name: "deb", zsh: "/usr/share/zsh/vendor-completions/_berth",
		depends: []string{"init-system-helpers (>= 1.54)", "passwd"}, recommends: []string{"ca-certificates", "man-db"},
		scripts: nfpm.Scripts{PostInstall: "deb/postinst", PreRemove: "deb/prerm", PostRemove: "deb/postrm"},
	},
	{
		name: "rpm", zsh: "/usr/share/zsh/site-functions/_berth",
		depends: []string{"/usr/sbin/useradd"}, recommends: []string{"ca-certificates"},
		scripts: nfpm.Scripts{PostInstall: "rpm/post", PreRemove: "rpm/preun", PostRemove: "rpm/postun"},
	},
}

const documentation = "/usr/share/doc/berth"

// writePackages writes the packages of all formats and architectures. It compresses the program in each of them, so it makes
// them at the same time.
func (r *release) writePackages(context.Context) error {
	var packing sync.WaitGroup
	errs := make(chan error, len(formats)*len(architectures))
	var packages []func() error
	for _, f := range formats {
		for _, arch := range architectures {
			contents, err := r.contents(&f, arch)
			if err != nil {
				return err
			}
			packages = append(packages, func() error { return r.writePackage(&f, arch, contents) })
		}
	}
	// All sources exist now; the formats write some of them to the same files.
	for _, write := range packages {
		packing.Go(func() { errs <- write() })
	}
	packing.Wait()
	close(errs)
	var failed []error
	for err := range errs {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// writePackage writes one package.
func (r *release) writePackage(f *format, arch string, contents files.Contents) error {
	packager, err := nfpm.Get(f.name)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(r.packageInfo(f, arch, contents))
	if err := nfpm.PrepareForPackager(info, f.name); err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := packager.Package(info, &packed); err != nil {
		return err
	}
	return os.WriteFile(r.file(arch+"."+f.name), packed.Bytes(), 0o644)
}

func (r *release) packageInfo(f *format, arch string, contents files.Contents) *nfpm.Info {
	info := &nfpm.Info{
		Name: "berth", Arch: arch, Platform: "linux", Version: r.version, Section: "net", Priority: "optional",
		Maintainer: "Berth developers <berthd@users.noreply.github.com>", Homepage: "https://github.com/berthd/berth", License: "Apache-2.0",
		Description: packageDescription, MTime: r.date,
	}
	info.Contents = contents
	info.Umask = 0o022
	info.Depends, info.Recommends, info.Suggests = f.depends, f.recommends, []string{"postgresql"}
	directory := filepath.Join(r.root, packaging)
	info.Scripts = nfpm.Scripts{
		PostInstall: filepath.Join(directory, f.scripts.PostInstall),
		PreRemove:   filepath.Join(directory, f.scripts.PreRemove),
		PostRemove:  filepath.Join(directory, f.scripts.PostRemove),
	}
	info.RPM.Summary = strings.SplitN(packageDescription, "\n", 2)[0]
	// The default is the name of the machine.
	info.RPM.BuildHost = "reproducible"
	return info
}

// packaging is the directory of the maintainer scripts and other sources of packages.
const packaging = "tools/release/packaging"

const packageDescription = `Placement and Bare Metal APIs on PostgreSQL
Berth tracks the resources of a cloud: resource providers, their inventories,
and the allocations that consumers hold on them. It serves the OpenStack
Placement API, the part of ironic's Bare Metal API that enrolls nodes and
allocates them, and has the commands to administer and query both.`

// contents returns the files of a package.
func (r *release) contents(f *format, arch string) (files.Contents, error) {
	sources := map[string]string{
		"/usr/lib/systemd/system/berth.service": "docs/deploy/berth.service",
		"/usr/lib/systemd/system/berth.socket":  "docs/deploy/berth.socket",
		"/usr/lib/sysusers.d/berth.conf":        packaging + "/sysusers.conf",
		documentation + "/README.md":            "README.md",
		documentation + "/SECURITY.md":          "SECURITY.md",
	}
	if f.name == "deb" {
		sources["/usr/share/lintian/overrides/berth"] = packaging + "/deb/lintian-overrides"
	} else {
		sources["/usr/share/licenses/berth/LICENSE"] = "LICENSE"
	}
	if err := r.addPages(sources); err != nil {
		return nil, err
	}
	contents := files.Contents{
		r.content(r.program(arch), "/usr/bin/berth", files.TypeFile, 0o755),
		r.content("", "/etc/berth", files.TypeDir, 0o750),
		r.content(filepath.Join(r.root, "docs/deploy/berth.env"), "/etc/berth/berth.env", files.TypeConfigNoReplace, 0o600),
		r.content(filepath.Join(r.stage, completions["bash"]), "/usr/share/bash-completion/completions/berth", files.TypeFile, 0o644),
		r.content(filepath.Join(r.stage, completions["fish"]), "/usr/share/fish/vendor_completions.d/berth.fish", files.TypeFile, 0o644),
		r.content(filepath.Join(r.stage, completions["zsh"]), f.zsh, files.TypeFile, 0o644),
	}
	for _, destination := range slices.Sorted(maps.Keys(sources)) {
		contents = append(contents, r.content(filepath.Join(r.root, sources[destination]), destination, files.TypeFile, 0o644))
	}
	compressed, err := r.compressedFiles(f)
	if err != nil {
		return nil, err
	}
	for _, destination := range slices.Sorted(maps.Keys(compressed)) {
		contents = append(contents, r.content(compressed[destination], destination, files.TypeFile, 0o644))
	}
	return contents, nil
}

func (r *release) content(source, destination, kind string, mode fs.FileMode) *files.Content {
	return &files.Content{
		Source: source, Destination: destination, Type: kind,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.date},
	}
}

// addPages adds the pages of docs and the files they name.
func (r *release) addPages(sources map[string]string) error {
	return filepath.WalkDir(filepath.Join(r.root, "docs"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(r.root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		sources[path.Join(documentation, relative)] = relative
		return nil
	})
}

// compressedFiles writes the files that a package contains compressed to r.stage, and returns them by destination.
func (r *release) compressedFiles(f *format) (map[string]string, error) {
	pages, err := filepath.Glob(filepath.Join(r.stage, "man", "*.1"))
	if err != nil {
		return nil, err
	}
	sources := map[string]string{
		documentation + "/CHANGELOG.md.gz":             filepath.Join(r.root, "CHANGELOG.md"),
		documentation + "/third-party-licenses.txt.gz": r.licensesFile(),
	}
	for _, page := range pages {
		sources["/usr/share/man/man1/"+filepath.Base(page)+".gz"] = page
	}
	if f.name == "deb" {
		changelog := filepath.Join(r.stage, "changelog")
		if err := r.fill("deb/changelog.tmpl", changelog); err != nil {
			return nil, err
		}
		sources[documentation+"/changelog.gz"] = changelog
	}
	compressed := map[string]string{}
	for destination, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		if content, err = compress(content); err != nil {
			return nil, err
		}
		compressed[destination] = filepath.Join(r.stage, filepath.Base(destination))
		if err := os.WriteFile(compressed[destination], content, 0o644); err != nil {
			return nil, err
		}
	}
	if f.name == "deb" {
		compressed[documentation+"/copyright"] = filepath.Join(r.root, packaging, "deb/copyright")
	}
	return compressed, nil
}

// fill writes a template of the packaging with the version and the time of the release.
func (r *release) fill(name, output string) error {
	text, err := template.ParseFiles(filepath.Join(r.root, packaging, name))
	if err != nil {
		return err
	}
	var filled bytes.Buffer
	debian := strings.Replace(r.version, "-", "~", 1)
	values := map[string]string{"Version": debian, "Tag": r.tag(), "Date": r.date.Format("Mon, 02 Jan 2006 15:04:05 -0700")}
	if err := text.Execute(&filled, values); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(output, filled.Bytes(), 0o644)
}
