package requestlog_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/observe/requestlog"
	"github.com/berthd/berth/server/wire/request"
)

const id = "req-6b6837d1-5af3-4138-b4ed-e0275c3efda4"

func TestLog_RequestLine_HasRequestIDOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(requestlog.WithRequestID(slog.NewTextHandler(&out, nil)))
	ctx := request.With(t.Context(), &request.Info{ID: id})
	log.WarnContext(ctx, "a")
	log.WarnContext(ctx, "b", "request_id", id)
	log.With("more", 1).WarnContext(ctx, "c")
	log.Warn("d")
	for line, want := range map[string]int{"a": 1, "b": 1, "c": 1, "d": 0} {
		for said := range strings.Lines(out.String()) {
			if strings.Contains(said, "msg="+line) && strings.Count(said, "request_id="+id) != want {
				t.Errorf("line = %s", said)
			}
		}
	}
}

func TestLog_OsloFormat_ContainsCaller(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(requestlog.NewOslo(&out, slog.LevelDebug, "berth"))
	ctx := request.With(t.Context(), &request.Info{ID: id})
	info := request.From(ctx)
	info.HTTP = (&http.Request{}).WithContext(auth.With(ctx, auth.Caller{
		UserID: "u", ProjectID: "p", SystemScope: "all", UserDomainID: "ud", ProjectDomainID: "pd",
	}))
	log.DebugContext(ctx, "said", "request_id", id, slog.Group("of", "one", 1, "two", "a b"))
	if got, want := out.String(), " DEBUG berth [None "+id+" u p - all ud pd] said of.one=1 of.two=\"a b\"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("line = %q", got)
	}
}

// FuzzOslo checks that any message of any client is one line with exactly one pair of brackets.
func FuzzOslo(f *testing.F) {
	for _, text := range []string{"", "a] b", "x\ny", "\u2028", "\x00\xff", `"=`, "\r\n2026-11-20 10:00:00.000 1 INFO berth [-] forged"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, user, text string) {
		var out bytes.Buffer
		log := slog.New(requestlog.NewOslo(&out, slog.LevelInfo, "berth"))
		ctx := auth.With(request.With(context.Background(), &request.Info{ID: id}), auth.Caller{UserID: user})
		log.InfoContext(ctx, text, "key", text)
		line := out.String()
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") || strings.ContainsRune(line, '\r') {
			t.Errorf("%q is not one line", line)
		}
		who := line[strings.IndexByte(line, '['):]
		if words := strings.Fields(who[:strings.IndexByte(who, ']')]); len(words) != 8 {
			t.Errorf("%q has %d words in brackets", line, len(words))
		}
	})
}
