package placement

import (
	"iter"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/request"
)

// candidateBuffers pools the buffers of responses. Buffers that a huge candidate enlarged are left to the garbage
// collector.
var candidateBuffers = sync.Pool{New: func() any {
	buf := make([]byte, 0, candidateChunk+candidateChunk/8)
	return &buf
}}

const candidateBufferKept = 4 * candidateChunk

// candidateStream is a response whose first chunk is encoded but not sent, so that an error can still replace it.
type candidateStream struct {
	source candidateSource
	// leave, if any, gives back the place of an explanation.
	leave func()
	// turn is that of the search.
	turn   *searchpool.Turn
	writer *candidateWriter
	pooled *[]byte
	first  []byte
	next   func() ([]byte, error, bool)
	stop   func()
	// isSent reports that the whole response was written.
	isSent bool
}

// isEmpty reports that the response was written and has no candidate.
func (s *candidateStream) isEmpty() bool { return s.isSent && s.writer.count == 0 }

// startCandidates encodes the first chunk. If that fails, it closes the source.
func startCandidates(
	source candidateSource, shape candidateShape, groups []candidates.Group, explanation func(count int) []byte,
) (*candidateStream, error) {
	s := &candidateStream{source: source, pooled: candidateBuffers.Get().(*[]byte)}
	s.writer = newCandidateWriter(shape, groups, *s.pooled)
	s.writer.explanation = explanation
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

// send writes the response. If an error occurs before the first byte is sent, the error becomes the response.
func (s *candidateStream) send(to huma.Context) {
	defer s.close()
	to.SetHeader("Content-Type", "application/json")
	if s.writer.isComplete {
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
			route.Fail(to, candidateListFaults.Translate(err))
			return
		}
		chunk, err, more = s.next()
	}
	request.From(to.Context()).Candidates = s.writer.count
	s.isSent = true
}

// close releases the database connection, ends the turn and returns the buffer to the pool.
func (s *candidateStream) close() {
	s.stop()
	_ = s.source.close() // the response is complete, or an earlier error takes precedence
	if s.leave != nil {
		s.leave()
	}
	s.turn.Leave()
	if buf := s.writer.buf; cap(buf) <= candidateBufferKept {
		*s.pooled = buf[:0]
		candidateBuffers.Put(s.pooled)
	}
}
