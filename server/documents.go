package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/berthd/berth/openapi"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
)

// documents serves /openapi/1.39.json and so on, as they are checked in, and those
// of the Bare Metal API as /openapi/baremetal/1.82.json.
type documents struct {
	// prefix is the path under which the API is mounted.
	prefix string
	files  map[string]*document
}

// document is the text as it is checked in, and the file for the usual prefix.
type document struct {
	text []byte
	file func() *file
}

func newDocuments(prefix string) *documents {
	made := &documents{prefix: prefix, files: map[string]*document{}}
	for _, version := range microversion.All() {
		text, _ := openapi.Placement.Document(version.String())
		made.files[version.String()+".json"] = made.document(text)
	}
	made.files[microversion.Latest+".json"] = made.files[microversion.Max.String()+".json"]
	made.addBaremetal()
	return made
}

func (d *documents) document(text []byte) *document {
	return &document{text: text, file: sync.OnceValue(func() *file {
		return newFile("application/json", mounted(text, d.prefix))
	})}
}

// addBaremetal serves a document for every version, that of the nearest lower one
// where it has none of its own.
func (d *documents) addBaremetal() {
	name := func(version string) string { return string(openapi.Baremetal) + "/" + version + ".json" }
	var nearest *document
	for version := microversion.BaremetalMin; version <= microversion.BaremetalMax; version++ {
		if text, ok := openapi.Baremetal.Document(version.String()); ok {
			nearest = d.document(text)
		}
		d.files[name(version.String())] = nearest
	}
	d.files[name(microversion.Latest)] = nearest
}

// mounted makes a document name the path under which the API is served here.
func mounted(document []byte, prefix string) []byte {
	if prefix == "" {
		return document
	}
	return bytes.Replace(document, []byte(`"url": "/"`), []byte(`"url": `+strconv.Quote(prefix)), 1)
}

// ServeHTTP implements http.Handler.
func (d *documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found := d.files[r.PathValue(restOfPath)]
	if found == nil {
		notFound(w, r)
		return
	}
	// Whoever may call the API may read what it is, from wherever.
	w.Header().Set("Access-Control-Allow-Origin", "*")
	if outer := request.From(r.Context()).Outer; outer != "" {
		// A proxy says where the API is; it may say something else next time.
		newFile("application/json", mounted(found.text, outer+d.prefix)).serve(w, r)
		return
	}
	found.file().serve(w, r)
}

// file is something to serve that only changes with the program.
type file struct {
	mediaType string
	plain     representation
	// zipped is sent to those who accept it; empty for what is not worth it.
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

// newFile compresses what is given.
func newFile(mediaType string, content []byte) *file {
	made := &file{mediaType: mediaType, plain: newRepresentation(content)}
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	// Writing to a buffer does not fail.
	_, _ = writer.Write(content)
	_ = writer.Close()
	made.zipped = newRepresentation(zipped.Bytes())
	return made
}

// newZipped decompresses what is given.
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

// serve answers with the file, or says that the client has it.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", f.mediaType)
	// Caches may keep it and have to ask: its URL stays when the program changes.
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
	// Nobody is left to tell if the client went away meanwhile.
	_, _ = w.Write(chosen.content)
}

// acceptsGzip reads as much of the header as browsers write. What says more gets
// the plain file, which everybody accepts.
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
