package badinput

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAHostileClientCostsBoundedTimeAndMemory sends what is meant to hurt over TCP to
// the program as it is installed. Everything ends in time and in an answer that says
// why, or in what net/http says before a handler is asked; the process stays small and
// serves others meanwhile.
func TestAHostileClientCostsBoundedTimeAndMemory(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "--request-timeout="+allowedTime.String(), "--candidate-budget=200000", "--log-level=error")
	p.furnishTree()
	t.Run("", func(t *testing.T) {
		for name, test := range hostile {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mine := *p
				mine.t = t
				mine.ended = &counted{}
				test(&mine)
				if len(mine.ended.times) > 0 {
					t.Logf("ended with %v", mine.ended.times)
				}
			})
		}
	})
	if peak := p.peak(); peak > mostMemory {
		t.Errorf("the process has had %d MB", peak>>20)
	} else {
		t.Logf("the process has had %d MB at most", peak>>20)
	}
	p.expect(http.StatusOK, "", strings.NewReader(head("GET", "/resource_providers")))
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

// expect says a request and wants a status and a text, within the time that a request
// may take, and some.
func (p *program) expect(status int, text string, parts ...io.Reader) reply {
	p.t.Helper()
	answer, err := p.say(time.Minute, parts...)
	if err != nil {
		p.t.Errorf("no answer after %s: %v", answer.took, err)
		return answer
	}
	if answer.StatusCode != status || !strings.Contains(answer.body, text) {
		p.t.Errorf("status %d and %.600q, want %d and %q", answer.StatusCode, answer.body, status, text)
	}
	if leak := inside.FindString(answer.body); leak != "" && answer.StatusCode >= http.StatusBadRequest {
		p.t.Errorf("the answer tells %q: %.600q", leak, answer.body)
	}
	return answer
}

// furnishTree makes a tree with sixteen devices on which eight groups have 16^8 ways.
func (p *program) furnishTree() {
	const root = "c0ffee00-5ca1-4b1e-8000-000000000001"
	p.expect(http.StatusOK, "", withBody("POST", "/resource_providers", fmt.Appendf(nil, `{"name": "root", "uuid": %q}`, root))...)
	for i := range 16 {
		id := fmt.Sprintf("c0ffee00-5ca1-4b1e-8000-0000000001%02d", i)
		p.expect(http.StatusOK, "", withBody("POST", "/resource_providers",
			fmt.Appendf(nil, `{"name": "device-%d", "uuid": %q, "parent_provider_uuid": %q}`, i, id, root))...)
		p.expect(http.StatusOK, "", withBody("PUT", "/resource_providers/"+id+"/inventories",
			[]byte(`{"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 1000}}}`))...)
	}
}

func nesting(p *program) {
	for _, path := range []string{"/resource_providers", "/allocations", "/reshaper", "/v1/nodes", "/v1/allocations"} {
		for _, opening := range []string{"[", `{"a":`, `{"allocations":[`} {
			body := []byte(strings.Repeat(opening, 1_000_000))
			p.expect(http.StatusBadRequest, "", withBody("POST", path, body)...)
		}
	}
}

func hugeBody(p *program) {
	const size = 100 << 20
	for _, path := range []string{"/resource_providers", "/v1/nodes"} {
		p.expect(http.StatusRequestEntityTooLarge, "16777216",
			strings.NewReader(head("POST", path, fmt.Sprint("Content-Length: ", size))), forever(size, false))
		p.expect(http.StatusRequestEntityTooLarge, "16777216",
			strings.NewReader(head("POST", path, "Transfer-Encoding: chunked")), forever(size, true))
	}
	// What nobody reads is not read either: the answer comes at once.
	p.expect(http.StatusNotFound, "", strings.NewReader(head("POST", "/ponies", fmt.Sprint("Content-Length: ", size))), forever(size, false))
}

// atOnce runs something many times at once.
func atOnce(times int, run func()) {
	var all sync.WaitGroup
	for range times {
		all.Go(run)
	}
	all.Wait()
}

func slowHead(p *program) {
	p.wantEnd(200, headTime, strings.NewReader("GET /resource_providers HTTP/1.1\r\nHost: berth\r\nX-Slow: "))
}

func slowBody(p *program) {
	p.wantEnd(200, headTime+allowedTime, strings.NewReader(head("POST", "/resource_providers", "Content-Length: 1000")))
	p.wantEnd(50, headTime+allowedTime, strings.NewReader(head("PATCH", "/v1/nodes/x", "Content-Length: 1000")))
}

