package badinput

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
)

// program is `berth serve` in a separate process, whose memory the test measures.
type program struct {
	t       *testing.T
	db      *dbtest.DB
	address string
	process *os.Process
	log     *lines
}

// Limits of the program under test.
const (
	allowedTime = 2 * time.Second
	// headTime is the timeout for the head of a request, which is not a setting.
	headTime = 10 * time.Second
	// maxMemory is the maximum memory of the process at any time, without the database, which is
	// another process. It starts with about 40 MB.
	maxMemory = 512 << 20
	// late is the tolerance of timeouts on a busy machine. It is less than the time that the server
	// has for a response after the timeout of the request.
	late = 4 * time.Second
	// grace is the time after a timeout for which a test waits for the response.
	grace = 20 * time.Second
)

// built returns the path of the program, which is built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "berth-badinput-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(directory, "berth")
	output, err := exec.Command("go", "build", "-o", file, "github.com/berthd/berth/cmd/berth").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	removal = func() { _ = os.RemoveAll(directory) }
	return file, nil
})

// removal deletes the built program.
var removal = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	removal()
	os.Exit(code)
}

var greeting = regexp.MustCompile(`listening on http://(\S+)`)

func newProgram(t *testing.T, flags ...string) *program {
	t.Helper()
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, db: dbtest.NewEmpty(t), log: &lines{}}
	command := exec.Command(file, append([]string{"serve", "--listen", "127.0.0.1:0", "--database-url", p.db.URL, "--allowed-hosts", "berth"}, flags...)...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "BERTH_") && !strings.HasPrefix(variable, "PG") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Stderr = p.log
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.process = command.Process
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			t.Errorf("berth serve exited with %v: %.3000s", err, p.log)
		}
	})
	reader := bufio.NewReader(output)
	line, err := reader.ReadString('\n')
	found := greeting.FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("output of berth serve = %q, %v: %s", line, err, p.log)
	}
	p.address = found[1]
	go io.Copy(io.Discard, reader)
	return p
}

