package rig

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/store"
)

// RoundTrips serves a database through a proxy, sends a request three times, and returns
// the number of ReadyForQuery messages during the third: one for each round trip, BEGIN
// and COMMIT included. The first two make the data and prepare the statements.
func (r *Rig) RoundTrips(ctx context.Context, database string, serve func(*store.Store) http.Handler,
	ask func(ctx context.Context, url string) error) (int64, error) {
	proxy, err := newRoundTripProxy(r.URL(database))
	if err != nil {
		return 0, err
	}
	defer proxy.listener.Close()
	watched, err := store.Open(ctx, postgres.Options{URL: proxy.url, MaxConns: 1})
	if err != nil {
		return 0, err
	}
	defer watched.Close()
	server, err := r.Serve(serve(watched))
	if err != nil {
		return 0, err
	}
	defer server.Close()
	for range 2 {
		if err := ask(ctx, server.URL); err != nil {
			return 0, err
		}
	}
	before := proxy.ready.Load()
	err = ask(ctx, server.URL)
	return proxy.ready.Load() - before, err
}

// roundTripProxy is a proxy of PostgreSQL that counts ReadyForQuery messages.
type roundTripProxy struct {
	listener net.Listener
	url      string
	socket   string
	ready    atomic.Int64
}

func newRoundTripProxy(database string) (*roundTripProxy, error) {
	parsed, err := url.Parse(database)
	if err != nil {
		return nil, err
	}
	query := parsed.Query()
	port := query.Get("port")
	if port == "" {
		port = "5432"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	proxy := &roundTripProxy{listener: listener, socket: query.Get("host") + "/.s.PGSQL." + port}
	query.Del("port")
	query.Set("host", "127.0.0.1")
	query.Set("sslmode", "disable")
	query.Set("port", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
	parsed.RawQuery = query.Encode()
	proxy.url = parsed.String()
	go proxy.accept()
	return proxy, nil
}

func (e *roundTripProxy) accept() {
	for {
		client, err := e.listener.Accept()
		if err != nil {
			return // closed
		}
		database, err := net.Dial("unix", e.socket)
		if err != nil {
			_ = client.Close()
			continue
		}
		go func() { _, _ = io.Copy(database, client); _ = database.Close() }()
		go func() { e.pass(database, client); _ = client.Close() }()
	}
}

// pass copies the messages of the database: a byte of type, four of length, the rest.
func (e *roundTripProxy) pass(from io.Reader, to io.Writer) {
	header := make([]byte, 5)
	for {
		if _, err := io.ReadFull(from, header); err != nil {
			return
		}
		if header[0] == 'Z' {
			e.ready.Add(1)
		}
		if _, err := to.Write(header); err != nil {
			return
		}
		if _, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(header[1:]))-4); err != nil {
			return
		}
	}
}
