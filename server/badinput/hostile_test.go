package badinput

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

	"github.com/berthd/berth/server/dbtest"
)

// program is a `berth serve` of its own process, whose memory can be measured.
type program struct {
	t       *testing.T
	db      *dbtest.DB
	address string
	process *os.Process
	log     *lines
	// ended counts how slow requests were ended.
	ended *counted
}

// Limits of the program under test: what it takes at once, and for how long.
const (
	allowedTime = 2 * time.Second
	// The time for the head of a request, which is no setting.
	headTime = 10 * time.Second
	// mostMemory is what the process may have had at any time, with a database that
	// is another process. It starts with some 40 MB.
	mostMemory = 512 << 20
)

// built is the program's file, built once for all tests.
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

// removal takes what was built away.
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
	command := exec.Command(file, append([]string{"serve", "--listen", "127.0.0.1:0", "--database-url", p.db.URL}, flags...)...)
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
			t.Errorf("berth serve ended with %v: %.3000s", err, p.log)
		}
	})
	reader := bufio.NewReader(output)
	line, err := reader.ReadString('\n')
	found := greeting.FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("berth serve said %q, %v: %s", line, err, p.log)
	}
	p.address = found[1]
	go io.Copy(io.Discard, reader)
	return p
}

// peak is the most memory that the process has had.
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

// reply is an answer with its body, and how long it took.
type reply struct {
	*http.Response
	body string
	took time.Duration
}

// say writes bytes to a connection and reads one answer, of which there may be none.
func (p *program) say(patience time.Duration, parts ...io.Reader) (reply, error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	start := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return reply{}, err
	}
	go func() {
		for _, part := range parts {
			if _, err := io.Copy(conn, part); err != nil {
				return // the server has had enough
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
		err = nil // the answer was there; what was sent too much is thrown away
	}
	return reply{answer, string(body), time.Since(start)}, err
}

// head is the beginning of a request of an administrator.
func head(method, target string, headers ...string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: berth\r\nX-Auth-Token: admin\r\nX-Roles: admin,service\r\n" +
		"OpenStack-API-Version: placement 1.39, baremetal 1.82\r\nConnection: close\r\nContent-Type: application/json\r\n" +
		strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

func withBody(method, target string, body []byte) []io.Reader {
	return []io.Reader{strings.NewReader(head(method, target, "Content-Length: "+strconv.Itoa(len(body)))), bytes.NewReader(body)}
}

// forever is a body without end, in chunks of 64 KiB or as it comes.
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

// drip gives a byte now and then.
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
