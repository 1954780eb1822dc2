package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"weak"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// documents serves the OpenAPI documents: /openapi/1.39.json and so on, those of the
// Bare Metal API as /openapi/baremetal/1.82.json, and those with extensions as
// /openapi/berth/placement-1.1.json. It builds each one from its route table
// when a client first requests it. With ?openapi=3.0 it converts the document for each request that is not cached.
type documents struct {
	// prefix is the path under which the API is mounted.
	prefix string
	names  map[string]documentName

	// building is acquired to build or decompress a document: one at a time, because
	// building allocates up to 10 MB. It guards built and sent.
	building *semaphore.Weighted
	waiting  atomic.Int64
	files    *lru.Cache[documentKey, *file]
	// built contains the compressed form of every document that was built: 95 documents of 9 to 23 KB, 1.5
	// MB in total. So the server builds each document once.
	built map[documentName][]byte
	// sent contains the documents that are being sent, including those that were evicted from files, so
	// that slow clients share them.
	sent map[documentKey]weak.Pointer[file]
}

// documentName is a route table and a version that has a document of its own.
type documentName struct {
	table   *route.Table
	version microversion.Version
}

// documentKey is a document with the path that it names as the path of the API, in OpenAPI 3.1 or 3.0.
type documentKey struct {
	documentName
	prefix string
	is30   bool
}

const (
	// maxCachedDocuments bounds the documents cached uncompressed, 100 to 370 KB each: a person reads one
	// of each API, and a client generator one.
	maxCachedDocuments = 4
	// maxWaitingForDocuments bounds the requests that wait to build a document, which takes
	// about 25 ms.
	maxWaitingForDocuments = 32
)

func newDocuments(prefix string, placement, baremetal *route.Table, extended map[microversion.Extension]*route.Table) *documents {
	files, err := lru.New[documentKey, *file](maxCachedDocuments)
	if err != nil {
		panic(err) // the size is a constant
	}
	result := &documents{
		prefix: prefix, names: map[string]documentName{}, building: semaphore.NewWeighted(1), files: files,
		built: map[documentName][]byte{}, sent: map[documentKey]weak.Pointer[file]{},
	}
	result.add("", placement)
	result.add("baremetal/", baremetal)
	result.addExtensions(extensionDocuments(placement, extended))
	return result
}

// add serves a document for every version of a table. A version without a document of its own gets that of
// the next lower version that has one.
func (d *documents) add(directory string, table *route.Table) {
	api := table.API()
	for version := api.Min; version <= api.Max; version++ {
		d.names[directory+version.String()+".json"] = documentName{table, api.Nearest(version)}
	}
	d.names[directory+microversion.Latest+".json"] = documentName{table, api.Nearest(api.Max)}
}

// mounted sets the path of the API in a document.
func mounted(document []byte, prefix string) []byte {
	if prefix == "" {
		return document
	}
	return bytes.Replace(document, []byte(`"url": "/"`), []byte(`"url": `+strconv.Quote(prefix)), 1)
}

// ServeHTTP implements http.Handler.
func (d *documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, known := d.names[r.PathValue(restOfPath)]
	if !known {
		notFound(w, r)
		return
	}
	// Every caller of the API may read its description, from any origin.
	w.Header().Set("Access-Control-Allow-Origin", "*")
	values, err := querystring.Parse(r.URL.RawQuery)
	if err != nil {
		apierr.Write(w, r, fault.New(fault.Invalid, "Invalid query string: %s", err))
		return
	}
	form, _ := values.Last("openapi")
	if form != "" && form != "3.0" && form != "3.1" {
		apierr.Write(w, r, fault.New(fault.Invalid, "The parameter openapi must be 3.0 or 3.1. Got: %.20s", form))
		return
	}
	// The prefix of a proxy may differ between requests.
	found, err := d.file(r.Context(), documentKey{name, request.From(r.Context()).Outer + d.prefix, form == "3.0"})
	if err != nil {
		apierr.Write(w, r, err)
		return
	}
	found.serve(w, r)
}

// file returns a document. It builds or decompresses it unless the document is cached or being sent. It
// returns an error if too many requests wait for that, and when ctx ends.
func (d *documents) file(ctx context.Context, key documentKey) (*file, error) {
	if cached, ok := d.files.Get(key); ok {
		return cached, nil
	}
	if err := d.enter(ctx); err != nil {
		return nil, err
	}
	defer d.building.Release(1)
	if cached, ok := d.files.Get(key); ok {
		return cached, nil
	}
	found := d.sent[key].Value()
	if found == nil {
		result, err := d.build(key)
		if err != nil {
			return nil, err
		}
		found = result
		maps.DeleteFunc(d.sent, func(_ documentKey, sent weak.Pointer[file]) bool { return sent.Value() == nil })
		d.sent[key] = weak.Make(found)
	}
	d.files.Add(key, found)
	return found, nil
}

// enter acquires building.
func (d *documents) enter(ctx context.Context) error {
	if d.building.TryAcquire(1) {
		return nil
	}
	defer d.waiting.Add(-1)
	if d.waiting.Add(1) > maxWaitingForDocuments {
		return retryLater(fault.Unavailable,
			"The server builds one OpenAPI document at a time, and %d requests wait for that.", maxWaitingForDocuments)
	}
	return d.building.Acquire(ctx, 1)
}

