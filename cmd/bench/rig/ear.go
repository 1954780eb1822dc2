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

	"github.com/berthd/berth/server/store"
)

// RoundTrips serves a database over a connection that is listened to, sends a
// request three times, and counts how often PostgreSQL says during the third that
// it is ready for the next query: once for each round trip, BEGIN and COMMIT
// included. By then data is made and statements are prepared.
func (r *Rig) RoundTrips(ctx context.Context, database string, serve func(*store.Store) http.Handler,
	ask func(ctx context.Context, url string) error) (int64, error) {
	heard, err := listenIn(r.URL(database))
	if err != nil {
		return 0, err
	}
	defer heard.listener.Close()
	watched, err := store.Open(ctx, store.Options{URL: heard.url, MaxConns: 1})
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
	before := heard.ready.Load()
	err = ask(ctx, server.URL)
	return heard.ready.Load() - before, err
}

// ear passes a connection to PostgreSQL on and counts its ReadyForQuery messages.
type ear struct {
	listener net.Listener
	url      string
	socket   string
	ready    atomic.Int64
}

func listenIn(database string) (*ear, error) {
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
	heard := &ear{listener: listener, socket: query.Get("host") + "/.s.PGSQL." + port}
	query.Del("port")
	query.Set("host", "127.0.0.1")
	query.Set("sslmode", "disable")
	query.Set("port", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
	parsed.RawQuery = query.Encode()
	heard.url = parsed.String()
	go heard.accept()
	return heard, nil
}

func (e *ear) accept() {
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

// pass copies what the database sends, message by message: a byte of type, four
// of length, the rest.
func (e *ear) pass(from io.Reader, to io.Writer) {
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
