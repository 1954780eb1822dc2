package command

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/authority"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/testfile"
)

var (
	slowReaders   = flag.Int("slowreaders.count", 100, "number of slow readers")
	slowFor       = flag.Duration("slowreaders.for", 5*time.Second, "duration of the test with slow readers")
	slowProviders = flag.Int("slowreaders.providers", 2000, "number of providers in a response")
)

// manyProviders inserts providers with one inventory each.
const manyProviders = `
	WITH made AS (
		INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
		SELECT n, gen_random_uuid(), 'host ' || n, n FROM generate_series($1::int, $2::int) AS n RETURNING id
	), generations AS (
		INSERT INTO provider_generations (provider_id, generation) SELECT id, 0 FROM made
	)
	INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
	SELECT made.id, class.id, made.id, 100, 0, 1, 100, 1, 1, 0 FROM made CROSS JOIN resource_classes AS class WHERE class.name = 'VCPU'`

// crowd is a server with slow readers.
type crowd struct {
	servedBundle
	t      testing.TB
	db     *dbtest.DB
	socket string
	client *http.Client
}

// setupCrowd starts a server with many providers on TCP and on a Unix socket, which has small buffers.
func setupCrowd(t *testing.T, arguments ...string) *crowd {
	t.Helper()
	c := &crowd{t: t, db: dbtest.NewEmpty(t), socket: testfile.SocketPath(t), client: http.DefaultClient}
	c.servedBundle = setupServe(t, append([]string{"--database-url", c.db.URL, "--listen", "127.0.0.1:0,unix:" + c.socket}, arguments...)...)
	c.url, _, _ = strings.Cut(c.url, ", ")
	c.insertProviders(1, *slowProviders)
	return c
}

// largeResponses are the paths of requests whose responses grow with the number of providers.
var largeResponses = []string{
	"/allocation_candidates?resources=VCPU:1", "/resource_providers", "/resource_providers?include=inventories,usages,traits,aggregates",
}

func head(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: admin\r\nX-Roles: admin,service\r\n" +
		"OpenStack-API-Version: placement 1.39, berth 1.4\r\n\r\n"
}

// open sends a request without reading the response.
func (c *crowd) open(network, address, path string) (net.Conn, error) {
	dialer := net.Dialer{}
	conn, err := dialer.DialContext(c.t.Context(), network, address)
	if err != nil {
		return nil, err
	}
	if small, ok := conn.(interface{ SetReadBuffer(int) error }); ok {
		err = small.SetReadBuffer(4096)
	}
	if err == nil {
		_, err = io.WriteString(conn, head(path))
	}
	if err != nil {
		conn.Close()
	}
	return conn, err
}

// trickle reads 512 bytes per pause until the context ends or the server closes the connection. It
// returns the number of bytes.
func trickle(ctx context.Context, conn net.Conn, pause time.Duration) (read int) {
	chunk := make([]byte, 512)
	for ctx.Err() == nil {
		n, err := conn.Read(chunk)
		if read += n; err != nil {
			return read
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return read
}

// readSlowly runs slowReaders slow readers until the context ends. Each one reconnects after some
// seconds.
func (c *crowd) readSlowly(ctx context.Context, network, address string) (wait func()) {
	lifetime := max(6*time.Second, *slowFor/3)
	var all sync.WaitGroup
	for i := range *slowReaders {
		all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				conn, err := c.open(network, address, largeResponses[n%len(largeResponses)])
				if err != nil {
					if ctx.Err() == nil {
						c.t.Errorf("slow reader: %v", err)
					}
					return
				}
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				if _, err := conn.Read(make([]byte, 1)); err == nil { // the lifetime starts with the response
					life, end := context.WithTimeout(ctx, lifetime+rand.N(lifetime))
					trickle(life, conn, 100*time.Millisecond)
					end()
				}
				stop()
				conn.Close()
			}
		})
	}
	return all.Wait
}

// get sends a request with a timeout of one minute. After an error the status is 0 and the body its text.
func (c *crowd) get(path string) (status int, body string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	response, err := c.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// metric returns the value of a sample of /metrics, or -1 without the sample.
func (c *crowd) metric(sample string) float64 {
	c.t.Helper()
	_, text := c.get("/metrics")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, sample+" "); ok {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				c.t.Fatal(err)
			}
			return number
		}
	}
	return -1
}

// until waits for a condition, with a timeout for a busy machine.
func (c *crowd) until(description string, condition func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute + 5**slowFor); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("timeout while waiting until %s", description)
		}
	}
}

