package badinput

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/wire/request"
)

// message is one request.
type message struct {
	of      operation
	method  string
	target  string
	headers [][2]string
	body    []byte
	chunked bool
	// scene are the steps before the request.
	scene []step
}

// administrator is the token of most requests.
const administrator = "admin"

// sentBy gives each sender a user of its own, because the number of questions about capacity that a user may have running
// is limited.
func (m *message) sentBy(sender int) {
	for i, header := range m.headers {
		if header == [2]string{"X-Auth-Token", administrator} {
			m.headers[i][1] = fmt.Sprintf("sender-%d", sender)
		}
	}
}

// oddTexts are unusual texts for paths, queries and headers.
var oddTexts = []string{
	"", " ", "0", "-1", "00", "1e3", "2147483648", "99999999999999999999999999", "1.5", "NaN", "None", "null", "true", "\x00", "a\x00b", "\xff", "\xc3(",
	"\xed\xa0\x80", "é", "٣", "’", "%", "'", `"`, "' OR 1=1 --", "; DROP TABLE x", "$1", "{}", "[]", "in:", "!in:", "!", ",", ",,", ":", "VCPU", "VCPU:",
	"VCPU:0", "VCPU:-1", "VCPU:99999999999999999999", "VCPU:1,VCPU:1", "in:VCPU,!VCPU", "!in:A,B", "PONY:1", "..", "../..", ".", "//", "a/b", "*",
	"c0ffee00-5ca1-4b1e-8000", "{c0ffee00-5ca1-4b1e-8000-000000000001}", "urn:uuid:c0ffee00-5ca1-4b1e-8000-000000000001",
	strings.Repeat("x", 256), strings.Repeat("A", 5000), strings.Repeat("VCPU:1,", 300), strings.Repeat("é", 700),
}

// oddEscapes are escape sequences that a target contains unchanged.
var oddEscapes = []string{"%zz", "%", "%f", "%00", "%ff", "%c3%28", "%2f", "%2e%2e", "%u0041", "&&", "==", "&=", ";", "#", "%25%30%30", "?", "+", "%26a=1"}

// named are the possible values of each path parameter.
var named = map[string][]string{
	"{uuid}": providers, "{consumer_uuid}": consumers, "{resource_class}": {"VCPU", "MEMORY_MB", "CUSTOM_BAREMETAL"},
	"{name}": {"CUSTOM_GOLD", "CUSTOM_BAREMETAL", "VCPU", "HW_CPU_X86_VMX"}, "{trait}": {"CUSTOM_GOLD", "HW_CPU_X86_VMX"},
	"{node}": append([]string{"rack-1", "rack-7"}, nodes...), "{port}": ports, "{allocation}": {"instance-1", "web-1", consumers[0], consumers[1]},
	"{hostname}": conductors, "{driver}": drivers,
	"{request_id}": {"req-6b6837d1-5af3-4138-b4ed-e0275c3efda4", "req-6b6837d1", "6b6837d1-5af3-4138-b4ed-e0275c3efda4"},
}

var placeholder = regexp.MustCompile(`\{[^}]+\}`)

