package serve

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// Types, flags, settings and codes of frames (RFC 9113, section 6).
const (
	frameHeaders  = 0x1
	frameReset    = 0x3
	frameSettings = 0x4
	frameGoAway   = 0x7

	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4

	settingMaxStreams   = 0x3
	codeCancel          = 0x8
	codeEnhanceYourCalm = 0xb
)

// http2Frame is a frame of HTTP/2: on the wire, its length, type, flags and stream, and its payload.
type http2Frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// setting returns the value of a setting in a SETTINGS frame, 0 without it: pairs of 16 and 32 bits.
func (f http2Frame) setting(id uint16) uint32 {
	for pair := range slices.Chunk(f.payload, 6) {
		if binary.BigEndian.Uint16(pair) == id {
			return binary.BigEndian.Uint32(pair[2:])
		}
	}
	return 0
}

// goAwayCode returns the error code of a GOAWAY frame, which follows the last stream.
func (f http2Frame) goAwayCode() uint32 { return binary.BigEndian.Uint32(f.payload[4:]) }

// streams is a client of HTTP/2 that sends frame by frame, and keeps to no limit.
type streams struct {
	conn net.Conn
	from *bufio.Reader
	next uint32
	head []byte
}

func dialStreams(t *testing.T, address string, config *tls.Config) *streams {
	t.Helper()
	config.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// Fields of HPACK's static table: ":method: GET", ":scheme: https", ":path: /", and ":authority" with its own value.
	head := append([]byte{0x82, 0x87, 0x84, 0x01, byte(len(address))}, address...)
	s := &streams{conn: conn, from: bufio.NewReader(conn), next: 1, head: head}
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := s.write(http2Frame{kind: frameSettings}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *streams) write(frame http2Frame) error {
	size := len(frame.payload)
	sent := []byte{byte(size >> 16), byte(size >> 8), byte(size), frame.kind, frame.flags}
	sent = binary.BigEndian.AppendUint32(sent, frame.stream)
	_, err := s.conn.Write(append(sent, frame.payload...))
	return err
}

// open sends a request, and cancels it at once if reset is set.
func (s *streams) open(reset bool) error {
	err := s.write(http2Frame{kind: frameHeaders, flags: flagEndStream | flagEndHeaders, stream: s.next, payload: s.head})
	if err == nil && reset {
		err = s.write(http2Frame{kind: frameReset, stream: s.next, payload: []byte{0, 0, 0, codeCancel}})
	}
	s.next += 2
	return err
}

// until reads frames until one of a type; the error is that of the connection.
func (s *streams) until(kind byte) (http2Frame, error) {
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(s.from, head); err != nil {
			return http2Frame{}, err
		}
		frame := http2Frame{kind: head[3], flags: head[4], stream: binary.BigEndian.Uint32(head[5:])}
		frame.payload = make([]byte, uint32(head[0])<<16|uint32(binary.BigEndian.Uint16(head[1:])))
		if _, err := io.ReadFull(s.from, frame.payload); err != nil {
			return http2Frame{}, err
		}
		if frame.kind == kind {
			return frame, nil
		}
	}
}
