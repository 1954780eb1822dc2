package route

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// Options are the dependencies and settings of a table.
type Options struct {
	// API is the API of the operations.
	API    *API
	Policy *policy.Policy
	// Bodies limits the size of each request body, and Budget the memory of all together; nil: no limit.
	Bodies BodyLimits
	Budget *Budget
	// Tags describe the groups of operations in the documents.
	Tags []*huma.Tag
	// Schemas are the descriptions of the types of bodies, by their names in the documents.
	Schemas map[string]string
	// KeyLifetime is how long an Idempotency-Key is stored whose request has no other lifetime; 0: 24 hours.
	KeyLifetime time.Duration
	// Begin is called before a write operation runs, after all checks. Its error replaces the response of the operation.
	// Nil: nothing is called.
	Begin func(r *http.Request) error
}

// BodyLimits are the limits of request bodies, in bytes.
type BodyLimits struct {
	// Max is the maximum size of a body. MaxOrdinary is the maximum for operations that need no large bodies; 0: the
	// same.
	Max, MaxOrdinary int64
	// Memory is the maximum memory of all bodies and their decoded forms; 0: no limit. Requests over it wait.
	Memory int64
}

// Table finds the operation of a request and runs it. It handles requests whose caller and microversion are known.
type Table struct {
	api        *API
	operations []*Operation
	paths      []path
	policy     *policy.Policy
	limits     BodyLimits
	bodies     *Budget
	tags       []*huma.Tag
	schemas    map[string]string
	begin      func(r *http.Request) error
	// keyLifetime is Options.KeyLifetime or its default.
	keyLifetime time.Duration

	building sync.Mutex // held while an operation is built
	built    *lru.Cache[servedKey, *registered]
}

// path is a path of the API, split at slashes, with its operations in the order of the Allow header.
type path struct {
	segments   []string
	operations []*Operation
}

// New returns a table. It builds the operations of a microversion when they are first requested.
func New(operations []*Operation, options Options) *Table {
	t := &Table{
		api: options.API, operations: operations, policy: options.Policy, limits: options.Bodies,
		bodies: options.Budget,
		tags:   options.Tags, schemas: options.Schemas, begin: options.Begin,
		keyLifetime: cmp.Or(options.KeyLifetime, defaultKeyLifetime),
	}
	built, err := lru.New[servedKey, *registered](maxServed)
	if err != nil {
		panic(err) // the size is a constant
	}
	t.built = built
	for _, op := range operations {
		segments := strings.Split(op.Path, "/")
		at := slices.IndexFunc(t.paths, func(p path) bool { return slices.Equal(p.segments, segments) })
		if at < 0 {
			at = len(t.paths)
			t.paths = append(t.paths, path{segments: segments})
		}
		t.paths[at].operations = append(t.paths[at].operations, op)
	}
	return t
}

// API returns the API of the table.
func (t *Table) API() *API { return t.api }

// Operations returns all operations, for tests and tools that must cover the table.
func (t *Table) Operations() []*Operation { return t.operations }

// Document returns the OpenAPI document of a microversion, or of the nearest lower one with a document. Each call
// builds it.
func (t *Table) Document(version microversion.Version) ([]byte, error) {
	return marshalDocument(t.build(t.api.Nearest(version), t.operations).api.OpenAPI())
}

// Serve runs the operation of a request, or returns the error of the first failed check.
func (t *Table) Serve(w http.ResponseWriter, r *http.Request) error {
	version := microversion.From(r.Context())
	matched := t.match(r, version)
	if matched == nil {
		return fault.New(fault.NotFound, "")
	}
	op := matched.method(r.Method, version)
	if op == nil {
		missing := fault.New(fault.MethodNotAllowed, "")
		missing.Allow = matched.allow(version)
		return missing
	}
	info := request.From(r.Context())
	info.Operation, info.Route, info.ReadOnly = op.ID, op.Path, !op.writes()
	if err := op.check(r, version); err != nil {
		return err
	}
	r, err := t.authorize(r, op)
	if err != nil {
		return err
	}
	if t.api.StrictQuery {
		if err := t.checkQuery(op, r.URL.RawQuery, version); err != nil {
			return err
		}
	}
	if err := t.checkStrict(op, r, version); err != nil {
		return err
	}
	info.DryRun = t.isDryRun(op, r, version)
	if r, err = t.readKey(op, w, r, version); err != nil {
		return err
	}
	if t.begin != nil && op.writes() {
		if err := t.begin(r); err != nil {
			return err
		}
	}
	// huma would select a format by this header. Responses have one format, and errors select theirs.
	r.Header.Del("Accept")
	found := t.served(op, version)
	if info.DryRun {
		return t.rehearse(op, found, w, r)
	}
	found.handler(humago.NewContext(found.Operation, r, w))
	return nil
}

