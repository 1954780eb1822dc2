package badinput

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLimits_HostileClient_BoundedTimeAndMemory sends attacks over TCP to the installed program.
// Each ends within its timeout with an error that states the reason, or with the response of
// net/http before a handler. The memory of the process stays bounded, and it serves other clients.
func TestLimits_HostileClient_BoundedTimeAndMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	p := newProgram(t, "--request-timeout="+allowedTime.String(), "--allocation-candidates-max-combinations=200000", "--log-level=error")
	p.furnishTree()
	t.Run("", func(t *testing.T) {
		for name, test := range hostile {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mine := *p
				mine.t = t
				test(&mine)
			})
		}
	})
	p.wantSmall()
	p.expect(http.StatusOK, `"resource_providers"`, strings.NewReader(head("GET", "/resource_providers")))
}

var hostile = map[string]func(*program){
	"deep nesting":                         nesting,
	"a body of 100 MB":                     hugeBody,
	"a head that comes byte by byte":       slowHead,
	"a body that comes byte by byte":       slowBody,
	"ten thousand groups":                  manyGroups,
	"a query of a megabyte":                longQuery,
	"huge integers":                        hugeIntegers,
	"NUL and what is no UTF-8":             noText,
	"a flood of headers":                   manyHeaders,
	"combinations that never end":          endless,
	"what net/http refuses by itself":      notHTTP,
	"a body shorter than it is said to be": shortBody,
}

// furnishTree creates a tree with sixteen devices, on which eight groups have 16^8 combinations.
func (p *program) furnishTree() {
	const root = "c0ffee00-5ca1-4b1e-8000-000000000001"
	p.expect(http.StatusOK, root, withBody("POST", "/resource_providers", fmt.Appendf(nil, `{"name": "root", "uuid": %q}`, root))...)
	for i := range 16 {
		id := fmt.Sprintf("c0ffee00-5ca1-4b1e-8000-0000000001%02d", i)
		p.expect(http.StatusOK, id, withBody("POST", "/resource_providers",
			fmt.Appendf(nil, `{"name": "device-%d", "uuid": %q, "parent_provider_uuid": %q}`, i, id, root))...)
		p.expect(http.StatusOK, `"VGPU"`, withBody("PUT", "/resource_providers/"+id+"/inventories",
			[]byte(`{"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 1000}}}`))...)
	}
}

func nesting(p *program) {
	for _, path := range []string{"/resource_providers", "/allocations", "/reshaper", "/v1/nodes", "/v1/allocations"} {
		for _, opening := range []string{"[", `{"a":`, `{"allocations":[`} {
			p.expect(http.StatusBadRequest, "Malformed JSON: nested deeper than 100 levels", withBody("POST", path, []byte(strings.Repeat(opening, 4_000)))...)
			p.expect(http.StatusRequestEntityTooLarge, "The request's body", withBody("POST", path, []byte(strings.Repeat(opening, 1_100_000)))...)
		}
	}
}

func hugeBody(p *program) {
	const size = 100 << 20
	for path, limit := range map[string]string{"/resource_providers": "1048576", "/v1/nodes": "16777216"} {
		p.expect(http.StatusRequestEntityTooLarge, limit,
			strings.NewReader(head("POST", path, fmt.Sprint("Content-Length: ", size))), forever(size, false))
		p.expect(http.StatusRequestEntityTooLarge, limit,
			strings.NewReader(head("POST", path, "Transfer-Encoding: chunked")), forever(size, true))
	}
	// The server does not read a body that no handler needs: it responds at once.
	p.expect(http.StatusNotFound, "The resource could not be found.", strings.NewReader(head("POST", "/ponies", fmt.Sprint("Content-Length: ", size))), forever(size, false))
}

// atOnce runs a function several times in parallel.
func atOnce(times int, run func()) {
	var all sync.WaitGroup
	for range times {
		all.Go(run)
	}
	all.Wait()
}

