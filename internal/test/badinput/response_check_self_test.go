package badinput

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestErrors_ResponseChecker_DetectsBadResponses checks invalid responses, and two valid ones.
func TestErrors_ResponseChecker_DetectsBadResponses(t *testing.T) {
	t.Parallel()
	const id = "req-0a1b2c3d-0000-4000-8000-00000000abcd"
	placement := func(detail string) string {
		return `{"errors":[{"status":400,"title":"Bad Request","detail":"` + detail + `","request_id":"` + id + `"}]}`
	}
	for name, test := range map[string]struct {
		path, body string
		status     int
		fine       bool
	}{
		"a good error":        {"/traits", placement("No such trait."), 400, true},
		"one of bare metal":   {"/v1/nodes", `{"error_message":"{\"faultcode\":\"Client\",\"faultstring\":\"x\",\"debuginfo\":null}"}`, 400, true},
		"500":                 {"/traits", placement("x"), 500, false},
		"an SQLSTATE":         {"/traits", placement("ERROR: x (SQLSTATE 22P02)"), 400, false},
		"a statement":         {"/traits", placement("SELECT id FROM traits"), 400, false},
		"a path":              {"/traits", placement("open /root/x: no such file"), 400, false},
		"a place in the code": {"/traits", placement("traits.go:12"), 400, false},
		"a type":              {"/traits", placement("cannot use store.Values here"), 400, false},
		"a decoder's words":   {"/traits", placement("json: cannot unmarshal"), 400, false},
		"another id":          {"/traits", `{"errors":[{"status":400,"title":"Bad Request","detail":"x","request_id":"req-1"}]}`, 400, false},
		"another status":      {"/traits", placement("x"), 404, false},
		"no JSON":             {"/traits", "x", 400, false},
		"bare metal's form":   {"/v1/nodes", placement("x"), 400, false},
		"no UTF-8":            {"/traits", placement("\xff"), 400, false},
		"half an answer":      {"/traits", `{"traits":[`, 200, false},
	} {
		answer := httptest.NewRecorder()
		answer.Header().Set("X-Openstack-Request-Id", id)
		answer.Header().Set("Openstack-Request-Id", id)
		answer.Header().Set("Content-Type", "application/json")
		answer.WriteHeader(test.status)
		_, _ = answer.WriteString(test.body)
		if err := judge(&message{method: http.MethodGet}, test.path, answer); (err == nil) != test.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
