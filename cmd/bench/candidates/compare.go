package candidates

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxCompared is the maximum number of candidates of responses that are compared without
// a limit. Larger ones are compared with this limit.
const maxCompared = 100_000

// compareAll compares the responses of both programs to all queries in order: without a
// limit, and in an unused cloud also with those of the rows.
func (b *bench) compareAll(ctx context.Context, s *cloudDB, rows []query, at utilization, free int) {
	compared, different := map[string]bool{}, 0
	for _, one := range rows {
		if one.random || strings.Contains(one.text, "order=random") || one.needsUsage && free == s.trees {
			continue // a random response has another order each time
		}
		whole := one.withLimit(0)
		if whole.expected(free) > maxCompared {
			whole.limit = maxCompared
		}
		questions := []query{whole}
		if free == s.trees {
			questions = append(questions, one)
		}
		for _, asked := range questions {
			if compared[asked.path()] {
				continue
			}
			compared[asked.path()] = true
			about := result{Trees: s.trees, Used: at.String()}.of(asked).as(comparison)
			if err := s.compare(ctx, asked, &about); err != nil {
				about = about.failed(err)
				different++
			}
			b.results = append(b.results, about)
		}
	}
	progress("%s: %d responses compared, %d differ", s.name, len(compared), different)
}

// compare returns an error that names the first difference between the responses of the
// first two programs.
func (s *cloudDB) compare(ctx context.Context, of query, about *result) error {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	var bodies []*bufio.Reader
	for _, one := range s.all[:2] {
		into, from := io.Pipe()
		defer into.Close()
		url := one.server(of).URL + of.path()
		go func() {
			_, err := one.Read(of.context(ctx), http.MethodGet, url, "", http.StatusOK, from)
			_ = from.CloseWithError(err)
		}()
		bodies = append(bodies, bufio.NewReader(into))
	}
	var err error
	about.Bytes, err = difference(bodies[0], bodies[1])
	return err
}

// difference reads both to their ends or to the first difference, and returns the number
// of equal bytes before it.
func difference(a, b *bufio.Reader) (int64, error) {
	const context = 60
	for read := int64(0); ; read++ {
		one, errA := a.ReadByte()
		other, errB := b.ReadByte()
		switch {
		case errors.Is(errA, io.EOF) && errors.Is(errB, io.EOF):
			return read, nil
		case errA != nil && !errors.Is(errA, io.EOF):
			return read, errA
		case errB != nil && !errors.Is(errB, io.EOF):
			return read, fmt.Errorf("--against: %w", errB)
		case errA != nil || errB != nil || one != other:
			after, _ := a.Peek(context) // fewer at the end
			otherAfter, _ := b.Peek(context)
			return read, fmt.Errorf("the responses differ after %d bytes: %q instead of %q",
				read, textOf(one, errA, after), textOf(other, errB, otherAfter))
		}
	}
}

// textOf is a byte, unless the end came instead, and what follows.
func textOf(first byte, end error, after []byte) string {
	if end != nil {
		return ""
	}
	return string(first) + string(after)
}
