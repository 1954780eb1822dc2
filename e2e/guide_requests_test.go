//go:build client

package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// httpBlock is the requests of the commands above it in a page.
var httpBlock = regexp.MustCompile("(?ms)^```http\n(.*?)^```$")

// candidateProxy is a proxy between the commands of a page and a server. It records the queries of allocation
// candidates and the claims that `berth` sends, and not those of curl, which the page shows already.
type candidateProxy struct {
	url     string
	mutex   sync.Mutex
	queries []string
}

func newCandidateProxy(t *testing.T, address string) *candidateProxy {
	t.Helper()
	p := &candidateProxy{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			if strings.HasPrefix(r.In.UserAgent(), "curl/") {
				return
			}
			switch r.In.URL.Path {
			case "/allocation_candidates":
				p.record(r.In)
			case "/claims":
				p.recordBody(t, r)
			}
		},
		// The page waits for its server, which refuses connections until it listens.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(proxy.Close)
	p.url = proxy.URL
	return p
}

// recordBody records a request with its body.
func (p *candidateProxy) recordBody(t *testing.T, r *httputil.ProxyRequest) {
	body, err := io.ReadAll(r.In.Body)
	if err != nil {
		t.Error(err)
	}
	r.Out.Body = io.NopCloser(bytes.NewReader(body))
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.queries = append(p.queries, r.In.Method+" "+r.In.URL.Path+"\n"+string(body)+"\n")
}

func (p *candidateProxy) record(r *http.Request) {
	query, err := url.QueryUnescape(r.URL.RawQuery)
	if err != nil {
		query = err.Error()
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.queries = append(p.queries, r.Method+" "+r.URL.Path+"?"+query+"\n")
}

// compare checks that the blocks of a page marked http are the recorded requests, in their order. With -update it writes
// the requests into the blocks. A block has a line for each request of the commands above it, and at least one.
func (p *candidateProxy) compare(t *testing.T, page string) {
	t.Helper()
	text := readText(t, page)
	sent := p.queries
	var written strings.Builder
	done := 0
	for _, at := range httpBlock.FindAllStringSubmatchIndex(text, -1) {
		from, to := at[2], at[3]
		commands := text[strings.LastIndex(text[:from], "```sh\n"):from]
		count := min(strings.Count(commands, "berth candidate list")+strings.Count(commands, "berth claim")+
			strings.Count(commands, "berth explain"), len(sent))
		written.WriteString(text[done:from] + strings.Join(sent[:count], ""))
		sent, done = sent[count:], to
	}
	written.WriteString(text[done:])
	switch {
	case len(sent) > 0:
		t.Errorf("%s has no block for the requests\n%s", page, strings.Join(sent, ""))
	case *update:
		if err := os.WriteFile(page, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	case written.String() != text:
		t.Errorf("requests of %s = \n%s\nwant those of its blocks", page, strings.Join(p.queries, ""))
	}
}
