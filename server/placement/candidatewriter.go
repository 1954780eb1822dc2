package placement

import (
	"encoding/hex"
	"iter"
	"strconv"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/store"
)

// candidateShape is how an answer looks.
type candidateShape struct {
	// listed: allocations are a list and name the provider inside.
	listed bool
	// traits, place and mappings tell what is shown.
	traits, place, mappings bool
	// allClasses shows all inventories of a provider, not only those asked for.
	allClasses bool
}

// candidateWriter writes an answer by appending bytes to one buffer. An answer may
// have a hundred thousand candidates, and an encoder that looks at types, with a map
// for each object, would make garbage of all of them.
//
// Nothing that it writes between quotes needs escapes: names of classes and traits,
// suffixes of groups and uuids have neither quotes nor backslashes nor controls in
// them.
type candidateWriter struct {
	shape  candidateShape
	groups []store.CandidateGroup
	// asked are the classes that any group asks for.
	asked map[string]bool
	buf   []byte
	// count is how many candidates were written.
	count int
	// whole: what is in the buffer is all, or all that was not handed over yet.
	whole bool
}

// candidateChunk is about how much is handed over at a time. An answer that fits
// is sent with its length, and an error before that is still a proper answer.
const candidateChunk = 256 << 10

func newCandidateWriter(shape candidateShape, groups []store.CandidateGroup, buf []byte) *candidateWriter {
	w := &candidateWriter{shape: shape, groups: groups, buf: buf[:0]}
	if !shape.allClasses {
		w.asked = map[string]bool{}
		for _, group := range groups {
			for _, wanted := range group.Resources {
				w.asked[wanted.Class] = true
			}
		}
	}
	return w
}

// candidateSource is what an answer is written from: candidates, and when they are
// at their end, summaries.
type candidateSource struct {
	candidates iter.Seq2[*store.Candidate, error]
	summaries  iter.Seq2[*store.ProviderSummary, error]
	close      func() error
}

// chunks writes the answer and hands over what is in the buffer each time that is
// full, and at the end. Who takes it is done with it when asking for more. An error
// is the last that is yielded.
func (w *candidateWriter) chunks(from candidateSource) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		hand := func() bool {
			goOn := yield(w.buf, nil)
			w.buf = w.buf[:0]
			return goOn
		}
		w.text(`{"allocation_requests":[`)
		separator := ""
		for candidate, err := range from.candidates {
			if err != nil {
				yield(nil, err)
				return
			}
			w.text(separator)
			separator = ","
			w.candidate(candidate)
			w.count++
			if len(w.buf) >= candidateChunk && !hand() {
				return
			}
		}
		w.text(`],"provider_summaries":{`)
		separator = ""
		for summary, err := range from.summaries {
			if err != nil {
				yield(nil, err)
				return
			}
			w.text(separator)
			separator = ","
			w.summary(summary)
			if len(w.buf) >= candidateChunk && !hand() {
				return
			}
		}
		w.text("}}\n")
		w.whole = true
		hand()
	}
}

func (w *candidateWriter) text(s string) { w.buf = append(w.buf, s...) }

func (w *candidateWriter) candidate(c *store.Candidate) {
	if w.shape.listed {
		w.text(`{"allocations":[`)
	} else {
		w.text(`{"allocations":{`)
	}
	for i := range c.Uses {
		if i > 0 {
			w.text(",")
		}
		w.use(&c.Uses[i])
	}
	if w.shape.listed {
		w.text("]}")
		return
	}
	w.text("}")
	if w.shape.mappings {
		w.mappings(c)
	}
	w.text("}")
}

func (w *candidateWriter) use(use *store.CandidateUse) {
	if w.shape.listed {
		w.text(`{"resource_provider":{"uuid":`)
		w.uuid(use.Provider)
		w.text(`},"resources":{`)
	} else {
		w.uuid(use.Provider)
		w.text(`:{"resources":{`)
	}
	for i := range use.Resources {
		if i > 0 {
			w.text(",")
		}
		w.name(use.Resources[i].Class)
		w.text(":")
		w.buf = strconv.AppendInt(w.buf, use.Resources[i].Amount, 10)
	}
	w.text("}}")
}

func (w *candidateWriter) mappings(c *store.Candidate) {
	w.text(`,"mappings":{`)
	for i, providers := range c.Providers {
		if i > 0 {
			w.text(",")
		}
		w.name(w.groups[i].Suffix)
		w.text(":[")
		for i, provider := range providers {
			if i > 0 {
				w.text(",")
			}
			w.uuid(provider)
		}
		w.text("]")
	}
	w.text("}")
}

func (w *candidateWriter) summary(s *store.ProviderSummary) {
	w.uuid(s.UUID)
	w.text(`:{"resources":{`)
	separator := ""
	for i := range s.Resources {
		if w.shape.allClasses || w.asked[s.Resources[i].Class] {
			w.text(separator)
			separator = ","
			w.inventory(&s.Resources[i])
		}
	}
	w.text("}")
	if w.shape.traits {
		w.text(`,"traits":[`)
		for i, trait := range s.Traits {
			if i > 0 {
				w.text(",")
			}
			w.name(trait)
		}
		w.text("]")
	}
	if w.shape.place {
		w.text(`,"parent_provider_uuid":`)
		if s.Parent == nil {
			w.text("null")
		} else {
			w.uuid(*s.Parent)
		}
		w.text(`,"root_provider_uuid":`)
		w.uuid(s.Root)
	}
	w.text("}")
}

func (w *candidateWriter) inventory(of *store.SummaryResource) {
	w.name(of.Class)
	w.text(`:{"capacity":`)
	w.buf = appendWhole(w.buf, of.Capacity)
	w.text(`,"used":`)
	w.buf = strconv.AppendInt(w.buf, of.Used, 10)
	w.text("}")
}

func (w *candidateWriter) name(name string) {
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, '"')
}

// uuid encodes on the stack and appends once: of a candidate most of the bytes are
// uuids.
func (w *candidateWriter) uuid(id uuid.UUID) {
	text := [38]byte{0: '"', 9: '-', 14: '-', 19: '-', 24: '-', 37: '"'}
	hex.Encode(text[1:9], id[0:4])
	hex.Encode(text[10:14], id[4:6])
	hex.Encode(text[15:19], id[6:8])
	hex.Encode(text[20:24], id[8:10])
	hex.Encode(text[25:37], id[10:])
	w.buf = append(w.buf, text[:]...)
}
