// Package openapi holds the OpenAPI documents of the Placement API and of the Bare
// Metal API, one for each microversion at which something changes, as they are
// checked in and served. `berth openapi --all` writes them from the route tables;
// tests fail where the two differ.
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

//go:embed placement/*.json baremetal/*.json
var files embed.FS

// API is the documents of one API. Its value is the directory that they are in.
type API string

// The APIs.
const (
	Placement API = "placement"
	Baremetal API = "baremetal"
)

const extension = ".json"

// Document is the document of a microversion, which is named "1.39". ok is false
// where there is none.
func (a API) Document(version string) (document []byte, ok bool) {
	document, err := files.ReadFile(string(a) + "/" + version + extension)
	return document, err == nil
}

// Versions lists the microversions that have a document, in no useful order.
func (a API) Versions() []string {
	var versions []string
	// The only error is that of a pattern, and there is none in this one.
	found, _ := fs.Glob(files, string(a)+"/*"+extension)
	for _, name := range found {
		versions = append(versions, strings.TrimSuffix(path.Base(name), extension))
	}
	return versions
}
