// Package openapi holds the OpenAPI documents of the Placement API, one for each
// microversion, as they are checked in and served. `berth openapi --all` writes
// them from the route table; tests fail where the two differ.
//
// It is not for making documents, nor for reading them: they are bytes here, and
// nothing of the server is imported.
package openapi

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed placement/*.json
var files embed.FS

const (
	directory = "placement"
	extension = ".json"
)

// Document is the document of a microversion, which is named "1.39". ok is false
// where there is none.
func Document(version string) (document []byte, ok bool) {
	document, err := files.ReadFile(directory + "/" + version + extension)
	return document, err == nil
}

// Versions lists the microversions that have a document, in no useful order.
func Versions() []string {
	var versions []string
	// The only error is that of a pattern, and there is none in this one.
	found, _ := fs.Glob(files, directory+"/*"+extension)
	for _, name := range found {
		versions = append(versions, strings.TrimSuffix(path.Base(name), extension))
	}
	return versions
}