func shortBody(p *program) {
	answer, err := p.say(headTime+allowedTime+20*time.Second, strings.NewReader(head("POST", "/resource_providers", "Content-Length: 1000")+`{"name": "x"}`))
	p.wantEnded(answer, err)
}

// wantEnd begins a request many times at once, goes on with a byte a second, and wants
// each to be ended in time. Others are served meanwhile.
func (p *program) wantEnd(times int, within time.Duration, begin *strings.Reader) {
	p.t.Helper()
	text, err := io.ReadAll(begin)
	if err != nil {
		p.t.Fatal(err)
	}
	go p.expect(http.StatusOK, "", strings.NewReader(head("GET", "/resource_providers")))
	atOnce(times, func() {
		answer, err := p.say(within+20*time.Second, bytes.NewReader(text), drip{time.Second, p.t.Context()})
		p.wantEnded(answer, err)
	})
}

// wantEnded: the connection was ended, with an error for the client or without a word.
func (p *program) wantEnded(answer reply, err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.t.Errorf("the connection was open for %s", answer.took)
	case err == nil && (answer.StatusCode != http.StatusBadRequest || !strings.Contains(answer.body, "The request's body could not be read to its end.")):
		p.t.Errorf("status %d after %s: %.300q", answer.StatusCode, answer.took, answer.body)
	case err == nil:
		p.ended.count(fmt.Sprint(answer.StatusCode))
	default:
		p.ended.count("no word")
	}
}

// counted is how often what happened.
type counted struct {
	mutex sync.Mutex
	times map[string]int
}

func (c *counted) count(what string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.times == nil {
		c.times = map[string]int{}
	}
	c.times[what]++
}

func manyGroups(p *program) {
	for name, group := range map[string]func(int) string{
		"equal":     func(i int) string { return fmt.Sprintf("resources%d=VGPU:1", i) },
		"different": func(i int) string { return fmt.Sprintf("resources%d=VGPU:%d", i, i%900+1) },
	} {
		for _, policy := range []string{"none", "isolate"} {
			query := []string{"group_policy=" + policy}
			for i := range 10_000 {
				query = append(query, group(i+1))
			}
			answer, err := p.say(time.Minute, strings.NewReader(head("GET", "/allocation_candidates?"+strings.Join(query, "&"))))
			if err != nil || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusBadRequest && answer.StatusCode != http.StatusServiceUnavailable {
				p.t.Errorf("%s, %s: after %s: %v, %.600q", name, policy, answer.took, err, answer.body)
				continue
			}
			p.t.Logf("%s, %s: %d after %s: %.200s", name, policy, answer.StatusCode, answer.took, answer.body)
		}
	}
}

func longQuery(p *program) {
	for _, path := range []string{"/resource_providers", "/allocation_candidates", "/v1/nodes", "/docs"} {
		p.expect(http.StatusRequestHeaderFieldsTooLarge, "", strings.NewReader(head("GET", path+"?name="+strings.Repeat("x", 1<<20))))
	}
	// As much as fits is read.
	p.expect(http.StatusBadRequest, "", strings.NewReader(head("GET", "/resource_providers?"+strings.Repeat("a=1&", 50_000))))
}

func hugeIntegers(p *program) {
	digits := strings.Repeat("9", 1_000_000)
	for _, number := range []string{digits, "-" + digits, "1e" + digits[:9], digits + ".5", "1e-" + digits[:9], "0." + digits} {
		// What rounds to an integer is one, as it was in the reference.
		answer, err := p.say(time.Minute, withBody("PUT", "/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001/inventories",
			fmt.Appendf(nil, `{"resource_provider_generation": %s, "inventories": {}}`, number))...)
		if err != nil || answer.StatusCode >= http.StatusInternalServerError || len(answer.body) > 4<<20 {
			p.t.Errorf("%.20s…: %v, status %d, %d bytes", number, err, answer.StatusCode, len(answer.body))
		}
		p.expect(http.StatusBadRequest, "", withBody("POST", "/v1/nodes", fmt.Appendf(nil, `{"driver": %s}`, number))...)
	}
	for _, query := range []string{"/allocation_candidates?resources=VGPU:", "/v1/nodes?limit=", "/allocation_candidates?resources=VGPU:1&limit="} {
		answer := p.expect(http.StatusBadRequest, "", strings.NewReader(head("GET", query+digits[:200_000]+"x")))
		if len(answer.body) > 1<<20 {
			p.t.Errorf("%s: %d bytes", query, len(answer.body))
		}
	}
}

