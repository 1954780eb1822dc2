package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// embeddedPackage is an npm package with files in the program. text is the path of its license text in the repository.
type embeddedPackage struct{ name, version, license, text string }

// embeddedRow is a row of docs/third-party-licenses.md about a file in the program. Files of tests are not in it.
var embeddedRow = regexp.MustCompile("(?m)^\\| `server/[^`]+` \\| `([^`]+)` (\\S+) \\| (\\S+) \\| `([^`]+)` \\|$")

// embeddedPackages returns the npm packages of docs/third-party-licenses.md with files in the program.
func (r *release) embeddedPackages() ([]embeddedPackage, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "docs/third-party-licenses.md"))
	if err != nil {
		return nil, err
	}
	var packages []embeddedPackage
	for _, row := range embeddedRow.FindAllStringSubmatch(string(text), -1) {
		if npm := (embeddedPackage{row[1], row[2], row[3], row[4]}); !slices.Contains(packages, npm) {
			packages = append(packages, npm)
		}
	}
	if len(packages) == 0 {
		return nil, errors.New("docs/third-party-licenses.md lists no files of npm packages; run 'make licenses'")
	}
	return packages, nil
}

// component returns the component of an npm package for an SBOM.
func (p embeddedPackage) component() cdx.Component {
	purl := "pkg:npm/" + strings.ReplaceAll(p.name, "@", "%40") + "@" + p.version
	return cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: purl,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: p.license}}},
	}
}
