package placement

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/work/events"
)

const (
	// maxBuffered is the size of lines above which they are sent before a flush.
	maxBuffered = 64 << 10
	// maxKeptBuffer is the size above which the buffer is not kept between two flushes.
	maxKeptBuffer = 128 << 10
	// retryMillis is how long clients of server-sent events wait before they connect again.
	retryMillis = 2000
)

// lineWriter writes the lines of a stream as NDJSON or as server-sent events. It implements events.Client.
type lineWriter struct {
	to    route.Live
	isSSE bool
	// position is the index behind which the stream begins; nil: the newest.
	position *int64
	lines    bytes.Buffer
}

// Begin implements events.Client.
func (w *lineWriter) Begin(state events.Begin) error {
	if w.isSSE {
		w.lines.WriteString("retry: " + strconv.Itoa(retryMillis) + "\n")
	}
	position := state.Newest
	if w.position != nil {
		position = *w.position
	}
	return w.encode("begin", position, EventBegin{Type: "begin", Log: state.Log, Oldest: state.Oldest, Newest: state.Newest})
}

// Event implements events.Client.
func (w *lineWriter) Event(index int64, encoded []byte) error {
	return w.write("event", index, encoded)
}

// Bookmark implements events.Client.
func (w *lineWriter) Bookmark(index int64, at *time.Time) error {
	line := EventBookmark{Type: "bookmark", Index: index}
	if at != nil {
		line.At = &Moment{*at}
	}
	return w.encode(line.Type, index, line)
}

// End implements events.Client.
func (w *lineWriter) End(code, detail string, index int64) error {
	return w.encode("end", index, EventEnd{Type: "end", Code: code, Detail: detail, Index: index})
}

// Flush implements events.Client.
func (w *lineWriter) Flush() error {
	if w.lines.Len() == 0 {
		return nil
	}
	err := w.to.Send(w.lines.Bytes())
	if w.lines.Reset(); w.lines.Cap() > maxKeptBuffer {
		w.lines = bytes.Buffer{}
	}
	return err
}

// Expire implements events.Client.
func (w *lineWriter) Expire(at time.Time) { w.to.Expire(at) }

// encode writes a line that is made for this stream.
func (w *lineWriter) encode(kind string, index int64, line any) error {
	encoded, err := encodeLine(line)
	if err != nil {
		return err
	}
	return w.write(kind, index, encoded)
}

// encodeLine returns a line without its end.
func encodeLine(line any) ([]byte, error) { return json.Marshal(line) }

// write writes a line, and sends the buffer if it is long. JSON has no line breaks.
func (w *lineWriter) write(kind string, index int64, encoded []byte) error {
	if w.isSSE {
		w.lines.WriteString("event: " + kind + "\nid: " + strconv.FormatInt(index, 10) + "\ndata: ")
	}
	w.lines.Write(encoded)
	w.lines.WriteByte('\n')
	if w.isSSE {
		w.lines.WriteByte('\n')
	}
	if w.lines.Len() > maxBuffered {
		return w.Flush()
	}
	return nil
}