func noText(p *program) {
	for target, status := range map[string]int{
		"/resource_providers/%00": 404, "/resource_providers/%ff": 404, "/resource_providers?name=%ff": 400, "/resource_providers?name=%00": 400,
		"/resource_providers?%ff=1": 400, "/traits/%00": 404, "/allocation_candidates?resources=%00:1": 400, "/resource_classes/%c3%28": 404,
		"/v1/nodes/%00": 404, "/v1/nodes/%ff": 404, "/v1/nodes?owner=%00": 400, "/v1/nodes?owner=%ff": 400, "/%00": 404, "/usages?project_id=%00": 400,
		"/resource_providers?name=\xff": 400,
	} {
		answer, err := p.say(time.Minute, strings.NewReader(head("GET", target)))
		if err != nil || answer.StatusCode != status && answer.StatusCode != http.StatusBadRequest && answer.StatusCode != http.StatusOK || answer.StatusCode >= 500 {
			p.t.Errorf("%q: %v, status %d, %.300q", target, err, answer.StatusCode, answer.body)
		}
	}
	for _, name := range []string{"a\\u0000b", "\xff", "\\ud800", "\x00"} {
		p.expect(http.StatusBadRequest, "", withBody("POST", "/resource_providers", []byte(`{"name": "`+name+`"}`))...)
		p.expect(http.StatusBadRequest, "", withBody("POST", "/v1/nodes", []byte(`{"driver": "manual-management", "name": "`+name+`"}`))...)
	}
	p.expect(http.StatusBadRequest, "", strings.NewReader(head("GET", "/resource_providers", "X-Odd: a\x00b")))
	p.expect(http.StatusOK, "", strings.NewReader(head("GET", "/resource_providers", "X-Odd: \xff\xfe")))
}

func manyHeaders(p *program) {
	var flood strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&flood, "X-%d: y\r\n", i)
	}
	p.expect(http.StatusRequestHeaderFieldsTooLarge, "", strings.NewReader(head("GET", "/resource_providers", strings.TrimSpace(flood.String()))))
	p.expect(http.StatusRequestHeaderFieldsTooLarge, "", strings.NewReader(head("GET", "/", "X-Long: "+strings.Repeat("y", 1<<20))))
	few := strings.TrimSpace(strings.Repeat("OpenStack-API-Version: placement 1.39\r\nAccept: application/json;q=0.1,c/d\r\nForwarded: for=1.2.3.4\r\nX-Trash: reader,reader\r\n", 1500))
	p.expect(http.StatusOK, "", strings.NewReader(head("GET", "/resource_providers", few)))
}

// endless: without a limit the answer would have 16^8 candidates. The same question
// with a limit is an ordinary one.
func endless(p *program) {
	query := "/allocation_candidates?group_policy=none"
	for i := range 8 {
		query += fmt.Sprintf("&resources%d=VGPU:%d", i+1, i+1)
	}
	for range 4 {
		answer := p.expect(http.StatusBadRequest, "more than 200000 combinations of providers would have to be tried, which is the setting candidate-budget",
			strings.NewReader(head("GET", query)))
		p.t.Logf("refused after %s", answer.took)
	}
	answer := p.expect(http.StatusOK, `"allocation_requests":[{`, strings.NewReader(head("GET", query+"&limit=1000")))
	p.t.Logf("answered with a limit after %s", answer.took)
}

func notHTTP(p *program) {
	for name, text := range map[string]string{
		"no request line":          "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
		"a percent that is none":   head("GET", "/resource_providers/%zz"),
		"two lengths":              head("POST", "/resource_providers", "Content-Length: 3", "Content-Length: 4") + "abcd",
		"a length that is none":    head("POST", "/resource_providers", "Content-Length: -1"),
		"two hosts":                "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"no host":                  "GET / HTTP/1.1\r\n\r\n",
		"a space in the target":    head("GET", "/resource providers"),
		"a space before the colon": head("GET", "/", "X-A : b"),
	} {
		answer, err := p.say(time.Minute, strings.NewReader(text))
		if err != nil || answer.StatusCode != http.StatusBadRequest || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") || len(answer.body) > 200 {
			p.t.Errorf("%s: %v, %+v", name, err, answer)
		}
	}
	p.expect(http.StatusNotImplemented, "", strings.NewReader(head("POST", "/resource_providers", "Transfer-Encoding: gzip, chunked")))
	p.expect(http.StatusHTTPVersionNotSupported, "", strings.NewReader("GET / HTTP/3.0\r\nHost: berth\r\n\r\n"))
}
