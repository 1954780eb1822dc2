package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// bomVersion is the version of CycloneDX that the SBOMs follow.
const bomVersion = cdx.SpecVersion1_6

// writeBOMs writes the SBOM of each program.
func (r *release) writeBOMs(context.Context) error {
	licenses, err := r.licenseNames()
	if err != nil {
		return err
	}
	packages, err := r.embeddedPackages()
	if err != nil {
		return err
	}
	for _, arch := range architectures {
		bom, err := r.bom(r.program(arch), licenses, packages)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, bomVersion); err != nil {
			return err
		}
		if err := os.WriteFile(r.file("linux_"+arch+".cdx.json"), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bom returns the SBOM of a program: the modules that Go recorded in it, Go's standard library and npm packages.
func (r *release) bom(path string, licenses map[string]string, packages []embeddedPackage) (*cdx.BOM, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(program)
	self := library(&debug.Module{Path: info.Main.Path, Version: r.tag()}, "Apache-2.0")
	self.Type = cdx.ComponentTypeApplication
	self.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	components := []cdx.Component{library(&debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}, "BSD-3-Clause")}
	for _, module := range info.Deps {
		module = cmp.Or(module.Replace, module)
		license, ok := licenses[module.Path]
		if !ok {
			return nil, fmt.Errorf("docs/third-party-licenses.md has no license of %s; run 'make licenses'", module.Path)
		}
		components = append(components, library(module, license))
	}
	for _, npm := range packages {
		components = append(components, npm.component())
	}
	slices.SortFunc(components, func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	bom := cdx.NewBOM()
	// The serial number depends on the program only, so that the same program has the same SBOM.
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, sum[:]).String()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.date.Format(time.RFC3339),
		Component: &self,
		Properties: &[]cdx.Property{
			{Name: "berth:commit", Value: r.commit}, {Name: "berth:go", Value: info.GoVersion}, {Name: "berth:file", Value: filepath.Base(path)},
		},
	}
	bom.Components = &components
	dependencies := []cdx.Dependency{{Ref: self.BOMRef, Dependencies: new([]string)}}
	for _, component := range components {
		*dependencies[0].Dependencies = append(*dependencies[0].Dependencies, component.BOMRef)
	}
	bom.Dependencies = &dependencies
	return bom, nil
}

// library returns the component of a module. Its go.sum hash is a property, because it is not the hash of one file.
func library(module *debug.Module, license string) cdx.Component {
	purl := "pkg:golang/" + module.Path + "@" + module.Version
	component := cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: purl,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: license}}},
	}
	if module.Sum != "" {
		component.Properties = &[]cdx.Property{{Name: "berth:go.sum", Value: module.Sum}}
	}
	return component
}

var licenseRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^ |]+) \\|")

// licenseNames returns the SPDX identifiers of docs/third-party-licenses.md by module.
func (r *release) licenseNames() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "docs/third-party-licenses.md"))
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, row := range licenseRow.FindAllStringSubmatch(string(text), -1) {
		names[row[1]] = row[2]
	}
	return names, nil
}
