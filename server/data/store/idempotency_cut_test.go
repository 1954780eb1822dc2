package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// cuttingProxy forwards connections to PostgreSQL and closes one after a number of bytes from the server.
type cuttingProxy struct {
	net.Listener
	network, address string
	// left is how many bytes the server may still send; below 0: any number.
	left atomic.Int64
	// sent counts the bytes from the server.
	sent atomic.Int64
}

// proxied returns a proxy to a database, and the URL through it.
func proxied(t *testing.T, db *dbtest.DB) (*cuttingProxy, string) {
	t.Helper()
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := &cuttingProxy{Listener: listener}
	p.network, p.address = "tcp", fmt.Sprintf("%s:%d", config.Host, config.Port)
	if config.Host[0] == '/' {
		p.network, p.address = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port)
	}
	p.left.Store(-1)
	go p.serve()
	query := url.Values{"host": {"127.0.0.1"}, "port": {fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)}, "sslmode": {"disable"},
		"user": {config.User}, "password": {config.Password}, "dbname": {config.Database}}
	return p, "postgres://?" + query.Encode()
}

func (p *cuttingProxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.address)
		if err != nil {
			_ = client.Close()
			continue
		}
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		go p.answer(client, server)
	}
}

// answer forwards what the server sends, until no byte is left.
func (p *cuttingProxy) answer(client, server net.Conn) {
	defer func() { _, _ = client.Close(), server.Close() }()
	buffer := make([]byte, 1) // one byte at a time, so that no other connection uses up what is left
	for {
		if _, err := server.Read(buffer); err != nil {
			return
		}
		if p.left.Load() == 0 {
			p.left.Store(-1)
			return
		}
		if p.left.Load() > 0 {
			p.left.Add(-1)
		}
		p.sent.Add(1)
		if _, err := client.Write(buffer); err != nil {
			return
		}
	}
}

// TestConnLoss_AnyByteOfKeyedWrite_RepetitionAppliesItOnce closes the connection to PostgreSQL at each byte of the result of
// a claim, and repeats the claim with its key until it succeeds.
func TestConnLoss_AnyByteOfKeyedWrite_RepetitionAppliesItOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.NewWithInvariantTriggers(t)
	proxy, through := proxied(t, db)
	opened, err := store.Open(t.Context(), postgres.Options{URL: through, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	b := &bundle{Store: opened, t: t, db: db}
	host := b.provider("a host", nil, map[string]int32{"VCPU": 10_000})
	attempt := func(n int) (replayed bool, err error) {
		name := fmt.Sprintf("%x server %d", n%16, n)
		return keyedClaim(t.Context(), b.Store, keyOf(name, name), name, host, 1)
	}
	_, err = attempt(0)
	b.must(err)
	before := proxy.sent.Load()
	_, err = attempt(1)
	b.must(err)
	length := int(proxy.sent.Load() - before)
	unknown, replays := 0, 0
	for n := range length {
		proxy.left.Store(int64(n))
		replayed, err := attempt(n + 2)
		for tries := 0; err != nil && tries < 10; tries++ {
			found := fault.As(err)
			if found == nil || found.Kind != fault.Unavailable || errors.Is(err, context.Canceled) {
				t.Fatalf("cut after %d bytes: %v", n, err)
			}
			unknown++
			replayed, err = attempt(n + 2)
		}
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		if replayed {
			replays++
		}
	}
	if got, want := b.used(host), int64(length+2); got != want || b.countKeys() != int(want) {
		t.Errorf("used = %d, keys = %d, want %d", got, b.countKeys(), want)
	}
	if unknown < length/2 || replays < length/2 {
		t.Errorf("of %d requests %d had an unknown outcome and %d were replayed, want at least half", length, unknown, replays)
	}
	t.Logf("%d bytes, %d unknown outcomes, %d replays", length, unknown, replays)
}
