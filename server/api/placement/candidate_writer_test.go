package placement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/search/candidates"
)

// These tests use a host with a child and a sharing provider.
var (
	hostID  = uuid.MustParse("c0ffee00-5ca1-4b1e-8000-0000000000a1")
	childID = uuid.MustParse("c0ffee00-5ca1-4b1e-8000-0000000000a2")
	shareID = uuid.MustParse("c0ffee00-5ca1-4b1e-8000-0000000000a3")

	twoGroups = []candidates.Group{
		{Resources: amountsOf("VCPU", 2, "DISK_GB", 10)}, {Suffix: "_NET-1", Resources: amountsOf("SRIOV_NET_VF", 1)},
	}
	shared = &candidates.Candidate{
		Uses: []candidates.Use{
			{Provider: hostID, Resources: amountsOf("VCPU", 2)}, {Provider: shareID, Resources: amountsOf("DISK_GB", 10)},
			{Provider: childID, Resources: amountsOf("SRIOV_NET_VF", 1)},
		},
		Providers: [][]uuid.UUID{{hostID, shareID}, {childID}},
	}
	local = &candidates.Candidate{
		Uses:      []candidates.Use{{Provider: hostID, Resources: amountsOf("VCPU", 2, "DISK_GB", 10, "SRIOV_NET_VF", 1)}},
		Providers: [][]uuid.UUID{{hostID}, {hostID}},
	}
	summaries = []*candidates.ProviderSummary{
		{UUID: hostID, Root: hostID, Traits: []string{"HW_CPU_X86_AVX", "CUSTOM_A"}, Resources: []candidates.SummaryResource{
			{Class: "VCPU", Capacity: 8, Used: 3}, {Class: "MEMORY_MB", Capacity: math.Copysign(0, -1), Used: 0},
			{Class: "DISK_GB", Capacity: 3.4e38, Used: math.MaxInt64},
		}},
		{UUID: childID, Parent: &hostID, Root: hostID},
		{UUID: shareID, Root: shareID, Resources: []candidates.SummaryResource{{Class: "CUSTOM_X", Capacity: -7, Used: 1 << 40}}},
	}
)

// written returns the complete text of a small response.
func written(t *testing.T, shape candidateShape, candidates []*candidates.Candidate, described []*candidates.ProviderSummary) string {
	t.Helper()
	var body strings.Builder
	w := newCandidateWriter(shape, twoGroups, nil)
	for chunk, err := range w.chunks(candidateSource{candidates: found(candidates...), summaries: found(described...)}) {
		if err != nil {
			t.Fatal(err)
		}
		body.Write(chunk)
	}
	return body.String()
}

func TestCandidates_Response_MatchesPublishedTypes(t *testing.T) {
	t.Parallel()
	published := []func() any{
		func() any { return &CandidatesV10{} }, func() any { return &CandidatesV12{} }, func() any { return &CandidatesV17{} },
		func() any { return &CandidatesV17{} }, func() any { return &CandidatesV29{} }, func() any { return &CandidatesV34{} },
	}
	for i, row := range candidateShapes {
		for name, body := range map[string]string{
			"something": written(t, row.shape, []*candidates.Candidate{shared, local}, summaries),
			"nothing":   written(t, row.shape, nil, nil),
		} {
			into := published[i]()
			decoder := json.NewDecoder(strings.NewReader(body))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(into); err != nil {
				t.Fatalf("%s, %s: %v\n%s", row.since, name, err, body)
			}
			// Decoding ignores unknown members inside of maps, so compare the encoded value.
			again, err := json.Marshal(into)
			if err != nil || string(again)+"\n" != body {
				t.Errorf("%s, %s: %v\ngot  %s\nread %s", row.since, name, err, body, again)
			}
		}
	}
}