// peak returns the maximum memory of the process so far.
func (p *program) peak() int64 {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.process.Pid))
	if err != nil {
		p.t.Skipf("the memory of another process can only be measured on Linux: %v", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return kilobytes << 10
}

// wantSmall checks the maximum memory of the process.
func (p *program) wantSmall() {
	p.t.Helper()
	peak := p.peak()
	p.t.Logf("maximum memory of the process = %d MB", peak>>20)
	if peak > maxMemory {
		p.t.Errorf("maximum memory = %d MB, want less than %d", peak>>20, maxMemory>>20)
	}
}

// reply is a response with its body and latency.
type reply struct {
	*http.Response
	body string
	took time.Duration
	// target is the first part of the request target.
	target string
}

// say writes bytes to a connection and reads one response, if there is one. An error of the connect
// is none of the errors that end a connection.
func (p *program) say(within time.Duration, parts ...io.Reader) (reply, error) {
	p.t.Helper()
	line := make([]byte, 64)
	n, _ := io.ReadFull(parts[0], line)
	_, target, _ := strings.Cut(string(line[:n]), " ")
	parts = append([]io.Reader{bytes.NewReader(line[:n])}, parts...)
	ctx, cancel := context.WithTimeout(p.t.Context(), within)
	defer cancel()
	start := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return reply{}, fmt.Errorf("not connected: %v", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return reply{}, err
	}
	go func() {
		for _, part := range parts {
			if _, err := io.Copy(conn, part); err != nil {
				return // the server closed the connection
			}
		}
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return reply{took: time.Since(start)}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if errors.Is(err, syscall.ECONNRESET) {
		err = nil // the response is complete; the rest of the request is not necessary
	}
	return reply{answer, string(body), time.Since(start), target}, err
}

// expect sends a request and checks the status, the form and a text of the response of a handler,
// and that it arrives within the request timeout plus the tolerance.
func (p *program) expect(status int, text string, parts ...io.Reader) reply {
	p.t.Helper()
	answer, err := p.say(allowedTime+grace, parts...)
	if err != nil {
		p.t.Errorf("no response after %s: %v", answer.took, err)
		return answer
	}
	if err := answer.wellFormed(); err != nil {
		p.t.Error(err)
	}
	if answer.StatusCode != status || !strings.Contains(answer.body, text) {
		p.t.Errorf("status %d and %.600q, want %d and %q", answer.StatusCode, answer.body, status, text)
	}
	return answer
}

// refused sends a request that net/http rejects before a handler: it responds with one line of
// plain text without a request ID, and closes the connection.
func (p *program) refused(status int, text string, parts ...io.Reader) {
	p.t.Helper()
	answer, err := p.say(allowedTime+grace, parts...)
	switch {
	case err != nil:
		p.t.Errorf("no response after %s: %v", answer.took, err)
	case answer.StatusCode != status || answer.body != text || !answer.Close:
		p.t.Errorf("status %d and %.600q, want %d and %q", answer.StatusCode, answer.body, status, text)
	case answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" || answer.Header.Get("X-Openstack-Request-Id") != "":
		p.t.Errorf("headers = %v, want those of net/http", answer.Header)
	}
}

// wellFormed returns what is wrong with the response of a handler, regardless of its status.
func (r reply) wellFormed() error {
	id := r.Header.Get("X-Openstack-Request-Id")
	recorded := httptest.NewRecorder()
	recorded.Code = r.StatusCode
	maps.Copy(recorded.Header(), r.Header)
	recorded.Body.WriteString(r.body)
	leak := inside.FindString(r.body)
	switch {
	case !requestID.MatchString(id) || len(r.Header.Values("X-Openstack-Request-Id")) != 1:
		return fmt.Errorf("status %d: request ID = %q", r.StatusCode, id)
	case r.StatusCode < http.StatusBadRequest:
		return judgeSuccess(recorded, r.body)
	case leak != "":
		return fmt.Errorf("the response contains the internal text %q: %.600q", leak, r.body)
	case strings.HasPrefix(r.target, "/v1/"):
		return judgeBaremetal(recorded, id, r.body)
	}
	return judgePlacement(recorded, id, r.body)
}

// overdue reports whether the server aborted the request after its timeout, within the tolerance, and
// responded with an error and Retry-After.
func (r reply) overdue() bool {
	after, err := strconv.Atoi(r.Header.Get("Retry-After"))
	return r.StatusCode == http.StatusServiceUnavailable && err == nil && after >= 1 &&
		strings.Contains(r.body, "took longer than the server allows") && r.took >= allowedTime && r.took <= allowedTime+late
}

// wantEnded checks how the connection ended, and that it ended after its timeout, within the
// tolerance.
func (p *program) wantEnded(after time.Duration, ended func(reply, error) error, answer reply, err error) {
	p.t.Helper()
	if wrong := ended(answer, err); wrong != nil {
		p.t.Errorf("after %s: %v", answer.took, wrong)
	}
	if answer.took < after || answer.took > after+late {
		p.t.Errorf("ended after %s, want %s", answer.took, after)
	}
}

// endedWithTheReason returns what is wrong with the response to an incomplete body.
func (r reply) endedWithTheReason(err error) error {
	switch {
	case err != nil:
		return err
	case r.StatusCode != http.StatusBadRequest || !strings.Contains(r.body, "The request's body could not be read to its end."):
		return fmt.Errorf("status %d: %.300q", r.StatusCode, r.body)
	}
	return r.wellFormed()
}

// endedWithoutAWord returns what is wrong after an incomplete head. The server closes the
// connection without a response. If it has not read all sent bytes, the system of the client may
// report a reset.
func (r reply) endedWithoutAWord(err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("status %d: %.300q", r.StatusCode, r.body)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return nil
	}
	return err
}

// head returns the head of a request of an administrator.
func head(method, target string, headers ...string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: berth\r\nX-Auth-Token: admin\r\nX-Roles: admin,service\r\n" +
		"OpenStack-API-Version: placement 1.39, baremetal 1.82\r\nConnection: close\r\nContent-Type: application/json\r\n" +
		strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

func withBody(method, target string, body []byte) []io.Reader {
	return []io.Reader{strings.NewReader(head(method, target, "Content-Length: "+strconv.Itoa(len(body)))), bytes.NewReader(body)}
}

// forever is an endless body, in chunks of 64 KiB or raw.
func forever(limit int64, chunked bool) io.Reader {
	piece := bytes.Repeat([]byte(" "), 1<<16)
	if chunked {
		piece = append(append([]byte("10000\r\n"), piece...), '\r', '\n')
	}
	return io.LimitReader(&repeating{piece: piece}, limit)
}

type repeating struct {
	piece []byte
	at    int
}

func (r *repeating) Read(p []byte) (int, error) {
	n := copy(p, r.piece[r.at:])
	r.at = (r.at + n) % len(r.piece)
	return n, nil
}

// drip returns one byte per interval.
type drip struct {
	every time.Duration
	ctx   context.Context
}

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.every):
		p[0] = 'x'
		return 1, nil
	case <-d.ctx.Done():
		return 0, io.EOF
	}
}
