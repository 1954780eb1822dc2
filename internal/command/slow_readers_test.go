package command

import (
	"bufio"
	"context"
	"crypto/tls"
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

	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/test/authority"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/testfile"
)

var (
	slowReaders   = flag.Int("slowreaders.count", 100, "how many slow readers there are")
	slowFor       = flag.Duration("slowreaders.for", 5*time.Second, "how long slow readers are renewed")
	slowProviders = flag.Int("slowreaders.providers", 2000, "how many providers an answer has")
)

// manyProviders are providers with an inventory each.
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

// setupCrowd serves providers on TCP and on a Unix socket, whose buffers are small.
func setupCrowd(t *testing.T, arguments ...string) *crowd {
	t.Helper()
	c := &crowd{t: t, db: dbtest.NewEmpty(t), socket: testfile.SocketPath(t), client: http.DefaultClient}
	c.servedBundle = setupServe(t, append([]string{"--database-url", c.db.URL, "--listen", "127.0.0.1:0,unix:" + c.socket}, arguments...)...)
	c.url, _, _ = strings.Cut(c.url, ", ")
	c.more(1, *slowProviders)
	return c
}

// largeAnswers are the requests whose answers grow with the cloud.
var largeAnswers = []string{"/allocation_candidates?resources=VCPU:1", "/resource_providers"}

func head(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: admin\r\nX-Roles: admin,service\r\n" +
		"OpenStack-API-Version: placement 1.39\r\n\r\n"
}

// open sends a request and reads nothing yet.
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

// trickle reads a little at a time, until the context ends or the server has had enough.
// It returns how much it has read.
func trickle(ctx context.Context, conn net.Conn, pause time.Duration) (read int) {
	little := make([]byte, 512)
	for ctx.Err() == nil {
		n, err := conn.Read(little)
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

// readSlowly keeps as many slow readers as are wanted, each of them renewed after some
// seconds, until the context ends.
func (c *crowd) readSlowly(ctx context.Context, network, address string) (wait func()) {
	renewed := max(6*time.Second, *slowFor/3)
	var all sync.WaitGroup
	for i := range *slowReaders {
		all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				conn, err := c.open(network, address, largeAnswers[n%len(largeAnswers)])
				if err != nil {
					if ctx.Err() == nil {
						c.t.Errorf("a slow reader: %v", err)
					}
					return
				}
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				if _, err := conn.Read(make([]byte, 1)); err == nil { // its life begins with its answer
					life, end := context.WithTimeout(ctx, renewed+rand.N(renewed))
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

// get sends a request that is answered soon; status 0 and the error if it is not.
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
	answer, err := c.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// metric is the value of a sample of /metrics, -1 if there is none.
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

// until waits for something that has to happen, for as long as a busy machine may need.
func (c *crowd) until(what string, happens func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute + 5**slowFor); !happens(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: not in time", what)
		}
	}
}

// idleInTransaction counts the sessions that hold a transaction open without working on
// it. Between two statements of a request that takes a moment.
const idleInTransaction = `
	SELECT count(*) FROM pg_stat_activity
	WHERE datname = current_database() AND state = 'idle in transaction' AND clock_timestamp() - state_change > interval '2 seconds'`

const conductorSilence = `SELECT extract(epoch FROM max(clock_timestamp() - updated_at))::float8 FROM conductors`

// TestLimits_SlowReaders_HoldNoConnection has readers that take a few bytes at a time of
// large answers, many more than there are connections to the database. With
// -slowreaders.for=1m -slowreaders.providers=20000 it is the whole attack.
func TestLimits_SlowReaders_HoldNoConnection(t *testing.T) {
	t.Parallel()
	c := setupCrowd(t, "--db-max-connections", "8", "--baremetal-heartbeat-interval", "1s", "--baremetal-heartbeat-timeout", "10s",
		"--spool-memory", "2097152", "--spool-dir", t.TempDir())
	ctx, end := context.WithCancel(t.Context())
	wait := c.readSlowly(ctx, "unix", c.socket)
	defer wait()
	defer end()
	c.until("most answers wait for their readers", func() bool { return c.metric("berth_http_answers_writing") > float64(*slowReaders)/2 })

	var slowest, longest time.Duration
	looks, silence := 0, 0.0
	for over := time.Now().Add(*slowFor); time.Now().Before(over); time.Sleep(200 * time.Millisecond) {
		looks++
		var idle int
		var quiet float64
		if err := c.db.Pool.QueryRow(t.Context(), idleInTransaction).Scan(&idle); err != nil || idle > 0 {
			t.Errorf("%d sessions are idle in transaction (%v)", idle, err)
		}
		if err := c.db.Pool.QueryRow(t.Context(), conductorSilence).Scan(&quiet); err != nil || quiet > 10 {
			t.Errorf("the conductor is silent for %.1f s (%v)", quiet, err)
		}
		silence = max(silence, quiet)
		for path, took := range map[string]*time.Duration{"/resource_providers?name=host%201": &slowest, "/readyz": &longest} {
			start := time.Now()
			if status, body := c.get(path); status != http.StatusOK {
				t.Errorf("%s: status %d, %s", path, status, body)
			}
			*took = max(*took, time.Since(start))
		}
	}
	writing, inFile := c.metric("berth_http_answers_writing"), c.metric(`berth_spool_answers_total{place="file"}`)
	t.Logf("%d looks: slowest GET %v, slowest probe %v, longest silence of the conductor %.1f s; %.0f answers being written, %.0f went to files",
		looks, slowest, longest, silence, writing, inFile)
	if inFile < 1 {
		t.Error("no answer was in a file")
	}
	end()
	wait()
	c.until("nothing is left of the answers", func() bool {
		return c.metric(`berth_spool_bytes{place="memory"}`) == 0 && c.metric(`berth_spool_bytes{place="file"}`) == 0
	})
}

// TestLimits_SlowReaders_HoldNoPlace has more slow readers than requests may run.
func TestLimits_SlowReaders_HoldNoPlace(t *testing.T) {
	t.Parallel()
	c := setupCrowd(t, "--max-requests", "2", "--max-queued-requests", "20", "--queue-timeout", "1m")
	for range 6 {
		conn, err := c.open("unix", c.socket, largeAnswers[0])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	c.until("all answers wait for their readers", func() bool { return c.metric("berth_http_answers_writing") == 6 })
	if status, body := c.get("/resource_providers?name=host%201"); status != http.StatusOK {
		t.Errorf("status %d, %s", status, body)
	}
}

// TestLimits_ReaderStalled_ConnectionEnds has clients that read nothing, and others that
// read steadily and slowly, on each kind of connection.
func TestLimits_ReaderStalled_ConnectionEnds(t *testing.T) {
	t.Parallel()
	// An answer of 12 MB is more than the kernel takes at once.
	const enough = 20000
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			c := setupCrowd(t, "--write-stall-timeout", "3s")
			if *slowProviders < enough {
				c.more(*slowProviders+1, enough)
			}
			address := c.socket
			if network == "tcp" {
				address = strings.TrimPrefix(c.url, "http://")
			}
			living, err := c.open(network, address, largeAnswers[1])
			if err != nil {
				t.Fatal(err)
			}
			defer living.Close()
			ctx, end := context.WithCancel(t.Context())
			read := make(chan int, 1)
			go func() { read <- trickle(ctx, living, 20*time.Millisecond) }()

			silent, err := c.open(network, address, largeAnswers[1])
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			c.until("the silent one is cut off", func() bool { return c.metric(`berth_http_answers_cut_total{reason="stalled"}`) == 1 })
			if writing := c.metric("berth_http_answers_writing"); writing != 1 {
				t.Errorf("%v answers are being written, want that of the slow reader only", writing)
			}
			before := c.metric(`berth_http_answers_cut_total{reason="stalled"}`)
			time.Sleep(4 * time.Second)
			if after := c.metric(`berth_http_answers_cut_total{reason="stalled"}`); after != before {
				t.Errorf("a client that reads slowly was cut off")
			}
			end()
			living.Close()
			if got := <-read; got == 0 {
				t.Error("the slow reader read nothing")
			}
		})
	}
}

// more makes providers with these numbers.
func (c *crowd) more(first, last int) {
	c.t.Helper()
	if _, err := c.db.Pool.Exec(c.t.Context(), manyProviders, first, last); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.db.Pool.Exec(c.t.Context(), "ANALYZE"); err != nil {
		c.t.Fatal(err)
	}
}

// TestLimits_StreamStalled_StreamEnds: over HTTP/2 the connection goes on while one of
// its streams waits for a client that takes nothing of it.
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
	ask := func() io.ReadCloser {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/resource_providers", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", "admin")
		answer, err := c.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.ProtoMajor != 2 {
			t.Fatalf("the server speaks %s", answer.Proto)
		}
		return answer.Body
	}
	stalled, living := ask(), ask()
	defer stalled.Close()
	defer living.Close()
	c.until("the stream that nothing is read of is ended", func() bool {
		if _, err := io.CopyN(io.Discard, living, 512); err != nil {
			t.Fatalf("a stream that is read slowly: %v", err)
		}
		return c.metric(`berth_http_answers_cut_total{reason="stalled"}`) == 1
	})
	if _, err := io.Copy(io.Discard, stalled); err == nil {
		t.Error("the answer that was cut off looks whole")
	}
	if _, err := io.Copy(io.Discard, living); err != nil {
		t.Errorf("the other stream: %v", err)
	}
}