// make creates a request of an operation: a valid one, most often with mistakes. A request with a scene uses the
// resources of the scene. Other senders do not use them, so that the scene can be created again.
func (d dice) make(of operation) message {
	m := message{of: of, method: of.method}
	m.body, m.scene = d.body(of)
	path := placeholder.ReplaceAllStringFunc(of.path, func(name string) string {
		switch {
		case m.scene != nil:
			return url.PathEscape(named[name][0])
		case d.chance(12):
			return d.escaped(pick(d, oddTexts))
		case d.chance(15):
			return url.PathEscape(pick(d, [][]string{ids, words}[d.IntN(2)]))
		}
		return url.PathEscape(pick(d, named[name]))
	})
	m.target = path
	if query := d.query(of); query != "" {
		m.target += "?" + query
	}
	if d.chance(2) {
		at := d.IntN(len(m.target)) + 1
		m.target = m.target[:at] + pick(d, oddEscapes) + m.target[at:]
	}
	m.headers = d.headers(of, len(m.body) > 0)
	m.chunked = d.chance(5)
	if d.chance(3) {
		m.method = pick(d, []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE", "get", "A-B"})
	}
	return m
}

func (d dice) escaped(text string) string {
	escaped := url.PathEscape(text)
	if d.chance(20) {
		escaped += pick(d, oddEscapes)
	}
	return escaped
}

// query returns parameters, some of them missing, repeated or invalid.
func (d dice) query(of operation) string {
	var pairs []string
	for _, param := range of.params {
		if param.In != "query" || !param.Required && d.chance(65) {
			continue
		}
		if members, ok := param.Example.(map[string]any); ok { // each member is a parameter
			for _, name := range slices.Sorted(maps.Keys(members)) {
				pairs = append(pairs, d.pair(name, func() string { return fmt.Sprint(members[name]) }))
			}
			continue
		}
		for range 1 + d.IntN(12)/10 {
			pairs = append(pairs, d.pair(param.Name, func() string {
				if d.chance(45) && param.Example != nil {
					return strings.Trim(fmt.Sprint(param.Example), "[]")
				}
				value := d.member(param.Name, valueOf(param.Schema), 1)
				if list, ok := value.([]any); ok && len(list) > 0 {
					value = list[0]
				}
				return fmt.Sprint(value)
			}))
		}
	}
	if of.path == "/allocation_candidates" {
		for range d.IntN(4) {
			suffix := pick(d, []string{"1", "2", "_A", "_B", "_" + strings.Repeat("s", 70), "-", "_é"})
			name := pick(d, []string{"resources", "resources", "required", "member_of", "in_tree"})
			pairs = append(pairs, d.pair(name+suffix, func() string { return pick(d, []string{"VCPU:1", "MEMORY_MB:16", "CUSTOM_GOLD", ids[0]}) }))
		}
	}
	if d.chance(8) {
		pairs = append(pairs, pick(d, []string{"pony=1", "=", "&", "limit", "a[]=1", "%00=%00", "fields=", "\xff=1"}))
	}
	d.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	return strings.Join(pairs, "&")
}

func (d dice) pair(name string, valid func() string) string {
	if d.chance(18) {
		if d.chance(10) {
			return url.QueryEscape(name) + "=" + pick(d, oddEscapes)
		}
		return url.QueryEscape(name) + "=" + url.QueryEscape(pick(d, oddTexts))
	}
	return url.QueryEscape(name) + "=" + url.QueryEscape(valid())
}

// body returns the body of a request: usually none if the document has none. A body from the
// example has the scene of the example.
func (d dice) body(of operation) (body []byte, scene []step) {
	if of.body == nil && !d.chance(3) || d.chance(2) {
		return nil, nil
	}
	value, scene := of.example, scenes[of.name()]
	if d.chance(60) || value == nil {
		value, scene = d.valid(of.body, 0), nil
	}
	mistakes := d.IntN(3)
	for range mistakes {
		value = d.spoil(value)
	}
	var text bytes.Buffer
	write(&text, value)
	if d.chance(12) {
		return d.spoilText(text.Bytes()), scene
	}
	return text.Bytes(), scene
}

var oddVersions = []string{
	"", "latest", "1", "1.", ".1", "1.999", "0.9", "2.0", "-1.2", "1.1.1", "1.0x", "one", "1.39\x7f", "placement", "compute 2.1", "placement latest, baremetal latest",
	"placement 99999999999999999999.1", "placement 1.39, berth 1.99", "placement 1.36, berth 1.1", "berth latest", "berth \xff", strings.Repeat("placement 1.1,", 400), "placement 1.\xff",
}

func (d dice) headers(of operation, hasBody bool) (made [][2]string) {
	name, own := "OpenStack-API-Version", "placement "+of.version
	if of.api == request.Baremetal {
		own = "baremetal " + of.version
		if d.chance(50) {
			name, own = "X-OpenStack-Ironic-API-Version", of.version
		}
	}
	if d.chance(5) {
		own = pick(d, oddVersions)
	}
	made = append(made, [2]string{name, own})
	token, roles := administrator, "admin,service"
	if d.chance(3) {
		token, roles = pick(d, []string{"", "bob:p", ":", "\xff", strings.Repeat("t", 5000)}), pick(d, []string{"", "reader", ",,", "admin,service"})
	}
	made = append(made, [2]string{"X-Auth-Token", token}, [2]string{"X-Roles", roles})
	if d.chance(6) {
		made = append(made, [2]string{"Accept", pick(d, []string{"text/html", "text/plain", "application/xml", "*/*;q=0", "a", "application/json;q=x", ",", "text/html, application/json", "\xff/\xff"})})
	}
	if hasBody && !d.chance(2) {
		kind := "application/json"
		if d.chance(5) {
			kind = pick(d, []string{"text/plain", "application/xml", "application/json; charset=utf-16", "application/json;", "APPLICATION/JSON", "", "a", "application/json-patch+json", "multipart/form-data"})
		}
		made = append(made, [2]string{"Content-Type", kind})
	}
	if d.chance(5) {
		made = append(made, pick(d, [][2]string{
			{"X-Forwarded-Host", "evil.example\"<script>"}, {"Forwarded", `for="[::1";host=x;proto=javascript`}, {"X-Forwarded-Prefix", "//evil/.."},
			{"Origin", "null"}, {"Content-Encoding", "gzip"}, {"If-None-Match", "*"}, {"Expect", "200-maybe"}, {"Range", "bytes=0-0"}, {"X-HTTP-Method-Override", "DELETE"},
			{"X-Openstack-Request-Id", "req-\"x"}, {"Traceparent", "00-zz-0-0"}, {"Cookie", strings.Repeat("a=b;", 500)}, {"OpenStack-API-Version", "placement 1.1"},
		}))
	}
	return made
}

// wire returns the bytes of the request.
func (m *message) wire() []byte {
	var to bytes.Buffer
	fmt.Fprintf(&to, "%s %s HTTP/1.1\r\nHost: berth.example\r\n", m.method, m.target)
	for _, header := range m.headers {
		fmt.Fprintf(&to, "%s: %s\r\n", header[0], header[1])
	}
	switch {
	case m.chunked && len(m.body) > 0:
		fmt.Fprintf(&to, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(m.body), m.body)
	case len(m.body) > 0:
		fmt.Fprintf(&to, "Content-Length: %d\r\n\r\n%s", len(m.body), m.body)
	default:
		to.WriteString("\r\n")
	}
	return to.Bytes()
}

// curl returns a command that sends the request to a server on this machine.
func (m *message) curl() string {
	command := []string{"curl", "-sS", "-i", "--path-as-is", "--globoff", "-X", shell(m.method)}
	for _, header := range m.headers {
		if header[1] == "" {
			command = append(command, "-H", shell(header[0]+";"))
			continue
		}
		command = append(command, "-H", shell(header[0]+": "+header[1]))
	}
	if m.chunked {
		command = append(command, "-H", "'Transfer-Encoding: chunked'")
	}
	if len(m.body) > 0 {
		command = append(command, "--data-binary", shell(string(m.body)))
	}
	return strings.Join(append(command, "http://127.0.0.1:8778"+shell(m.target)), " ")
}

// shell quotes an argument for bash. It shows a NUL, which arguments cannot contain.
func shell(text string) string {
	quoted := strconv.QuoteToASCII(text)
	if quoted == `"`+text+`"` && !strings.Contains(text, "'") {
		return "'" + text + "'"
	}
	var to strings.Builder
	to.WriteString("$'")
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '\\':
			to.WriteString(`\` + string(rune(c)))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&to, `\x%02x`, c)
		default:
			to.WriteByte(c)
		}
	}
	return to.String() + "'"
}