// idleInTransaction counts the sessions that have been idle in a transaction for 2 seconds. Between two
// statements of a request they are idle for a shorter time.
const idleInTransaction = `
	SELECT count(*) FROM pg_stat_activity
	WHERE datname = current_database() AND state = 'idle in transaction' AND clock_timestamp() - state_change > interval '2 seconds'`

const heartbeatAge = `SELECT extract(epoch FROM max(clock_timestamp() - updated_at))::float8 FROM conductors`

// TestLimits_SlowReaders_HoldNoConnection runs more slow readers of large responses than the server has
// database connections. With -slowreaders.for=1m -slowreaders.providers=20000 it is a full-size attack.
func TestLimits_SlowReaders_HoldNoConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	c := setupCrowd(t, "--db-max-connections", "8", "--baremetal-heartbeat-interval", "1s", "--baremetal-heartbeat-timeout", "10s",
		"--spool-memory", "2097152", "--spool-dir", t.TempDir())
	ctx, end := context.WithCancel(t.Context())
	wait := c.readSlowly(ctx, "unix", c.socket)
	defer wait()
	defer end()
	c.until("the server writes most responses", func() bool { return c.metric("berth_http_answers_writing") > float64(*slowReaders)/2 })

	var slowestGet, slowestProbe time.Duration
	samples, maxAge := 0, 0.0
	for end := time.Now().Add(*slowFor); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		samples++
		var idle int
		var age float64
		if err := c.db.Pool.QueryRow(t.Context(), idleInTransaction).Scan(&idle); err != nil || idle > 0 {
			t.Errorf("%d sessions are idle in transaction (%v)", idle, err)
		}
		if err := c.db.Pool.QueryRow(t.Context(), heartbeatAge).Scan(&age); err != nil || age > 10 {
			t.Errorf("age of the heartbeat = %.1f s (%v)", age, err)
		}
		maxAge = max(maxAge, age)
		for path, took := range map[string]*time.Duration{"/resource_providers?name=host%201": &slowestGet, "/readyz": &slowestProbe} {
			start := time.Now()
			if status, body := c.get(path); status != http.StatusOK {
				t.Errorf("%s: status %d, %s", path, status, body)
			}
			*took = max(*took, time.Since(start))
		}
	}
	writing, inFile := c.metric("berth_http_answers_writing"), c.metric(`berth_spool_answers_total{place="file"}`)
	t.Logf("%d samples: slowest GET %v, slowest probe %v, maximum age of the heartbeat %.1f s; %.0f responses in writing, %.0f in files",
		samples, slowestGet, slowestProbe, maxAge, writing, inFile)
	if inFile < 1 {
		t.Error("the spool wrote no response to a file")
	}
	end()
	wait()
	c.until("the spool is empty", func() bool {
		return c.metric(`berth_spool_bytes{place="memory"}`) == 0 && c.metric(`berth_spool_bytes{place="file"}`) == 0
	})
}

// TestLimits_SlowReaders_HoldNoPlace runs more slow readers than --max-requests.
func TestLimits_SlowReaders_HoldNoPlace(t *testing.T) {
	t.Parallel()
	c := setupCrowd(t, "--max-requests", "2", "--max-queued-requests", "20", "--queue-timeout", "1m")
	for range 6 {
		conn, err := c.open("unix", c.socket, largeResponses[0])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	c.until("the server writes all responses", func() bool { return c.metric("berth_http_answers_writing") == 6 })
	if status, body := c.get("/resource_providers?name=host%201"); status != http.StatusOK {
		t.Errorf("status %d, %s", status, body)
	}
}

// TestLimits_ReaderStalled_ConnectionEnds runs a client that reads nothing and one that reads slowly, on
// TCP and on a Unix socket.
func TestLimits_ReaderStalled_ConnectionEnds(t *testing.T) {
	t.Parallel()
	// A response of 12 MB exceeds the socket buffers of the kernel.
	const count = 20000
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			c := setupCrowd(t, "--write-stall-timeout", "3s")
			if *slowProviders < count {
				c.insertProviders(*slowProviders+1, count)
			}
			address := c.socket
			if network == "tcp" {
				address = strings.TrimPrefix(c.url, "http://")
			}
			slow, err := c.open(network, address, largeResponses[1])
			if err != nil {
				t.Fatal(err)
			}
			defer slow.Close()
			ctx, end := context.WithCancel(t.Context())
			read := make(chan int, 1)
			go func() { read <- trickle(ctx, slow, 20*time.Millisecond) }()

			stalled, err := c.open(network, address, largeResponses[1])
			if err != nil {
				t.Fatal(err)
			}
			defer stalled.Close()
			c.until("the server closes the stalled connection", func() bool { return c.metric(`berth_http_answers_cut_total{reason="stalled"}`) == 1 })
			if writing := c.metric("berth_http_answers_writing"); writing != 1 {
				t.Errorf("responses in writing = %v, want 1", writing)
			}
			before := c.metric(`berth_http_answers_cut_total{reason="stalled"}`)
			time.Sleep(4 * time.Second)
			if after := c.metric(`berth_http_answers_cut_total{reason="stalled"}`); after != before {
				t.Error("the server closed the connection of the slow reader")
			}
			end()
			slow.Close()
			if got := <-read; got == 0 {
				t.Error("the slow reader read nothing")
			}
		})
	}
}