func slowHead(p *program) {
	p.dripped(200, headTime, reply.endedWithoutAWord, strings.NewReader("GET /resource_providers HTTP/1.1\r\nHost: berth\r\nX-Slow: "))
}

func slowBody(p *program) {
	p.dripped(200, headTime+allowedTime, reply.endedWithTheReason, strings.NewReader(head("POST", "/resource_providers", "Content-Length: 1000")))
	p.dripped(50, headTime+allowedTime, reply.endedWithTheReason, strings.NewReader(head("PATCH", "/v1/nodes/x", "Content-Length: 1000")))
}

func shortBody(p *program) {
	const after = headTime + allowedTime
	answer, err := p.say(after+grace, strings.NewReader(head("POST", "/resource_providers", "Content-Length: 1000")+`{"name": "x"}`))
	p.wantEnded(after, reply.endedWithTheReason, answer, err)
}

// dripped starts several requests in parallel, continues them with one byte per second, and checks
// that each ends within its timeout. The server serves other requests during that time.
func (p *program) dripped(times int, after time.Duration, ended func(reply, error) error, begin *strings.Reader) {
	p.t.Helper()
	text, err := io.ReadAll(begin)
	if err != nil {
		p.t.Fatal(err)
	}
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() {
		p.expect(http.StatusOK, `"resource_providers"`, strings.NewReader(head("GET", "/resource_providers")))
	})
	atOnce(times, func() {
		answer, err := p.say(after+grace, bytes.NewReader(text), drip{time.Second, p.t.Context()})
		p.wantEnded(after, ended, answer, err)
	})
}

// manyGroups requests ten thousand groups on a tree with sixteen devices of 1000. With a short
// timeout each query may return a timeout, depending on the machine. With a long timeout each query
// has one correct response.
func manyGroups(p *program) {
	patient := newProgram(p.t, "--request-timeout="+time.Minute.String(), "--allocation-candidates-max-combinations=200000", "--log-level=error")
	patient.furnishTree()
	for name, question := range map[string]struct {
		policy string
		group  func(int) string
		status int
		text   string
	}{
		"equal, any device":         {"none", sameGroup, http.StatusBadRequest, "more than 200000 combinations of providers would have to be tried"},
		"equal, a device for each":  {"isolate", sameGroup, http.StatusOK, noCandidates},
		"more than all have":        {"none", otherGroup, http.StatusOK, noCandidates},
		"others, a device for each": {"isolate", otherGroup, http.StatusOK, noCandidates},
	} {
		query := []string{"group_policy=" + question.policy}
		for i := range 10_000 {
			query = append(query, question.group(i+1))
		}
		said := head("GET", "/allocation_candidates?"+strings.Join(query, "&"))
		for _, asked := range []*program{patient, p} {
			answer, err := asked.say(time.Minute+grace, strings.NewReader(said))
			if err == nil {
				err = answer.wellFormed()
			}
			overdue := asked == p && err == nil && answer.overdue()
			if err != nil || !overdue && (answer.StatusCode != question.status || !strings.Contains(answer.body, question.text)) {
				p.t.Errorf("%s: after %s: %v, %d %.600q", name, answer.took, err, answer.StatusCode, answer.body)
			}
		}
	}
	patient.wantSmall()
}

const noCandidates = `{"allocation_requests":[],"provider_summaries":{}}`

func sameGroup(i int) string { return fmt.Sprintf("resources%d=VGPU:1", i) }

func otherGroup(i int) string { return fmt.Sprintf("resources%d=VGPU:%d", i, i%900+1) }

func longQuery(p *program) {
	for _, path := range []string{"/resource_providers", "/allocation_candidates", "/v1/nodes", "/docs"} {
		p.refused(http.StatusRequestHeaderFieldsTooLarge, tooLargeHead, strings.NewReader(head("GET", path+"?name="+strings.Repeat("x", 1<<20))))
	}
	// The server reads a query up to the maximum size.
	p.expect(http.StatusBadRequest, "Invalid query string parameters: Additional properties are not allowed ('a' was unexpected)",
		strings.NewReader(head("GET", "/resource_providers?"+strings.Repeat("a=1&", 50_000))))
}