func TestLimits_SpoolDirUnusable_StartFailsOrWarns(t *testing.T) {
	t.Parallel()
	missing := t.TempDir() + "/missing"
	failed := runCommand(t, nil, "serve", "--listen=127.0.0.1:0", "--database-url", "postgres://nowhere.invalid/x", "--spool-dir", missing)
	for _, want := range []string{missing, "--spool-dir", "no such file or directory", "--spool-max-bytes 0"} {
		if failed.code != frame.ExitFailed || !strings.Contains(failed.stderr, want) {
			t.Errorf("exit code %d, %q does not say %q", failed.code, failed.stderr, want)
		}
	}
}

// TestLimits_LargeAnswer_IsWhole reads an answer that is in a file to its end.
func TestLimits_LargeAnswer_IsWhole(t *testing.T) {
	t.Parallel()
	c := setupCrowd(t, "--spool-memory", "1048576", "--spool-dir", t.TempDir())
	const count = 6000
	if *slowProviders < count {
		c.more(*slowProviders+1, count)
	}
	conn, err := c.open("unix", c.socket, largeAnswers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || strings.Count(string(body), `"allocations"`) != max(count, *slowProviders) || !slices.Equal(answer.TransferEncoding, []string{"chunked"}) {
		t.Errorf("%v: %d bytes, %d candidates, %q", err, len(body), strings.Count(string(body), `"allocations"`), answer.TransferEncoding)
	}
	if files := c.metric(`berth_spool_answers_total{place="file"}`); files != 1 {
		t.Errorf("%v answers went to files", files)
	}
}
