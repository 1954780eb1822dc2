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

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/request"
)

// oslo writes lines in the default format of the library oslo.log, as observed in a service that uses it:
//
//	date time.msec PID LEVEL logger [global-request-id request-id user project domain
//	system-scope user-domain project-domain] message
//
// and [-] for lines outside of requests.
type oslo struct {
	level  slog.Leveler
	logger string
	pid    string
	clock  func(time.Time) time.Time
	// said are the attributes of all lines, as text.
	said   string
	groups string

	out *lockedWriter
}

type lockedWriter struct {
	mutex sync.Mutex
	to    io.Writer
}

// NewOslo returns a handler that writes in the format of OpenStack services. logger is the name for lines without one.
func NewOslo(out io.Writer, level slog.Leveler, logger string) slog.Handler {
	return &oslo{
		level: level, logger: logger, pid: strconv.Itoa(os.Getpid()), clock: time.Time.Local, out: &lockedWriter{to: out},
	}
}

// Enabled implements slog.Handler.
func (h *oslo) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// Handle implements slog.Handler. It writes a record as one line, independent of its contents.
func (h *oslo) Handle(ctx context.Context, record slog.Record) error {
	var line bytes.Buffer
	logger, rest := h.logger, strings.Builder{}
	rest.WriteString(h.said)
	record.Attrs(func(attribute slog.Attr) bool {
		switch {
		case attribute.Key == LoggerKey:
			logger = attribute.Value.String()
		case attribute.Key == idKey && request.From(ctx).ID == attribute.Value.String():
			// The prefix already contains it.
		default:
			writeAttribute(&rest, h.groups, attribute)
		}
		return true
	})
	line.WriteString(h.clock(record.Time).Format("2006-01-02 15:04:05.000"))
	for _, word := range []string{h.pid, levelName(record.Level), logger, identityFields(ctx), oneLine(record.Message)} {
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

// identityFields returns the fields in brackets.
func identityFields(ctx context.Context) string {
	info := request.From(ctx)
	if info.ID == "" {
		return "[-]"
	}
	if info.HTTP != nil {
		// The middleware that sets the caller runs after the one with this context.
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

// inBrackets escapes characters of the client's fields that would end the field.
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

// oneLine replaces the characters of a message that would start another line.
func oneLine(message string) string {
	if !strings.ContainsFunc(message, unicode.IsControl) {
		return message
	}
	quoted := strconv.Quote(message)
	return quoted[1 : len(quoted)-1]
}
