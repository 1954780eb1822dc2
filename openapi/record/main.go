// Command record writes the OpenAPI documents in the repository: for each API the newest document, the changes of each
// microversion and the hashes of their structure. With -released it fails if a microversion differs from the last
// release.
//
// It is not for building documents, which the route tables do, nor for defining structure, which package openapi does.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/berthd/berth/openapi"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

func main() {
	released := flag.Bool("released", false, "compare with the last release instead of writing")
	root := flag.String("root", ".", "root `directory` of the repository")
	flag.Parse()
	if err := run(*root, *released); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, released bool) error {
	all, err := documents()
	if err != nil {
		return err
	}
	if released {
		return check(root, all, os.Stdout)
	}
	for _, api := range all {
		if err := write(root, api); err != nil {
			return err
		}
	}
	return nil
}

// api is all documents of one API, oldest version first.
type api struct {
	// name is the name of its directory, without "berth/" also that of the flag --api of berth openapi.
	name     string
	title    string
	versions []version
	// base is the newest version without extensions, for an API with extensions; else nil.
	base *version
}

// version is the document of one microversion.
type version struct {
	name      string
	document  []byte
	structure openapi.Structure
}

// documents builds all documents from the route tables.
func documents() ([]api, error) {
	var all []api
	for name, table := range map[string]*route.Table{
		"placement": server.Table(server.Options{}),
		"baremetal": server.BaremetalTable(server.Options{}),
	} {
		made, extended := api{name: name, title: table.API().Title}, api{name: extensions + name, title: table.API().Title}
		for _, at := range table.API().Versions() {
			if err := made.add(at.String(), table, at); err != nil {
				return nil, err
			}
		}
		for _, of := range server.ExtensionDocuments() {
			if of.API != name {
				continue
			}
			if err := extended.add(of.Extension.String(), of.Table, of.Version); err != nil {
				return nil, err
			}
		}
		extended.base = &made.versions[len(made.versions)-1]
		all = append(all, made, extended)
	}
	return all, nil
}

// extensions is the directory of the documents with extensions.
const extensions = microversion.ExtensionService + "/"

// add builds a document.
func (a *api) add(name string, table *route.Table, at microversion.Version) error {
	document, err := table.Document(at)
	if err != nil {
		return fmt.Errorf("build the document of %s %s: %w", a.name, name, err)
	}
	structure, err := openapi.Read(document)
	if err != nil {
		return fmt.Errorf("%s %s: %w", a.name, name, err)
	}
	a.versions = append(a.versions, version{name, document, structure})
	return nil
}