const tooLargeHead = "431 Request Header Fields Too Large"

// hugeIntegers sends numbers beyond 64 bits. As in OpenStack Placement, a number that rounds to an
// integer is valid, and an overflow is the maximum.
func hugeIntegers(p *program) {
	const root = "/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001/inventories"
	digits := strings.Repeat("9", 1_000_000)
	for _, one := range []struct {
		number string
		status int
		text   string
	}{
		{digits, http.StatusConflict, "resource provider generation conflict"},
		{"-" + digits, http.StatusConflict, "resource provider generation conflict"},
		{"1e" + digits[:9], http.StatusConflict, "resource provider generation conflict"},
		{digits + ".5", http.StatusConflict, "resource provider generation conflict"},
		{"1e-" + digits[:9], http.StatusOK, `{"resource_provider_generation":1,"inventories":{}}`},
		{"0." + digits, http.StatusOK, `{"resource_provider_generation":2,"inventories":{}}`},
	} {
		p.expect(one.status, one.text, withBody("PUT", root, fmt.Appendf(nil, `{"resource_provider_generation": %s, "inventories": {}}`, one.number))...)
		p.expect(http.StatusBadRequest, "is not of type 'string'", withBody("POST", "/v1/nodes", fmt.Appendf(nil, `{"driver": %s}`, one.number))...)
	}
	for query, text := range map[string]string{
		"/allocation_candidates?resources=VGPU:":         "Requested resource VGPU expected positive integer amount. Got: 999",
		"/v1/nodes?limit=":                               "Invalid value '999",
		"/allocation_candidates?resources=VGPU:1&limit=": "Invalid query string parameters: '999",
	} {
		answer := p.expect(http.StatusBadRequest, text, strings.NewReader(head("GET", query+digits[:200_000]+"x")))
		if len(answer.body) > 1<<20 {
			p.t.Errorf("%s: %d bytes", query, len(answer.body))
		}
	}
}

func noText(p *program) {
	for target, text := range map[string]string{
		"/resource_providers/%00": "404 No resource provider with uuid \ufffd found", "/resource_providers/%ff": "404 No resource provider with uuid \ufffd found",
		"/traits/%00": "404 No such trait(s): \ufffd.", "/resource_classes/%c3%28": "404 No such resource class \ufffd(.",
		"/%00":                         "404 The resource could not be found.",
		"/resource_providers?name=%ff": `400 the value of parameter \"name\" is not UTF-8`, "/resource_providers?name=\xff": `400 the value of parameter \"name\" is not UTF-8`,
		"/resource_providers?name=%00": `400 parameter \"name\" contains the NUL character (%00)`, "/resource_providers?%ff=1": "400 a parameter name is not UTF-8",
		"/allocation_candidates?resources=%00:1": `400 parameter \"resources\" contains the NUL character (%00)`,
		"/usages?project_id=%00":                 `400 parameter \"project_id\" contains the NUL character (%00)`,
		// An invalid node name is an error, as opposed to a missing node.
		"/v1/nodes/%00": "400 Expected a logical name or UUID but received \ufffd.", "/v1/nodes/%ff": "400 Expected a logical name or UUID but received \ufffd.",
		"/v1/nodes?owner=%00": `400 parameter \\\"owner\\\" contains the NUL character (%00)`, "/v1/nodes?owner=%ff": `400 the value of parameter \\\"owner\\\" is not UTF-8`,
	} {
		status, words := http.StatusBadRequest, text[4:]
		if strings.HasPrefix(text, "404") {
			status = http.StatusNotFound
		}
		p.expect(status, words, strings.NewReader(head("GET", target)))
	}
	for name, text := range map[string]string{
		"a\\u0000b": "a string contains the NUL character (", "\xff": "the body is not UTF-8: invalid byte at position",
		"\\ud800": "a string contains half of a surrogate pair (", "\x00": "unexpected character '",
	} {
		p.expect(http.StatusBadRequest, "Malformed JSON: "+text, withBody("POST", "/resource_providers", []byte(`{"name": "`+name+`"}`))...)
		p.expect(http.StatusBadRequest, "Malformed JSON: "+text, withBody("POST", "/v1/nodes", []byte(`{"driver": "manual-management", "name": "`+name+`"}`))...)
	}
	p.refused(http.StatusBadRequest, "400 Bad Request", strings.NewReader(head("GET", "/resource_providers", "X-Odd: a\x00b")))
	p.expect(http.StatusOK, `"resource_providers"`, strings.NewReader(head("GET", "/resource_providers", "X-Odd: \xff\xfe")))
}

