package placement

import (
	"iter"
	"net/http"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/store"
)

// candidateBuffers are kept between answers. Those that a huge candidate made much
// larger than others need are left to the collector.
var candidateBuffers = sync.Pool{New: func() any {
	buf := make([]byte, 0, candidateChunk+candidateChunk/8)
	return &buf
}}

const candidateBufferKept = 4 * candidateChunk

// candidateStream is an answer of which the first chunk is written and may still be
// replaced by an error.
type candidateStream struct {
	source candidateSource
	writer *candidateWriter
	pooled *[]byte
	first  []byte
	next   func() ([]byte, error, bool)
	stop   func()
}

// startCandidates writes the first chunk. If that fails, everything is closed.
func startCandidates(
	source candidateSource, shape candidateShape, groups []store.CandidateGroup,
) (*candidateStream, error) {
	s := &candidateStream{source: source, pooled: candidateBuffers.Get().(*[]byte)}
	s.writer = newCandidateWriter(shape, groups, *s.pooled)
	s.next, s.stop = iter.Pull2(s.writer.chunks(source))
	started := false
	defer func() {
		if !started {
			s.close()
		}
	}()
	var err error
	s.first, err, _ = s.next()
	started = err == nil
	return s, err
}

// send writes the answer to the client. An error after the first byte cuts the
// connection: half an answer must not look whole.
func (s *candidateStream) send(to huma.Context) {
	defer s.close()
	to.SetHeader("Content-Type", "application/json")
	if s.writer.whole {
		to.SetHeader("Content-Length", strconv.Itoa(len(s.first)))
	}
	w := to.BodyWriter()
	chunk, err, more := s.first, error(nil), true
	for more {
		if err == nil {
			err = to.Context().Err()
		}
		if err == nil {
			_, err = w.Write(chunk)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		chunk, err, more = s.next()
	}
	request.From(to.Context()).Candidates = s.writer.count
}

// close frees the connection to the database and keeps the buffer for the next.
func (s *candidateStream) close() {
	s.stop()
	_ = s.source.close() // the answer is out, or an error that matters more
	if buf := s.writer.buf; cap(buf) <= candidateBufferKept {
		*s.pooled = buf[:0]
		candidateBuffers.Put(s.pooled)
	}
}
