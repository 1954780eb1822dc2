package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync/atomic"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/store"
)

// countRoundTrips sends one request through a server whose connection to the
// database is listened to, and counts how often PostgreSQL says that it is ready
// for the next query: once for each round trip, BEGIN and COMMIT included. A
// first request has prepared the statements.
func (p *place) countRoundTrips(ctx context.Context, of measured) (int64, error) {
	ear, err := listenIn(p.cluster.URL())
	if err != nil {
		return 0, err
	}
	defer ear.listener.Close()
	watched, err := store.Open(ctx, store.Options{URL: ear.url, MaxConns: 1})
	if err != nil {
		return 0, err
	}
	defer watched.Close()
	berth, err := p.listen(server.New(server.Options{
		Store: watched, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), MaxBodyBytes: 64 << 20,
	}))
	if err != nil {
		return 0, err
	}
	aside := *p
	aside.berth = berth
	for _, same := range aside.cases() {
		if same.name != of.name {
			continue
		}
		// The reshaper makes its data in the first request; the second prepares.
		for range 2 {
			if err := same.ask(ctx, 0, p.numbers.next()); err != nil {
				return 0, err
			}
		}
		before := ear.ready.Load()
		err := same.ask(ctx, 0, p.numbers.next())
		return ear.ready.Load() - before, err
	}
	return 0, fmt.Errorf("no case %q", of.name)
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