func TestCandidates_Response_GrowsWithMicroversion(t *testing.T) {
	t.Parallel()
	const (
		a1, a2, a3 = `"c0ffee00-5ca1-4b1e-8000-0000000000a1"`, `"c0ffee00-5ca1-4b1e-8000-0000000000a2"`, `"c0ffee00-5ca1-4b1e-8000-0000000000a3"`
		disk       = `"DISK_GB":{"capacity":339999999999999996123846586046231871488,"used":9223372036854775807}`
		asked      = `"resources":{"VCPU":{"capacity":8,"used":3},` + disk + `}`
		all        = `"resources":{"VCPU":{"capacity":8,"used":3},"MEMORY_MB":{"capacity":0,"used":0},` + disk + `}`
		custom     = `"resources":{"CUSTOM_X":{"capacity":-7,"used":1099511627776}}`
		traits     = `,"traits":["HW_CPU_X86_AVX","CUSTOM_A"]`
		listed     = `{"allocations":[{"resource_provider":{"uuid":` + a1 + `},"resources":{"VCPU":2}},` +
			`{"resource_provider":{"uuid":` + a3 + `},"resources":{"DISK_GB":10}},` +
			`{"resource_provider":{"uuid":` + a2 + `},"resources":{"SRIOV_NET_VF":1}}]}`
		keyed = `{"allocations":{` + a1 + `:{"resources":{"VCPU":2}},` + a3 + `:{"resources":{"DISK_GB":10}},` +
			a2 + `:{"resources":{"SRIOV_NET_VF":1}}}`
		mapped = `,"mappings":{"":[` + a1 + `,` + a3 + `],"_NET-1":[` + a2 + `]}`
		ofA1   = `,"parent_provider_uuid":null,"root_provider_uuid":` + a1
		ofA2   = `,"parent_provider_uuid":` + a1 + `,"root_provider_uuid":` + a1
		ofA3   = `,"parent_provider_uuid":null,"root_provider_uuid":` + a3
	)
	answer := func(candidate, one, two, three string) string {
		return `{"allocation_requests":[` + candidate + `],"provider_summaries":{` +
			a1 + `:{` + one + `},` + a2 + `:{` + two + `},` + a3 + `:{` + three + "}}}\n"
	}
	want := []string{
		answer(listed, asked, `"resources":{}`, `"resources":{}`),
		answer(keyed+`}`, asked, `"resources":{}`, `"resources":{}`),
		answer(keyed+`}`, asked+traits, `"resources":{},"traits":[]`, `"resources":{},"traits":[]`),
		answer(keyed+`}`, all+traits, `"resources":{},"traits":[]`, custom+`,"traits":[]`),
		answer(keyed+`}`, all+traits+ofA1, `"resources":{},"traits":[]`+ofA2, custom+`,"traits":[]`+ofA3),
		answer(keyed+mapped+`}`, all+traits+ofA1, `"resources":{},"traits":[]`+ofA2, custom+`,"traits":[]`+ofA3),
	}
	for i, row := range candidateShapes {
		if got := written(t, row.shape, []*candidates.Candidate{shared}, summaries); got != want[i] {
			t.Errorf("%s:\ngot  %swant %s", row.since, got, want[i])
		}
	}
	if got := written(t, candidateShapes[0].shape, nil, nil); got != `{"allocation_requests":[],"provider_summaries":{}}`+"\n" {
		t.Errorf("empty response = %s", got)
	}
}

func TestCandidates_Encoding_NoHeapAllocations(t *testing.T) {
	w := newCandidateWriter(candidateShapes[len(candidateShapes)-1].shape, twoGroups, make([]byte, 0, 1<<16))
	if got := testing.AllocsPerRun(100, func() {
		w.buf = w.buf[:0]
		w.candidate(shared)
		w.summary(summaries[0])
	}); got > 0 {
		t.Errorf("%v allocations", got)
	}
}

// many yields a candidate count times, then an error unless it is nil.
func many(count int, then error) iter.Seq2[*candidates.Candidate, error] {
	return func(yield func(*candidates.Candidate, error) bool) {
		for range count {
			if !yield(shared, nil) {
				return
			}
		}
		if then != nil {
			yield(nil, then)
		}
	}
}

// sender is one response in progress.
type sender struct {
	source candidateSource
	closed int
}

func newSender(count int, then error) *sender {
	s := &sender{}
	s.source = candidateSource{
		candidates: many(count, then), summaries: found(summaries...),
		close: func() error { s.closed++; return nil },
	}
	return s
}

// send writes the response like huma does and reports whether the connection was aborted.
func (s *sender) send(t *testing.T, ctx context.Context, w http.ResponseWriter) (cut bool) {
	t.Helper()
	stream, err := startCandidates(s.source, candidateShapes[5].shape, twoGroups, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		failure := recover()
		if cut = failure == http.ErrAbortHandler; failure != nil && !cut {
			panic(failure)
		}
	}()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/allocation_candidates", http.NoBody)
	stream.send(humago.NewContext(&huma.Operation{}, request, w))
	return false
}

