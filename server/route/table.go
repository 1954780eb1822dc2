package route

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/request"
)

// Options are what the table needs besides its operations.
type Options struct {
	// API is what operations belong to.
	API    *API
	Policy *policy.Policy
	// MaxBodyBytes limits request bodies.
	MaxBodyBytes int64
	// Tags describe the groups of operations in the documents.
	Tags []*huma.Tag
	// Schemas describe the types of bodies in the documents, by their names there.
	Schemas map[string]string
}

// Table finds the operation for a request and runs it. It is an http.Handler for
// requests whose caller and microversion are known.
type Table struct {
	api        *API
	operations []*Operation
	paths      []path
	policy     *policy.Policy
	maxBody    int64
	tags       []*huma.Tag
	schemas    map[string]string
	apis       map[microversion.Version]func() *versionAPI
}

// path is a path of the API, cut at slashes, with its operations in the order
// in which the Allow header lists them.
type path struct {
	segments   []string
	operations []*Operation
}

// New makes a table. The APIs of the microversions are built when they are first
// asked for: a server that speaks two of them need not pay for forty.
func New(operations []*Operation, options Options) *Table {
	t := &Table{
		api: options.API, operations: operations, policy: options.Policy, maxBody: options.MaxBodyBytes,
		tags: options.Tags, schemas: options.Schemas, apis: map[microversion.Version]func() *versionAPI{},
	}
	for _, op := range operations {
		segments := strings.Split(op.Path, "/")
		at := slices.IndexFunc(t.paths, func(p path) bool { return slices.Equal(p.segments, segments) })
		if at < 0 {
			at = len(t.paths)
			t.paths = append(t.paths, path{segments: segments})
		}
		t.paths[at].operations = append(t.paths[at].operations, op)
	}
	for _, version := range t.api.Versions() {
		t.apis[version] = sync.OnceValue(func() *versionAPI { return t.build(version) })
	}
	return t
}

func (t *Table) at(version microversion.Version) *versionAPI { return t.apis[t.api.Nearest(version)]() }

// API is what the table was made for.
func (t *Table) API() *API { return t.api }

// Operations lists the table, for tests and tools that must cover all of it.
func (t *Table) Operations() []*Operation { return t.operations }

// Document is the OpenAPI document of a microversion, or of the nearest lower one
// that has one.
func (t *Table) Document(version microversion.Version) ([]byte, error) {
	return t.at(version).document()
}

// Serve runs the operation for a request, or says why it does not.
func (t *Table) Serve(w http.ResponseWriter, r *http.Request) error {
	found := t.match(r)
	if found == nil {
		return fault.New(fault.NotFound, "")
	}
	version := microversion.From(r.Context())
	op := found.method(r.Method, version)
	if op == nil {
		missing := fault.New(fault.MethodNotAllowed, "")
		missing.Allow = found.allow()
		return missing
	}
	request.From(r.Context()).Operation = op.ID
	if err := op.check(r, version); err != nil {
		return err
	}
	if err := t.authorize(r, op); err != nil {
		return err
	}
	api := t.at(version)
	if t.api.StrictQuery {
		if err := t.checkQuery(op.ID, r.URL.RawQuery, version); err != nil {
			return err
		}
	}
	// huma would choose a format by this header; there is one for answers, and
	// errors choose theirs.
	r.Header.Del("Accept")
	api.handlers[op.ID](humago.NewContext(api.operations[op.ID].Operation, r, w))
	return nil
}

// match finds the path and keeps its variables in the request.
func (t *Table) match(r *http.Request) *path {
	given := strings.Split(r.URL.Path, "/")
	if r.URL.Path == "" {
		given = []string{"", ""}
	}
	for i := range t.paths {
		if t.paths[i].matches(given, r) {
			return &t.paths[i]
		}
	}
	return nil
}

// matches compares segment by segment; a variable takes any that is not empty.
func (p *path) matches(given []string, r *http.Request) bool {
	if len(given) != len(p.segments) {
		return false
	}
	for i, segment := range p.segments {
		if isVariable(segment) && given[i] == "" || !isVariable(segment) && given[i] != segment {
			return false
		}
	}
	for i, segment := range p.segments {
		if isVariable(segment) {
			r.SetPathValue(segment[1:len(segment)-1], readable(given[i]))
		}
	}
	return true
}

// readable makes a text of a segment whose escapes stood for something else.
// Nothing has such a name, so it only serves to say what was not found; the
// database could not even be asked for it.
func readable(segment string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(segment, "\uFFFD"), "\x00", "\uFFFD")
}

func isVariable(segment string) bool { return strings.HasPrefix(segment, "{") }

// method finds the operation for a method: the one that exists at the version,
// where another took over the method at some version, else the first.
func (p *path) method(name string, at microversion.Version) *Operation {
	var first *Operation
	for _, op := range p.operations {
		if op.Method != name {
			continue
		}
		if op.variant(at) != nil {
			return op
		}
		if first == nil {
			first = op
		}
	}
	return first
}

func (p *path) allow() string {
	var names []string
	for _, op := range p.operations {
		if !slices.Contains(names, op.Method) {
			names = append(names, op.Method)
		}
	}
	return strings.Join(names, ", ")
}

// check makes the operation's checks in their order.
func (op *Operation) check(r *http.Request, version microversion.Version) error {
	for _, check := range op.Checks {
		switch check {
		case Version:
			if op.variant(version) == nil {
				return op.missing()
			}
		case Accept:
			if request.From(r.Context()).Accept.Quality("application/json") == 0 {
				return fault.New(fault.NotAcceptable, "Only application/json is provided")
			}
		case JSON:
			if err := checkJSON(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing is the answer at microversions that do not have the operation.
func (op *Operation) missing() error {
	if op.MissingIsMethod {
		return fault.New(fault.MethodNotAllowed, "")
	}
	return fault.New(fault.NotFound, "")
}

// checkJSON compares the media type with regard to case, as the wire does, and
// without regard to parameters.
func checkJSON(r *http.Request) error {
	given := r.Header.Get("Content-Type")
	mediaType, _, _ := strings.Cut(given, ";")
	if strings.TrimSpace(mediaType) == "application/json" {
		return nil
	}
	if given == "" {
		given = "None"
	}
	return unsupportedMedia(given)
}

func unsupportedMedia(given string) error {
	return fault.New(fault.UnsupportedMedia, "The media type %s is not supported, use application/json", given)
}

func (t *Table) authorize(r *http.Request, op *Operation) error {
	if op.Rule == "" {
		return nil
	}
	caller := auth.From(r.Context())
	target := policy.TargetOf(caller)
	if op.Target != nil {
		target = op.Target(r)
	}
	return t.policy.Check(caller, op.Rule, target)
}
