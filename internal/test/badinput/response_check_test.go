package badinput

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"unicode/utf8"
)

// inside are internal words of the program and the database. No request contains them, so a
// response with one of them leaks internals.
var inside = regexp.MustCompile(`SQLSTATE|pgx|pgconn|pgtype|(?i:\b(select|insert into|update|delete from)\b[^"]{1,200}\b(from|values|set|where)\b)` +
	`|ERROR:|goroutine \d|runtime error|nil pointer|index out of range|panic|\.go:\d|/(root|home|tmp|usr|var|go)/|github\.com` +
	`|_fkey|_pkey|_idx\b|_check\b|violates|\brelation "|\bcolumn "|invalid input syntax|invalid byte sequence|out of range for type|duplicate key value` +
	`|json: |unmarshal|strconv\.|Go value|Go struct|interface \{\}|map\[string\]|\*?\b(store|fault|jsonbody|querystring|placement|baremetal|apierr|huma)\.[A-Z]\w+` +
	`|context (canceled|deadline)|closed pool|conn closed|\bPL\d{3}\b|%!\w?\(|<nil>|&\{`)

var requestID = regexp.MustCompile(`^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// judge returns what is wrong with the response to a request; nil for a valid response.
func judge(m *message, path string, answer *httptest.ResponseRecorder) error {
	id := answer.Header().Get("X-Openstack-Request-Id")
	body := answer.Body.String()
	switch {
	case !requestID.MatchString(id) || len(answer.Header().Values("X-Openstack-Request-Id")) != 1:
		return fmt.Errorf("request ID = %q", id)
	case answer.Code >= http.StatusInternalServerError:
		return fmt.Errorf("status %d: %.500s", answer.Code, body)
	case answer.Code < http.StatusBadRequest:
		return judgeSuccess(answer, body)
	case len(body) > 16<<10+8*len(m.wire()):
		return fmt.Errorf("the error has %d bytes", len(body))
	case !utf8.ValidString(body):
		return fmt.Errorf("the error is not UTF-8: %.500q", body)
	}
	if leak := inside.FindString(body); leak != "" {
		return fmt.Errorf("status %d: the response contains the internal text %q: %.500s", answer.Code, leak, body)
	}
	if m.method == http.MethodHead {
		return nil // net/http sends no body with this status
	}
	if path == "/v1" || strings.HasPrefix(path, "/v1/") {
		return judgeBaremetal(answer, id, body)
	}
	return judgePlacement(answer, id, body)
}

func judgeSuccess(answer *httptest.ResponseRecorder, body string) error {
	switch answer.Header().Get("Content-Type") {
	case "application/x-ndjson":
		return judgeStream(body, "\n", "")
	case "text/event-stream":
		return judgeStream(body, "\n\n", "data: ")
	}
	isJSON := strings.HasPrefix(answer.Header().Get("Content-Type"), "application/json")
	if body != "" && isJSON && !json.Valid([]byte(body)) || answer.Code == http.StatusNoContent && body != "" {
		return fmt.Errorf("status %d with %.500q", answer.Code, body)
	}
	return nil
}

// judgeStream checks the lines of a stream, each of which ends with end and has its object behind before: the last one says why it ends.
func judgeStream(body, end, before string) error {
	parts := strings.Split(body, end)
	last := parts[:len(parts)-1]
	for i, part := range last {
		_, object, found := strings.Cut(part, before)
		var read struct{ Type, Code string }
		if err := json.Unmarshal([]byte(object), &read); err != nil || !found || (read.Type == "end") != (i == len(last)-1) {
			return fmt.Errorf("line %d of %d of a stream: %.500q", i, len(last), part)
		}
	}
	if len(last) < 2 || parts[len(last)] != "" {
		return fmt.Errorf("not a whole stream: %.500q", body)
	}
	return nil
}

// judgePlacement checks the three forms of errors: JSON, and on request HTML or text.
func judgePlacement(answer *httptest.ResponseRecorder, id, body string) error {
	status, title := answer.Code, http.StatusText(answer.Code)
	switch kind := answer.Header().Get("Content-Type"); {
	case strings.HasPrefix(kind, "text/html"):
		if !strings.HasPrefix(body, fmt.Sprintf("<html>\n<head><title>%d %s</title></head>", status, title)) || strings.Contains(body, "<script") {
			return fmt.Errorf("status %d: not an HTML page: %.500s", status, body)
		}
	case strings.HasPrefix(kind, "text/plain"):
		if !strings.HasPrefix(body, fmt.Sprintf("%d %s\n\n", status, title)) {
			return fmt.Errorf("status %d: not plain text: %.500s", status, body)
		}
	case status == http.StatusUnauthorized && strings.HasPrefix(kind, "application/json"):
		return fieldsOf(body, "message", "code", "title")
	case kind == "application/json":
		var found struct {
			Errors []struct {
				Status        int
				Title, Detail string
				Code          string
				RequestID     string `json:"request_id"`
			}
		}
		if err := json.Unmarshal([]byte(body), &found); err != nil || len(found.Errors) != 1 {
			return fmt.Errorf("status %d, %v: %.500s", status, err, body)
		}
		if one := found.Errors[0]; one.Status != status || one.Title != title || strings.TrimSpace(one.Detail) == "" || one.RequestID != id {
			return fmt.Errorf("status %d: request ID = %s: %.500s", status, id, body)
		}
	default:
		return fmt.Errorf("status %d: content type = %q: %.500q", status, kind, body)
	}
	return nil
}

// judgeBaremetal checks an object in a string in an object, of one of two forms. The header of the
// API also has the request ID.
func judgeBaremetal(answer *httptest.ResponseRecorder, id, body string) error {
	var outer map[string]string
	if err := json.Unmarshal([]byte(body), &outer); err != nil || len(outer) != 1 || answer.Header().Get("Content-Type") != "application/json" {
		return fmt.Errorf("status %d, %v: %.500s", answer.Code, err, body)
	}
	if own := answer.Header().Get("Openstack-Request-Id"); own != id {
		return fmt.Errorf("status %d: request IDs = %q and %q", answer.Code, own, id)
	}
	inner := outer["error_message"]
	if fieldsOf(inner, "code", "title", "description") == nil {
		return nil
	}
	return fieldsOf(inner, "faultcode", "faultstring", "debuginfo")
}

// fieldsOf returns an error if a text is not an object with exactly these members.
func fieldsOf(text string, names ...string) error {
	var found map[string]any
	if err := json.Unmarshal([]byte(text), &found); err != nil || len(found) != len(names) {
		return fmt.Errorf("%v, not an object of %s: %.500s", err, strings.Join(names, ", "), text)
	}
	for _, name := range names {
		if _, ok := found[name]; !ok {
			return fmt.Errorf("member %s is missing: %.500s", name, text)
		}
	}
	return nil
}
