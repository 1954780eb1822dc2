package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/identity/policy"
)

// exampleDocument is the part of a document with the examples of requests.
type exampleDocument struct {
	Paths      map[string]map[string]*exampleOperation
	Components struct{ Parameters map[string]exampleParam }
}

type exampleOperation struct {
	ID          string `json:"operationId"`
	Parameters  []exampleParam
	RequestBody struct {
		Content map[string]struct{ Example json.RawMessage }
	}
}

type exampleParam struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
	Explode  *bool
	Example  any
}

// needed are the parameters without which an operation or the example of a parameter is invalid, as the descriptions
// state. The names are those of the operation and of the parameter.
var needed = map[string]url.Values{
	"candidate-list":    {"resources": {"VCPU:2"}},
	"node-validate-any": {"node": {"rack-7"}},

	"candidate-list required":      {"resources": {"VCPU:2"}},
	"candidate-list member_of":     {"resources": {"VCPU:2"}},
	"candidate-list in_tree":       {"resources": {"VCPU:2"}},
	"candidate-list limit":         {"resources": {"VCPU:2"}},
	"candidate-list group_policy":  {"resources": {"VCPU:2"}},
	"candidate-list root_required": {"resources": {"VCPU:2"}},
	"candidate-list same_subtree":  {"resources_CPU": {"VCPU:2"}, "resources_NET": {"SRIOV_NET_VF:1"}, "group_policy": {"none"}},
	"candidate-list groups":        {"resources": {"VCPU:2"}},

	"candidate-list root_member_of": {"resources": {"VCPU:2"}},
	"candidate-list not_in_tree":    {"resources": {"VCPU:2"}},
	"candidate-list isolate":        {"resources_NET1": {"SRIOV_NET_VF:1"}, "resources_NET2": {"SRIOV_NET_VF:1"}},
	"candidate-list can_split":      {"resources": {"VCPU:2,MEMORY_MB:2048"}},
	"candidate-list order":          {"resources": {"VCPU:2"}},
	"candidate-list limit_per_tree": {"resources": {"VCPU:2"}},
	"candidate-list explain":        {"resources": {"VCPU:2"}},

	"capacity-show limit":     {"group_by": {"tree"}},
	"capacity-show marker":    {"group_by": {"tree"}},
	"capacity-show aggregate": {"group_by": {"aggregate"}},
	"capacity-show group_by":  {"aggregate": {"a99e0000-0000-4000-8000-000000000001"}},
}

// unsendable are the examples, or operations with all of their examples, that no cloud of the test accepts.
var unsendable = []string{
	"event-watch",                  // the response has no end
	"explanation-show",             // the id is that of an earlier response
	"node-update reset_interfaces", // belongs to a patch of the driver
}

// TestOpenAPI_Examples_SucceedWhenSent sends each request of the documents with its examples: once with the required
// parameters, and once more with each optional parameter. Each request has a cloud of its own, with what the examples
// name, unless it only reads.
func TestOpenAPI_Examples_SucceedWhenSent(t *testing.T) {
	t.Parallel()
	placement, baremetal := server.Table(server.Options{}), server.BaremetalTable(server.Options{})
	type documented struct {
		name    string
		headers http.Header
		build   func() ([]byte, error)
	}
	documents := []documented{
		{"placement", versioned("placement 1.39", ""), func() ([]byte, error) { return placement.Document(placement.API().Max) }},
		{"baremetal", versioned("", "1.82"), func() ([]byte, error) { return baremetal.Document(baremetal.API().Max) }},
	}
	extended := server.ExtensionDocuments()
	for i := range extended {
		if next := i + 1; next == len(extended) || extended[next].API != extended[i].API {
			headers := versioned(extended[i].Title(), "")
			documents = append(documents, documented{extended[i].Title(), headers, extended[i].Build})
		}
	}
	for _, document := range documents {
		content, err := document.build()
		if err != nil {
			t.Fatal(err)
		}
		var described exampleDocument
		if err := json.Unmarshal(content, &described); err != nil {
			t.Fatal(err)
		}
		t.Run(document.name, func(t *testing.T) {
			t.Parallel()
			sendExamples(t, document.name, &described, document.headers)
		})
	}
}

func versioned(common, ironic string) http.Header {
	headers := http.Header{"X-Auth-Token": {"admin"}, "X-Roles": {"admin,service"}}
	if common != "" {
		headers.Set(commonHeader, common)
	}
	if ironic != "" {
		headers.Set("X-OpenStack-Ironic-API-Version", ironic)
	}
	return headers
}