// match finds the path of a request and stores its variables in the request. It ignores paths of extensions that the
// version does not include.
func (t *Table) match(r *http.Request, at microversion.Version) *path {
	given := strings.Split(r.URL.Path, "/")
	if r.URL.Path == "" {
		given = []string{"", ""}
	}
	for i := range t.paths {
		if t.paths[i].isKnown(at) && t.paths[i].matches(given, r) {
			return &t.paths[i]
		}
	}
	return nil
}

// isKnown reports whether a path exists at a version or at another microversion.
func (p *path) isKnown(at microversion.Version) bool {
	return slices.ContainsFunc(p.operations, func(op *Operation) bool { return op.isKnown(at) })
}

// matches compares segment by segment; a variable matches any segment that is not empty.
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

// readable converts a segment with invalid escapes to valid text. No resource has such a name, so the text only appears
// in errors; the database would not accept the original bytes.
func readable(segment string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(segment, "\uFFFD"), "\x00", "\uFFFD")
}

func isVariable(segment string) bool { return strings.HasPrefix(segment, "{") }

// method returns the operation of a method. If another operation replaced it at some version, it returns the one that
// exists at the version, else the first.
func (p *path) method(name string, at microversion.Version) *Operation {
	var first *Operation
	for _, op := range p.operations {
		if op.Method != name || !op.isKnown(at) {
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

// allow returns the methods of a path at any microversion, and those of extensions that the version includes.
func (p *path) allow(at microversion.Version) string {
	var names []string
	for _, op := range p.operations {
		if op.isKnown(at) && !slices.Contains(names, op.Method) {
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
		case AcceptStream:
			if err := negotiateStream(r); err != nil {
				return err
			}
		case JSON:
			if err := checkJSON(r); err != nil {
				return err
			}
		case MergePatch:
			if err := checkMergePatch(r); err != nil {
				return err
			}
		case LenientJSON:
			if err := checkLenientJSON(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns the error at microversions that do not have the operation.
func (op *Operation) missing() error {
	if op.MissingIsMethod {
		return fault.New(fault.MethodNotAllowed, "")
	}
	return fault.New(fault.NotFound, "")
}

// checkJSON compares the media type case-sensitively, as OpenStack Placement does, and ignores parameters.
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

// checkMergePatch accepts both media types as checkJSON does.
func checkMergePatch(r *http.Request) error {
	given := r.Header.Get("Content-Type")
	mediaType, _, _ := strings.Cut(given, ";")
	switch strings.TrimSpace(mediaType) {
	case mergePatchType, jsonType:
		return nil
	case "":
		given = "None"
	}
	return unsupportedPatch.Of(given)
}

// checkLenientJSON does the same as ironic 21.4 with pecan and WebOb. WebOb treats a form, and a POST without a media
// type, as arguments of the operation, which has none. pecan reads the parameters of a PUT from JSON only.
func checkLenientJSON(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	given := r.Header.Get("Content-Type")
	mediaType, _, _ := strings.Cut(given, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	isForm := mediaType == "application/x-www-form-urlencoded" || mediaType == "multipart/form-data"
	switch {
	case mediaType == jsonType:
		return nil
	case isForm, r.Method == http.MethodPut, given == "" && r.Method == http.MethodPost:
		return fault.New(fault.Invalid, "Unexpected arguments: the Content-Type header of the body is %.100q. Use %s.", given, jsonType)
	}
	return nil
}

func unsupportedMedia(given string) error {
	return fault.New(fault.UnsupportedMedia, "The media type %s is not supported, use application/json", given)
}

func (t *Table) authorize(r *http.Request, op *Operation) (*http.Request, error) {
	r = r.WithContext(context.WithValue(r.Context(), policyKey{}, t.policy))
	switch {
	case op.Authorize != nil:
		ctx, err := op.Authorize(r)
		if err != nil {
			return nil, err
		}
		return r.WithContext(ctx), nil
	case op.Rule == "":
		return r, nil
	}
	target := policy.TargetOf(auth.From(r.Context()))
	if op.Target != nil {
		target = op.Target(r)
	}
	return r, May(r.Context(), op.Rule, target)
}

// MayCaller is May for what the caller's own project has.
func MayCaller(ctx context.Context, rule string) error {
	return May(ctx, rule, policy.TargetOf(auth.From(ctx)))
}

type policyKey struct{}

// May returns nil if the policy permits the request by the rule, and otherwise a *policy.Denied. It needs the context
// of an operation: without one it denies.
func May(ctx context.Context, rule string, target policy.Target) error {
	rules, ok := ctx.Value(policyKey{}).(*policy.Policy)
	if !ok {
		return &policy.Denied{Rule: rule}
	}
	return rules.Check(auth.From(ctx), rule, target)
}
