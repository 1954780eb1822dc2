package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// heldWriter is a client that reads none of its response until it is released.
type heldWriter struct {
	http.ResponseWriter
	sent     chan *byte
	released chan struct{}
}

// Write reports the address of the response in memory.
func (h *heldWriter) Write(p []byte) (int, error) {
	h.sent <- unsafe.SliceData(p)
	<-h.released
	return len(p), nil
}

// TestLimits_SlowReadersOfDocuments_ShareThem has clients that request every document repeatedly and read
// none of the responses: memory has one copy of each.
func TestLimits_SlowReadersOfDocuments_ShareThem(t *testing.T) {
	t.Parallel()
	const rounds = 3
	served, released := newDocuments("", Table(Options{}), BaremetalTable(Options{}), extendedTables(Options{}, nil)), make(chan struct{})
	copies := map[*byte]bool{}
	var all sync.WaitGroup
	for range rounds {
		for _, version := range microversion.All() {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.SetPathValue(restOfPath, fmt.Sprintf("%s.json", version))
			r = r.WithContext(request.With(r.Context(), &request.Info{}))
			w := &heldWriter{httptest.NewRecorder(), make(chan *byte), released}
			all.Go(func() { served.ServeHTTP(w, r) })
			copies[<-w.sent] = true
		}
	}
	if want := len(microversion.All()); len(copies) != want {
		t.Errorf("%d copies of %d documents", len(copies), want)
	}
	close(released)
	all.Wait()
}

// TestLimits_DocumentsWaiting_AreBoundedAndEndWithTheirClients sends more requests than may wait while a
// document is built.
func TestLimits_DocumentsWaiting_AreBoundedAndEndWithTheirClients(t *testing.T) {
	t.Parallel()
	served := newDocuments("", Table(Options{}), BaremetalTable(Options{}), extendedTables(Options{}, nil))
	key := documentKey{documentName: served.names["1.39.json"]}
	synctest.Test(t, func(t *testing.T) {
		if err := served.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error, maxWaitingForDocuments)
		for range maxWaitingForDocuments {
			go func() {
				_, err := served.file(ctx, key)
				ended <- err
			}()
		}
		synctest.Wait()
		_, err := served.file(t.Context(), key)
		wantRefused(t, err, fault.Unavailable, "one OpenAPI document at a time")
		leave()
		for range maxWaitingForDocuments {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want %v", err, context.Canceled)
			}
		}
		served.building.Release(1)
		if _, err := served.file(t.Context(), key); err != nil || served.waiting.Load() != 0 {
			t.Errorf("afterwards: error = %v, waiting = %d", err, served.waiting.Load())
		}
	})
}

// TestLimits_DocumentsRepeated_AreBuiltOnce requests all documents of both APIs twice: each is cached in
// its compressed form, and few uncompressed.
func TestLimits_DocumentsRepeated_AreBuiltOnce(t *testing.T) {
	t.Parallel()
	served := newDocuments("", Table(Options{}), BaremetalTable(Options{}), extendedTables(Options{}, nil))
	documents, size := map[documentName]bool{}, 0
	for range 2 {
		for _, name := range served.names {
			documents[name] = true
			if _, err := served.file(t.Context(), documentKey{documentName: name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range documents {
		size += len(served.built[name])
	}
	if len(served.built) != len(documents) || served.files.Len() != maxCachedDocuments {
		t.Errorf("built %d and cached %d documents, want %d and %d",
			len(served.built), served.files.Len(), len(documents), maxCachedDocuments)
	}
	if size > 2<<20 {
		t.Errorf("the compressed documents take %d bytes, want at most 2 MiB", size)
	}
}

// BenchmarkDocument measures the build and the compression of a document that was never built.
func BenchmarkDocument(b *testing.B) {
	for name, table := range map[string]*route.Table{
		"placement": Table(Options{}), "baremetal": BaremetalTable(Options{}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				content, err := table.Document(table.API().Max)
				if err != nil {
					b.Fatal(err)
				}
				newFile("application/json", content)
			}
		})
	}
}
