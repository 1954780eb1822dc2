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

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// RoundTrips serves a database through a proxy, sends a request three times, and returns
// the number of ReadyForQuery messages during the third: one for each round trip, BEGIN
// and COMMIT included. The first two make the data and prepare the statements.
func (r *Rig) RoundTrips(ctx context.Context, database string, serve func(*store.Store) http.Handler,
	ask func(ctx context.Context, url string) error) (int64, error) {
	proxy, err := r.NewRoundTripProxy(database)
	if err != nil {
		return 0, err
	}
	defer proxy.Close()
	watched, err := store.Open(ctx, postgres.Options{URL: proxy.URL, MaxConns: 1})
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
	before := proxy.Count()
	err = ask(ctx, server.URL)
	return proxy.Count() - before, err
}

// RoundTripProxy is a proxy of PostgreSQL that counts ReadyForQuery messages.
type RoundTripProxy struct {
	// URL is that of the database through the proxy.
	URL      string
	listener net.Listener
	socket   string
	ready    atomic.Int64
}

// NewRoundTripProxy returns a proxy of a database, until Close.
func (r *Rig) NewRoundTripProxy(database string) (*RoundTripProxy, error) {
	parsed, err := url.Parse(r.URL(database))
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
	proxy := &RoundTripProxy{listener: listener, socket: query.Get("host") + "/.s.PGSQL." + port}
	query.Del("port")
	query.Set("host", "127.0.0.1")
	query.Set("sslmode", "disable")
	query.Set("port", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
	parsed.RawQuery = query.Encode()
	proxy.URL = parsed.String()
	go proxy.accept()
	return proxy, nil
}

// Count returns the number of round trips so far.
func (e *RoundTripProxy) Count() int64 { return e.ready.Load() }

// Close stops new connections. Those that are open end with their server.
func (e *RoundTripProxy) Close() { _ = e.listener.Close() }

func (e *RoundTripProxy) accept() {
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
func (e *RoundTripProxy) pass(from io.Reader, to io.Writer) {
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