// sendExamples sends the requests of one document.
func sendExamples(t *testing.T, name string, document *exampleDocument, headers http.Header) {
	t.Helper()
	reading := newExampleCloud(t, name, headers)
	dbtest.TurnRecordOn(t, reading.DB)
	reading.fill("")
	reading.numberEvents()
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for method, op := range document.Paths[path] {
			cloud := func() *exampleCloud {
				if method == "get" {
					return reading
				}
				made := newExampleCloud(t, name, headers)
				made.fill(op.ID)
				return made
			}
			cloud().send(op, method, path, nil)
			for i := range op.Parameters {
				if param := &op.Parameters[i]; !param.Required && param.Ref == "" && param.In != "path" {
					cloud().send(op, method, path, param)
				}
			}
		}
	}
}

// exampleCloud is a server with what the examples name.
type exampleCloud struct {
	*servertest.Server
	t        *testing.T
	document string
	headers  http.Header
}

func newExampleCloud(t *testing.T, document string, headers http.Header) *exampleCloud {
	t.Helper()
	s := servertest.New(t, servertest.Options{StandardNames: true, Server: func(options *server.Options) {
		servertest.Baremetal("berth-1")(options)
		options.Policy, options.BaremetalPolicy = policy.New(policy.Options{}), policy.New(policy.Options{})
	}})
	return &exampleCloud{s, t, document, headers}
}

// send sends an example, with one optional parameter unless it is nil, and checks the status.
func (c *exampleCloud) send(op *exampleOperation, method, path string, optional *exampleParam) {
	c.t.Helper()
	name, query, headers := op.ID, url.Values{}, c.headers.Clone()
	if optional != nil {
		name += " " + optional.Name
	}
	if slices.Contains(unsendable, name) || slices.Contains(unsendable, op.ID) {
		return
	}
	maps.Copy(query, needed[name])
	for i := range op.Parameters {
		param := &op.Parameters[i]
		if param != optional && !param.Required {
			continue
		}
		values := param.values()
		switch param.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+param.Name+"}", url.PathEscape(fmt.Sprint(param.Example)))
		case "header":
			headers[http.CanonicalHeaderKey(param.Name)] = values[param.Name]
		default:
			maps.Copy(query, values)
		}
	}
	body := ""
	for mediaType, content := range op.RequestBody.Content {
		headers.Set("Content-Type", mediaType)
		body = string(content.Example)
	}
	if encoded := query.Encode(); encoded != "" {
		path += "?" + encoded
	}
	if answer := c.request(method, path, body, headers); answer.Code >= http.StatusBadRequest {
		c.t.Errorf("%s: %s %s %s: status %d: %s", name, strings.ToUpper(method), path, body, answer.Code, answer.Body)
	}
}

// values returns the query parameters of an example: several for a list or an object whose members are parameters.
func (p *exampleParam) values() url.Values {
	switch example := p.Example.(type) {
	case []any:
		made := url.Values{}
		for _, value := range example {
			made.Add(p.Name, fmt.Sprint(value))
		}
		return made
	case map[string]any:
		made := url.Values{}
		for name, value := range example {
			made.Set(name, fmt.Sprint(value))
		}
		return made
	}
	return url.Values{p.Name: {fmt.Sprint(p.Example)}}
}

// numberEvents makes the newest event the one that the examples name: a record that is so long has dropped those between.
func (c *exampleCloud) numberEvents() {
	c.t.Helper()
	for _, statement := range []string{`SELECT history_step(true)`, `UPDATE history_state SET newest = 41822`} {
		if _, err := c.DB.Pool.Exec(c.t.Context(), statement); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *exampleCloud) request(method, path, body string, headers http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(strings.ToUpper(method), path, strings.NewReader(body))
	r.Header = headers
	w := httptest.NewRecorder()
	c.Handler.ServeHTTP(w, r)
	return w
}

// must sends a request that prepares the cloud.
func (c *exampleCloud) must(method, path, body string) {
	c.t.Helper()
	headers := versioned("placement 1.39", "1.82")
	if strings.HasPrefix(path, "/v1") {
		headers.Set(commonHeader, "baremetal 1.82, berth 1.2")
	}
	headers.Set("Content-Type", "application/json")
	if answer := c.request(method, path, body, headers); answer.Code >= http.StatusBadRequest {
		c.t.Fatalf("%s %s: status %d: %s", method, path, answer.Code, answer.Body)
	}
}