// insertProviders inserts providers with the numbers first to last.
func (c *crowd) insertProviders(first, last int) {
	c.t.Helper()
	if _, err := c.db.Pool.Exec(c.t.Context(), manyProviders, first, last); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.db.Pool.Exec(c.t.Context(), "ANALYZE"); err != nil {
		c.t.Fatal(err)
	}
}

// TestLimits_StreamStalled_StreamEnds checks that the server ends a stalled HTTP/2 stream and keeps the
// other streams of the connection.
func TestLimits_StreamStalled_StreamEnds(t *testing.T) {
	t.Parallel()
	authority, directory := authority.New(t), t.TempDir()
	cert, key := authority.Pair("server")
	for name, text := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := setupCrowd(t, "--write-stall-timeout", "3s", "--tls-cert", filepath.Join(directory, "cert.pem"), "--tls-key", filepath.Join(directory, "key.pem"))
	c.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
	}}
	defer c.client.CloseIdleConnections()
	send := func() io.ReadCloser {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/resource_providers", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", "admin")
		response, err := c.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if response.ProtoMajor != 2 {
			t.Fatalf("protocol = %s, want HTTP/2", response.Proto)
		}
		return response.Body
	}
	stalled, slow := send(), send()
	defer stalled.Close()
	defer slow.Close()
	c.until("the server ends the stalled stream", func() bool {
		if _, err := io.CopyN(io.Discard, slow, 512); err != nil {
			t.Fatalf("slow stream: %v", err)
		}
		return c.metric(`berth_http_answers_cut_total{reason="stalled"}`) == 1
	})
	if _, err := io.Copy(io.Discard, stalled); err == nil {
		t.Error("the stalled stream ended without an error")
	}
	if _, err := io.Copy(io.Discard, slow); err != nil {
		t.Errorf("slow stream: %v", err)
	}
}

func TestLimits_SpoolDirUnusable_StartFailsOrWarns(t *testing.T) {
	t.Parallel()
	missing := t.TempDir() + "/missing"
	failed := runCommand(t, nil, "serve", "--listen=127.0.0.1:0", "--database-url", "postgres://nowhere.invalid/x", "--spool-dir", missing)
	for _, want := range []string{missing, "--spool-dir", "no such file or directory", "--spool-max-bytes 0"} {
		if failed.code != frame.ExitFailed || !strings.Contains(failed.stderr, want) {
			t.Errorf("exit code %d, %q lacks %q", failed.code, failed.stderr, want)
		}
	}
}

// TestLimits_LargeAnswer_IsWhole reads responses from spool files to their end.
func TestLimits_LargeAnswer_IsWhole(t *testing.T) {
	t.Parallel()
	c := setupCrowd(t, "--spool-memory", "1048576", "--spool-dir", t.TempDir())
	const count = 6000
	if *slowProviders < count {
		c.insertProviders(*slowProviders+1, count)
	}
	for i, counted := range []string{`"allocations"`, `"generation"`, `"aggregates":[]`} {
		c.readWhole(largeResponses[i], counted, max(count, *slowProviders))
		if files := c.metric(`berth_spool_answers_total{place="file"}`); files != float64(i+1) {
			t.Errorf("%s: responses in files = %v, want %d", largeResponses[i], files, i+1)
		}
	}
}

// readWhole reads a response to its end, which has a text for each of count providers.
func (c *crowd) readWhole(path, counted string, count int) {
	c.t.Helper()
	t := c.t
	conn, err := c.open("unix", c.socket, path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	found := strings.Count(string(body), counted)
	if err != nil || found != count || !json.Valid(body) || !slices.Equal(response.TransferEncoding, []string{"chunked"}) {
		t.Errorf("%s: %v: %d bytes, %d times %s, %q", path, err, len(body), found, counted, response.TransferEncoding)
	}
}
