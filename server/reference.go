package server

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"sync"

	swaggerui "github.com/swaggest/swgui/v5/static"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/wire/microversion"
)

// The page, its style and its few lines of script are part of Berth; Swagger UI comes from the module that
// embeds it. The page loads nothing from other hosts.
//
//go:embed reference
var referenceFiles embed.FS

// reference serves /docs and the files that the page loads from below it.
type reference struct {
	index part
	parts map[string]part
}

// part is a file that is built on the first request.
type part func() (*file, error)

const (
	scriptType = "text/javascript; charset=utf-8"
	styleType  = "text/css; charset=utf-8"
)

// newReference returns the page of a server. isTrusting reports that the server trusts its callers, so that the page can
// send a token; hasConsole that it has a console, to which the page leads.
func newReference(isTrusting, hasConsole bool) *reference {
	return &reference{
		index: sync.OnceValues(func() (*file, error) { return referenceIndex(isTrusting, hasConsole) }),
		parts: map[string]part{
			"reference.css":  ownPart("reference.css", styleType),
			"reference.js":   ownPart("reference.js", scriptType),
			"prefill.js":     ownPart("prefill.js", scriptType),
			"icon.svg":       ownPart("icon.svg", "image/svg+xml"),
			"swagger-ui.css": libraryPart("swagger-ui.css.gz", styleType),
			"swagger-ui.js":  libraryPart("swagger-ui-bundle.js.gz", scriptType),
		},
	}
}

// referencePolicy lets the page load files only from this server. The images in Swagger UI's style sheet
// are embedded as data.
const referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page serves /docs itself.
func (p *reference) page(w http.ResponseWriter, r *http.Request) {
	p.serve(w, r, p.index)
}

// ServeHTTP implements http.Handler for the paths below /docs/.
func (p *reference) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	part := r.PathValue(restOfPath)
	if part == "" {
		// The page's own links are relative to /docs.
		http.Redirect(w, r, "../docs", http.StatusPermanentRedirect)
		return
	}
	load := p.parts[part]
	if load == nil {
		notFound(w, r)
		return
	}
	p.serve(w, r, load)
}

func (p *reference) serve(w http.ResponseWriter, r *http.Request, load part) {
	found, err := load()
	if err != nil {
		apierr.Write(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", referencePolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	found.serve(w, r)
}

// listed are the documents that the page offers.
type listed struct {
	// Versions are the microversions of the Placement API, newest first: the page shows the first by default.
	Versions []microversion.Version
	// Baremetal are the microversions of the Bare Metal API that have a document, newest first.
	Baremetal []microversion.Version
	Extended  []ExtensionDocument
	// Token is the token that the page sends; empty: the reader enters one.
	Token string
	// Console reports that the server has a console.
	Console bool
}

// trustedToken is the token of an administrator on a server without authentication, as in the security scheme of the
// documents.
const trustedToken = "admin"

// referenceIndex returns the page with the list of documents.
func referenceIndex(isTrusting, hasConsole bool) (*file, error) {
	documents := listed{
		Console:  hasConsole,
		Versions: microversion.All(), Baremetal: slices.Clone(BaremetalTable(Options{}).API().Versions()), Extended: ExtensionDocuments(),
	}
	slices.Reverse(documents.Versions)
	slices.Reverse(documents.Baremetal)
	if isTrusting {
		documents.Token = trustedToken
	}
	index, err := template.ParseFS(referenceFiles, "reference/index.html")
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	if err := index.Execute(&page, documents); err != nil {
		return nil, err
	}
	return newFile("text/html; charset=utf-8", page.Bytes()), nil
}

func ownPart(name, mediaType string) part {
	return sync.OnceValues(func() (*file, error) {
		content, err := referenceFiles.ReadFile("reference/" + name)
		if err != nil {
			return nil, err
		}
		return newFile(mediaType, content), nil
	})
}

// libraryPart returns a file that Swagger UI's module contains compressed.
func libraryPart(name, mediaType string) part {
	return sync.OnceValues(func() (*file, error) {
		zipped, err := swaggerui.FS.ReadFile(name)
		if err != nil {
			return nil, err
		}
		return newZipped(mediaType, zipped)
	})
}
