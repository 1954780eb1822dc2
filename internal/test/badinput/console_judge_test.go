package badinput

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// policyOf returns the policy of a response of the console. A status 414 is sent before the console, and is text.
func policyOf(status int) string {
	if status == http.StatusRequestURITooLong {
		return "default-src 'none'; frame-ancestors 'none'"
	}
	return consolePolicy
}

// consolePolicy is the policy of each other response of the console.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxConsolePage is the maximum size of a response of the console, which may repeat a hostile value in many links.
const maxConsolePage = 2 << 20

// maxMain bounds the part of an error page in which internal texts are searched, because a long value may follow.
const maxMain = 2 << 10

// injected returns an element, an attribute, an address or a control character of a hostile value that a browser would take
// as such; "" for a safe page. Regular expressions are too slow for pages of a megabyte.
func injected(page string) string {
	page = strings.ToLower(page)
	for _, text := range []string{"<evil", `onevil="`, "onevil='", `href="javascript:`, `src="javascript:`, `action="javascript:`, "\u202e", "\u2066", "\x1b", "\x00"} {
		if strings.Contains(page, text) {
			return text
		}
	}
	return ""
}

var consoleLocation = regexp.MustCompile(`^/console($|[/?#])`)

// judgePage returns what is wrong with a response of the console.
func judgePage(answer *httptest.ResponseRecorder) error {
	body, h := answer.Body.String(), answer.Header()
	isPage, location := strings.HasPrefix(h.Get("Content-Type"), "text/html"), h.Get("Location")
	found := injected(body)
	switch {
	case answer.Code >= http.StatusInternalServerError:
		return fmt.Errorf("status %d: %.500s", answer.Code, body)
	case h.Get("Content-Security-Policy") != policyOf(answer.Code) || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "":
		return fmt.Errorf("status %d: headers = %v", answer.Code, h)
	case len(body) > maxConsolePage:
		return fmt.Errorf("status %d: the response has %d bytes", answer.Code, len(body))
	case strings.Contains(fmt.Sprint(body, h), "SECRET"):
		return fmt.Errorf("status %d: the response contains a secret", answer.Code)
	case location != "" && !consoleLocation.MatchString(location):
		return fmt.Errorf("status %d: it leads to %q", answer.Code, location)
	case isPage && !utf8.ValidString(body):
		return fmt.Errorf("status %d: the page is not text", answer.Code)
	case isPage && found != "":
		return fmt.Errorf("status %d: the page contains %q", answer.Code, found)
	case answer.Code < http.StatusBadRequest:
		return nil
	}
	_, main, _ := strings.Cut(body, "<main")
	if leak := inside.FindString(main[:min(len(main), maxMain)]); leak != "" {
		return fmt.Errorf("status %d: the page contains the internal text %q", answer.Code, leak)
	}
	return nil
}

// TestErrors_JudgeOfPages_FindsWhatIsWrong checks the check.
func TestErrors_JudgeOfPages_FindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`<p>&lt;evil&gt; " onevil=&#34;1</p>`: "", "<p><EVIL>": "contains", `<a title="" onevil="1">`: "contains", `<a href="javascript:evil()">`: "contains",
		"\xff": "not text", "a\x00b": "contains", "<b>\u202e": "contains", tokenOfUser: "a secret", strings.Repeat("x", maxConsolePage+1): "bytes", "<main>goroutine 1": "internal", "<p>safe": "",
	} {
		answer := httptest.NewRecorder()
		answer.Code = http.StatusBadRequest
		answer.Header().Set("Content-Type", "text/html; charset=utf-8")
		answer.Header().Set("Content-Security-Policy", consolePolicy)
		answer.Header().Set("X-Content-Type-Options", "nosniff")
		answer.Body.WriteString(body)
		if err := judgePage(answer); cmp.Or(want, "<nil>") == "<nil>" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", body, err, want)
		}
	}
}