func TestCandidates_SmallResponse_HasContentLength(t *testing.T) {
	t.Parallel()
	s, recorder := newSender(3, nil), httptest.NewRecorder()
	if s.send(t, t.Context(), recorder) || s.closed != 1 {
		t.Errorf("closed %d times", s.closed)
	}
	got := recorder.Result()
	if got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Content-Length") != fmt.Sprint(recorder.Body.Len()) {
		t.Errorf("%v for %d bytes", got.Header, recorder.Body.Len())
	}
	if want := written(t, candidateShapes[5].shape, []*candidates.Candidate{shared, shared, shared}, summaries); recorder.Body.String() != want {
		t.Errorf("got  %s\nwant %s", recorder.Body, want)
	}
}

// pieces records the size of each write.
type pieces struct {
	*httptest.ResponseRecorder
	sizes []int
	then  func()
}

func (p *pieces) Write(chunk []byte) (int, error) {
	p.sizes = append(p.sizes, len(chunk))
	p.then()
	return p.ResponseRecorder.Write(chunk)
}

func TestCandidates_LargeResponse_SentInChunks(t *testing.T) {
	t.Parallel()
	const count = 5000
	s, recorder := newSender(count, nil), &pieces{ResponseRecorder: httptest.NewRecorder(), then: func() {}}
	if s.send(t, t.Context(), recorder) || s.closed != 1 {
		t.Errorf("closed %d times", s.closed)
	}
	if length := recorder.Result().Header.Get("Content-Length"); length != "" || len(recorder.sizes) < 4 {
		t.Errorf("Content-Length = %q, sizes of writes = %v", length, recorder.sizes)
	}
	for _, size := range recorder.sizes[:len(recorder.sizes)-1] {
		if size < candidateChunk || size > candidateChunk+1024 {
			t.Errorf("size of a write = %d bytes", size)
		}
	}
	var answer CandidatesV34
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || len(answer.Candidates) != count || len(answer.Summaries) != 3 {
		t.Errorf("%v: %d candidates, %d summaries", err, len(answer.Candidates), len(answer.Summaries))
	}
}

func TestCandidates_ErrorBeforeFirstByte_ReturnsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s := newSender(100, broken)
	if _, err := startCandidates(s.source, candidateShapes[5].shape, twoGroups, nil); !errors.Is(err, broken) || s.closed != 1 {
		t.Errorf("%v, closed %d times", err, s.closed)
	}
}

func TestCandidates_ErrorAfterFirstByte_AbortsResponse(t *testing.T) {
	t.Parallel()
	s := newSender(3000, errors.New("broken"))
	if !s.send(t, t.Context(), httptest.NewRecorder()) || s.closed != 1 {
		t.Errorf("the response was not aborted, or closed %d times", s.closed)
	}
}

func TestCandidates_RequestCanceled_AbortsResponse(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	recorder := &pieces{ResponseRecorder: httptest.NewRecorder(), then: cancel}
	s := newSender(math.MaxInt, nil)
	if !s.send(t, ctx, recorder) || s.closed != 1 || len(recorder.sizes) != 1 {
		t.Errorf("the response was not aborted, or closed %d times, or continued: %v", s.closed, recorder.sizes)
	}
}

// gone is a client that closed its connection.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestCandidates_ClientDisconnected_AbortsResponse(t *testing.T) {
	t.Parallel()
	s := newSender(math.MaxInt, nil)
	if !s.send(t, t.Context(), gone{httptest.NewRecorder()}) || s.closed != 1 {
		t.Errorf("the response was not aborted, or closed %d times", s.closed)
	}
}

func TestCandidates_ServerAndClientLimit_SmallerApplies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ server, client, want int }{
		{-1, 0, 0}, {-1, 5, 5}, {0, 0, 1}, {0, 5, 1}, {1, 5, 1}, {7, 0, 7}, {7, 5, 5}, {7, 9, 7},
	} {
		asked := candidates.Query{Limit: test.client}
		CandidateOptions{Max: test.server, Strategy: "depth-first"}.apply(&asked)
		if asked.Limit != test.want || asked.BreadthFirst || asked.Randomize {
			t.Errorf("%+v is %+v", test, asked)
		}
	}
	var asked candidates.Query
	CandidateOptions{Max: -1, Strategy: "breadth-first", Randomize: true}.apply(&asked)
	if !asked.BreadthFirst || !asked.Randomize || asked.Limit != 0 {
		t.Errorf("%+v", asked)
	}
}

func BenchmarkCandidateWriter(b *testing.B) {
	w := newCandidateWriter(candidateShapes[5].shape, twoGroups, make([]byte, 0, candidateChunk+4096))
	for b.Loop() {
		for chunk := range w.chunks(candidateSource{candidates: many(1000, nil), summaries: found(summaries...)}) {
			b.SetBytes(int64(len(chunk)))
		}
	}
}
