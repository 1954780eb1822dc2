package requestlog

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/request"
)

// oslo writes lines as the library oslo.log does by default. Found out by running a
// service that uses it:
//
//	date time.msec PID LEVEL logger [global-request-id request-id user project domain
//	system-scope user-domain project-domain] message
//
// and [-] for what belongs to no request.
type oslo struct {
	level  slog.Leveler
	logger string
	pid    string
	clock  func(time.Time) time.Time
	// said are attributes that all lines have, as text.
	said   string
	groups string

	out *lockedWriter
}

type lockedWriter struct {
	mutex sync.Mutex
	to    io.Writer
}

// NewOslo makes a handler that writes in the format of OpenStack's services. Lines
// that don't name their logger are from the one named here.
func NewOslo(out io.Writer, level slog.Leveler, logger string) slog.Handler {
	return &oslo{
		level: level, logger: logger, pid: strconv.Itoa(os.Getpid()), clock: time.Time.Local, out: &lockedWriter{to: out},
	}
}

// Enabled implements slog.Handler.
func (h *oslo) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// Handle implements slog.Handler. A record is one line, whatever is in it.
func (h *oslo) Handle(ctx context.Context, record slog.Record) error {
	var line bytes.Buffer
	logger, rest := h.logger, strings.Builder{}
	rest.WriteString(h.said)
	record.Attrs(func(attribute slog.Attr) bool {
		switch {
		case attribute.Key == LoggerKey:
			logger = attribute.Value.String()
		case attribute.Key == idKey && request.From(ctx).ID == attribute.Value.String():
			// It stands in front already.
		default:
			writeAttribute(&rest, h.groups, attribute)
		}
		return true
	})
	line.WriteString(h.clock(record.Time).Format("2006-01-02 15:04:05.000"))
	for _, word := range []string{h.pid, levelName(record.Level), logger, who(ctx), oneLine(record.Message)} {
		line.WriteByte(' ')
		line.WriteString(word)
	}
	line.WriteString(rest.String())
	line.WriteByte('\n')
	h.out.mutex.Lock()
	defer h.out.mutex.Unlock()
	_, err := h.out.to.Write(line.Bytes())
	return err
}

// WithAttrs implements slog.Handler.
func (h *oslo) WithAttrs(attributes []slog.Attr) slog.Handler {
	next := *h
	var said strings.Builder
	said.WriteString(h.said)
	for _, attribute := range attributes {
		if attribute.Key == LoggerKey {
			next.logger = attribute.Value.String()
			continue
		}
		writeAttribute(&said, h.groups, attribute)
	}
	next.said = said.String()
	return &next
}

// WithGroup implements slog.Handler.
func (h *oslo) WithGroup(name string) slog.Handler {
	next := *h
	if name != "" {
		next.groups += name + "."
	}
	return &next
}

// who is the part in brackets.
func who(ctx context.Context) string {
	info := request.From(ctx)
	if info.ID == "" {
		return "[-]"
	}
	if info.HTTP != nil {
		// Who calls was found out below whoever has this context.
		ctx = info.HTTP.Context()
	}
	caller := auth.From(ctx)
	words := []string{cmp.Or(info.GlobalID, "None"), info.ID}
	for _, word := range []string{
		caller.UserID, caller.ProjectID, caller.DomainID, caller.SystemScope, caller.UserDomainID, caller.ProjectDomainID,
	} {
		words = append(words, cmp.Or(inBrackets(word), "-"))
	}
	return "[" + strings.Join(words, " ") + "]"
}

// inBrackets keeps what a client says of itself from ending its place in the line.
func inBrackets(word string) string {
	return strings.Map(func(r rune) rune {
		if r == ']' || r == '[' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, word)
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARNING"
	default:
		return "ERROR"
	}
}

func writeAttribute(to *strings.Builder, groups string, attribute slog.Attr) {
	value := attribute.Value.Resolve()
	if attribute.Equal(slog.Attr{}) {
		return
	}
	if value.Kind() == slog.KindGroup {
		if attribute.Key != "" {
			groups += attribute.Key + "."
		}
		for _, member := range value.Group() {
			writeAttribute(to, groups, member)
		}
		return
	}
	text := value.String()
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r == '"' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	to.WriteByte(' ')
	to.WriteString(groups + attribute.Key + "=" + text)
}

// oneLine is a message without what would begin another line.
func oneLine(message string) string {
	if !strings.ContainsFunc(message, unicode.IsControl) {
		return message
	}
	quoted := strconv.Quote(message)
	return quoted[1 : len(quoted)-1]
}
