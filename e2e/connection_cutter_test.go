//go:build client

package e2e

import (
	numbers "encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// connCutter stand between a server and PostgreSQL and cut connections where it hurts. They
// know as much of the protocol as that takes: a statement is complete with Sync.
type connCutter struct {
	url    string
	target string
	// every so many statements one is cut; 0: none.
	every            atomic.Int64
	statements, cuts atomic.Int64
	kinds            [3]atomic.Int64
}

// What happens to a statement that is cut.
const (
	cutBefore = iota // the statement does not reach PostgreSQL
	cutAfter         // PostgreSQL executes it, and the response is lost
	cutAnswer        // three bytes of the response arrive
)

func newShears(t *testing.T, database *node) *connCutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	here, there := fmt.Sprint(":", listener.Addr().(*net.TCPAddr).Port, "/"), fmt.Sprint(":", database.port, "/")
	s := &connCutter{url: strings.Replace(database.url(), there, here, 1), target: fmt.Sprintf("127.0.0.1:%d", database.port)}
	go func() {
		for {
			program, err := listener.Accept()
			if err != nil {
				return
			}
			go s.pass(program.(*net.TCPConn))
		}
	}()
	return s
}

func (s *connCutter) tally() string {
	return fmt.Sprintf("%d before a statement, %d before its answer, %d within it",
		s.kinds[cutBefore].Load(), s.kinds[cutAfter].Load(), s.kinds[cutAnswer].Load())
}

func (s *connCutter) pass(program *net.TCPConn) {
	defer program.Close()
	dialled, err := net.Dial("tcp", s.target)
	if err != nil {
		return
	}
	database := dialled.(*net.TCPConn)
	defer database.Close()
	var torn atomic.Bool
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.answer(program, database, &torn)
	}()
	s.statement(program, database, &torn)
	// PostgreSQL finishes the statement, without a client.
	database.CloseWrite()
	<-answered
}

// statement passes on what the program sends, until a cut.
func (s *connCutter) statement(program, database *net.TCPConn, torn *atomic.Bool) {
	length := make([]byte, 4) // the first message has no type
	if _, err := io.ReadFull(program, length); err != nil {
		return
	}
	if _, err := database.Write(length); err != nil {
		return
	}
	if _, err := io.CopyN(database, program, int64(numbers.BigEndian.Uint32(length))-4); err != nil {
		return
	}
	for head := make([]byte, 5); ; {
		if _, err := io.ReadFull(program, head); err != nil {
			return
		}
		cut, kind := false, 0
		if head[0] == 'S' {
			cut, kind = s.strikes()
		}
		switch {
		case cut && kind == cutBefore:
			program.Close()
			return
		case cut && kind == cutAnswer:
			torn.Store(true)
		}
		if cut && kind == cutAfter {
			program.Close() // before the answer can come
		}
		if _, err := database.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(database, program, int64(numbers.BigEndian.Uint32(head[1:]))-4); err != nil || cut && kind == cutAfter {
			return
		}
	}
}

// strikes tells whether the statement that is complete now is cut, and how.
func (s *connCutter) strikes() (cut bool, kind int) {
	every := s.every.Load()
	if number := s.statements.Add(1); every == 0 || number%every != 0 {
		return false, 0
	}
	kind = int(s.cuts.Add(1) % 3)
	s.kinds[kind].Add(1)
	return true, kind
}

// answer forwards the responses of the database. After the client has closed its connection it reads the rest, so that
// the database does not see a closed connection.
func (s *connCutter) answer(program, database *net.TCPConn, torn *atomic.Bool) {
	for buffer := make([]byte, 64<<10); ; {
		n, err := database.Read(buffer)
		if torn.Load() && n > 0 {
			n = min(n, 3)
		}
		_, _ = program.Write(buffer[:n]) // it may have gone
		if err != nil || torn.Load() && n > 0 {
			program.Close()
			_, _ = io.Copy(io.Discard, database)
			return
		}
	}
}