// build returns a document from its compressed form, or from the route table the first
// time.
func (d *documents) build(key documentKey) (*file, error) {
	const mediaType = "application/json"
	var result *file
	if zipped, ok := d.built[key.documentName]; ok {
		unzipped, err := newZipped(mediaType, zipped)
		if err != nil {
			return nil, fmt.Errorf("decompress the OpenAPI document of %s: %w", key.version.Label(), err)
		}
		result = unzipped
	} else {
		content, err := key.table.Document(key.version)
		if err != nil {
			return nil, fmt.Errorf("build the OpenAPI document of %s: %w", key.version.Label(), err)
		}
		result = newFile(mediaType, content)
		d.built[key.documentName] = result.zipped.content
	}
	if key.prefix == "" && !key.is30 {
		return result, nil
	}
	content := mounted(result.plain.content, key.prefix)
	if key.is30 {
		older, err := route.Downgrade(content)
		if err != nil {
			return nil, fmt.Errorf("convert the OpenAPI document of %s: %w", key.version.Label(), err)
		}
		content = older
	}
	return newFile(mediaType, content), nil
}

// file is a static response, constant for a version of the program.
type file struct {
	mediaType string
	plain     representation
	// zipped is sent to clients that accept gzip; it is empty if compression saves too little.
	zipped representation
}

// representation is the content of a file in one encoding, with its entity tag.
type representation struct {
	content []byte
	tag     string
}

func newRepresentation(content []byte) representation {
	sum := sha256.Sum256(content)
	return representation{content: content, tag: `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// newFile returns a file with the given content and its compressed form.
func newFile(mediaType string, content []byte) *file {
	result := &file{mediaType: mediaType, plain: newRepresentation(content)}
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	// Writes to a buffer do not fail.
	_, _ = writer.Write(content)
	_ = writer.Close()
	result.zipped = newRepresentation(zipped.Bytes())
	return result
}

// newZipped returns a file from its compressed form.
func newZipped(mediaType string, zipped []byte) (*file, error) {
	reader, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	return &file{mediaType: mediaType, plain: newRepresentation(content), zipped: newRepresentation(zipped)}, nil
}

// serve sends the file, or 304 if the client has it.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", f.mediaType)
	// Caches may store it but must revalidate: its URL does not change with the program.
	header.Set("Cache-Control", "no-cache")
	header.Add("Vary", "Accept-Encoding")
	chosen := f.plain
	if acceptsGzip(r) {
		chosen = f.zipped
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Etag", chosen.tag)
	if held := r.Header.Get("If-None-Match"); held == "*" || strings.Contains(held, chosen.tag) {
		header.Del("Content-Encoding")
		header.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(chosen.content)))
	leaveSlot(r) // all clients share the content
	// An error means that the client has disconnected.
	_, _ = w.Write(chosen.content)
	runtime.KeepAlive(f) // keeps the file in documents.sent until here
}

// acceptsGzip parses the header in the form that browsers send. Clients with a more complex header get the
// uncompressed file.
func acceptsGzip(r *http.Request) bool {
	for _, values := range r.Header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(values, ",") {
			if strings.TrimSpace(coding) == "gzip" {
				return true
			}
		}
	}
	return false
}

// ExtensionDocument is the OpenAPI document of the newest microversion of an API with Berth's extensions up to a
// version.
type ExtensionDocument struct {
	// API is placement or baremetal.
	API       string
	Extension microversion.Extension
	Table     *route.Table
	Version   microversion.Version
}

// Path returns the path of the document below /openapi/, without .json: "berth/placement-1.1".
func (d *ExtensionDocument) Path() string { return extensionPath(d.API, d.Extension.String()) }

func extensionPath(api, extension string) string {
	return microversion.ExtensionService + "/" + api + "-" + extension
}

// Title returns the versions that the document describes: "placement 1.39, berth 1.1".
func (d *ExtensionDocument) Title() string { return d.Table.API().VersionValue(d.Version) }

// Build builds the document.
func (d *ExtensionDocument) Build() ([]byte, error) { return d.Table.Document(d.Version) }

// ExtensionDocuments returns the documents with extensions: those of the Placement API, then those of the Bare Metal
// API, oldest first. A version without a document equals the nearest lower one of its API.
func ExtensionDocuments() []ExtensionDocument {
	return extensionDocuments(Table(Options{}), extendedTables(Options{}, nil))
}

func extensionDocuments(placement *route.Table, machines map[microversion.Extension]*route.Table) []ExtensionDocument {
	var all []ExtensionDocument
	for _, version := range placement.API().Extensions {
		all = append(all, ExtensionDocument{"placement", version.Extension(), placement, version})
	}
	for _, extension := range baremetal.Extensions {
		table := machines[extension]
		all = append(all, ExtensionDocument{"baremetal", extension, table, table.API().Max})
	}
	return all
}

// addExtensions serves each document for all versions that it describes: berth/placement-1.1.json and so on.
func (d *documents) addExtensions(all []ExtensionDocument) {
	for _, document := range all {
		for extension := document.Extension; extension <= microversion.ExtensionMax; extension++ {
			d.names[extensionPath(document.API, extension.String())+".json"] = documentName{document.Table, document.Version}
		}
		d.names[extensionPath(document.API, microversion.Latest)+".json"] = documentName{document.Table, document.Version}
	}
}