func manyHeaders(p *program) {
	var flood strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&flood, "X-%d: y\r\n", i)
	}
	p.refused(http.StatusRequestHeaderFieldsTooLarge, tooLargeHead, strings.NewReader(head("GET", "/resource_providers", strings.TrimSpace(flood.String()))))
	p.refused(http.StatusRequestHeaderFieldsTooLarge, tooLargeHead, strings.NewReader(head("GET", "/", "X-Long: "+strings.Repeat("y", 1<<20))))
	few := strings.TrimSpace(strings.Repeat("OpenStack-API-Version: placement 1.39\r\nAccept: application/json;q=0.1,c/d\r\nForwarded: for=1.2.3.4\r\nX-Trash: reader,reader\r\n", 1500))
	p.expect(http.StatusOK, `"resource_providers"`, strings.NewReader(head("GET", "/resource_providers", few)))
}

// endless sends a query that without a limit would have 16^8 candidates. With a limit the query is
// valid.
func endless(p *program) {
	query := "/allocation_candidates?group_policy=none"
	for i := range 8 {
		query += fmt.Sprintf("&resources%d=VGPU:%d", i+1, i+1)
	}
	for range 4 {
		answer := p.expect(http.StatusBadRequest, "more than 200000 combinations of providers would have to be tried, which is the setting allocation-candidates-max-combinations",
			strings.NewReader(head("GET", query)))
		p.t.Logf("rejected after %s", answer.took)
	}
	answer := p.expect(http.StatusOK, `"allocation_requests":[{`, strings.NewReader(head("GET", query+"&limit=1000")))
	p.t.Logf("response with a limit after %s", answer.took)
}

func notHTTP(p *program) {
	for name, one := range map[string]struct{ said, words string }{
		"no request line":          {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", ""},
		"a percent that is none":   {head("GET", "/resource_providers/%zz"), ""},
		"two lengths":              {head("POST", "/resource_providers", "Content-Length: 3", "Content-Length: 4") + "abcd", ""},
		"a length that is none":    {head("POST", "/resource_providers", "Content-Length: -1"), ""},
		"two hosts":                {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", ""},
		"no host":                  {"GET / HTTP/1.1\r\n\r\n", ": missing required Host header"},
		"a space in the target":    {head("GET", "/resource providers"), ""},
		"a space before the colon": {head("GET", "/", "X-A : b"), ": invalid header name"},
	} {
		p.t.Run(name, func(t *testing.T) {
			mine := *p
			mine.t = t
			mine.refused(http.StatusBadRequest, "400 Bad Request"+one.words, strings.NewReader(one.said))
		})
	}
	p.refused(http.StatusNotImplemented, "Unsupported transfer encoding",
		strings.NewReader(head("POST", "/resource_providers", "Transfer-Encoding: gzip, chunked")))
	p.refused(http.StatusHTTPVersionNotSupported, "505 HTTP Version Not Supported: unsupported protocol version",
		strings.NewReader("GET / HTTP/3.0\r\nHost: berth\r\n\r\n"))
}
