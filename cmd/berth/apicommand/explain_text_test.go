package apicommand

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

var updateTexts = flag.Bool("update", false, "write the texts of explanations to testdata/explain")

// situation is an explanation of docs/contract/berth/explain-examples.md.
type situation struct{ Title, Query, Explanation string }

// situations reads the explanations from the file that the page is generated from.
func situations(t *testing.T) []situation {
	t.Helper()
	text, err := os.ReadFile("../../../internal/test/bruteforce/testdata/explain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read []situation
	if err := yaml.Unmarshal(text, &read); err != nil || len(read) != 6 {
		t.Fatalf("%d situations, %v", len(read), err)
	}
	return read
}

func decodeExplanation(t *testing.T, text string) *client.Explanation {
	t.Helper()
	var read client.Explanation
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	return &read
}

// textOf returns the text of an explanation without a head.
func textOf(t *testing.T, of *client.Explanation, held holders) string {
	t.Helper()
	var out bytes.Buffer
	text := &explanationText{width: explanationWidth}
	text.explain(of, held)
	if err := text.print(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// compareText compares a text with a file of testdata/explain.
func compareText(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "explain", name+".txt")
	if *updateTexts {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
	for line := range strings.Lines(got) {
		if width := len([]rune(strings.TrimSuffix(line, "\n"))); width > explanationWidth {
			t.Errorf("%s has a line of %d columns: %s", name, width, line)
		}
	}
}

func TestExplain_SixSituations_PrintGoldenTexts(t *testing.T) {
	t.Parallel()
	for i, each := range situations(t) {
		compareText(t, fmt.Sprintf("situation-%d", i+1), textOf(t, decodeExplanation(t, each.Explanation), holders{}))
	}
}

// contractText is the example of the contract on a terminal with at least 100 columns.
const contractText = `Asked 10:00:00 as placement 1.36 (17 times since 09:58:12), explained 1 s later:
  resources=VCPU:4,MEMORY_MB:8192&resources_GPU=VGPU:4&required_GPU=CUSTOM_A100

Nothing fits: no_tree
Group _GPU (4 VGPU): of 2 providers that qualify, none has 4 VGPU free. Nearest: host-1 lacks 2 VGPU
(gpu-1 can give 2 of 4). With 2 VGPU instead of 4 there would be 1 candidate. Without
required_GPU=CUSTOM_A100 there would be 1 candidate.

TREES (all 3 looked at)
       3  all
       3  with 4 VCPU and 8192 MEMORY_MB
       0  with group _GPU

PART                                   PROVIDERS     TREES
4 VCPU                                         3         3
8192 MEMORY_MB                                 3         3
Group _GPU (4 VGPU)
  reached                                      6         3
  inventory of VGPU                            3         3
  required CUSTOM_A100                         2         2
  free VGPU                                    0         0

NEAREST
  host-1       2 VGPU (gpu-1 can give 2 of 4)
  host-2       4 VGPU (gpu-2 can give 0 of 4)
  host-3       the trait CUSTOM_A100

WOULD FIT
       1  with 2 VGPU instead of 4
       1  without required_GPU=CUSTOM_A100
`

// recorded is a stored explanation of the first situation; asked, first and made are times of that day.
func recorded(t *testing.T, asked, first, made string) *client.RecordedExplanation {
	t.Helper()
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, "2026-11-20T"+text+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	first1 := situations(t)[0]
	of := &client.RecordedExplanation{Explanation: decodeExplanation(t, first1.Explanation)}
	of.RequestID, of.API, of.Microversion, of.Question = "req-6b6837d1-5af3-4138-b4ed-e0275c3efda4", "placement", "1.36", first1.Query
	of.AskedAt, of.SameQuestion = at(asked), api.EqualQueries{Requests: 17, FirstAskedAt: at(first)}
	if made != "" {
		madeAt := at(made)
		of.MadeAt = &madeAt
	}
	return of
}

func TestExplain_StoredExplanation_PrintsTextOfContract(t *testing.T) {
	t.Parallel()
	of := recorded(t, "10:00:00.123", "09:58:12", "10:00:01.2")
	var out bytes.Buffer
	text := &explanationText{width: maxExplanationWidth}
	text.head(of, of.RequestID, of.AskedAt)
	text.explain(of.Explanation, holders{now: true})
	if err := text.print(&out); err != nil || out.String() != contractText {
		t.Errorf("text =\n%s\nwant\n%s%v", &out, contractText, err)
	}
}

func TestExplain_Head_PrintsRequestTimesAndDelay(t *testing.T) {
	t.Parallel()
	head := func(of *client.RecordedExplanation, asked string, now time.Time) string {
		text := &explanationText{width: explanationWidth}
		text.head(of, asked, now)
		return strings.Join(text.lines, "\n")
	}
	of := recorded(t, "10:00:00", "09:58:12", "10:05:00")
	question := "\n  " + of.Question + "\n"
	extension := "1.2"
	of.Berth = &extension
	const global = "req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60"
	want := "Request req-6b6837d1-5af3-4138-b4ed-e0275c3efda4\nAsked 2026-11-20 10:00:00 as placement 1.36, berth 1.2 (17 times since\n" +
		"2026-11-20 09:58:12), explained 5 min later, when the cloud may have changed:" + question
	if got := head(of, global, of.AskedAt.Add(24*time.Hour)); got != want {
		t.Errorf("head = %s\nwant   %s", got, want)
	}
	of = recorded(t, "10:00:00", "10:00:00", "09:59:00")
	of.SameQuestion.Requests = 1
	if got, want := head(of, of.RequestID, of.AskedAt), "Asked 10:00:00 as placement 1.36, explained 60 s earlier:"+question; got != want {
		t.Errorf("head = %s\nwant   %s", got, want)
	}
	of = recorded(t, "10:00:00", "10:00:00", "")
	of.SameQuestion.Requests, of.Explanation.Kind = 1, "claim"
	if got, want := head(of, of.RequestID, of.AskedAt), "Asked 10:00:00 as placement 1.36, not yet explained in full.\n"; got != want {
		t.Errorf("head = %s\nwant   %s", got, want)
	}
	for text, of := range map[string]time.Duration{"0 s": 0, "119 s": 119 * time.Second, "2 min": 2 * time.Minute, "119 min": 119 * time.Minute, "30 h": 30 * time.Hour} {
		if got := roughly(of); got != text {
			t.Errorf("%v = %s, want %s", of, got, text)
		}
	}
}

func TestExplain_SampledExplanation_PrintsAbout(t *testing.T) {
	t.Parallel()
	// It has all stages, steps, missing conditions and changes that the six situations lack.
	of := decodeExplanation(t, `{"kind":"candidates","reason":"no_tree","summary":"Summary.","sample":{"exact":false,"trees":100000,"looked_at":14512,"margin":0.81,"zero_at_most":21},
		"funnel":[{"stage":"all","trees":100000},{"stage":"in_tree","trees":90000},{"stage":"not_in_tree","trees":80000},
			{"stage":"root_required","value":"CUSTOM_A","trees":70000},{"stage":"root_member_of","value":"!X","trees":60000},{"stage":"group","group":"","trees":50000},
			{"stage":"traits","trees":5},{"stage":"one_per_tree","trees":4},{"stage":"sums","trees":3},{"stage":"isolate","trees":2},{"stage":"same_subtree","trees":1},
			{"stage":"candidates","trees":0}],
		"parts":[{"groups":[""],"resources":{"VCPU":64},"can_split":true,"split_trees":3,"steps":[{"step":"reached","providers":100000,"trees":100000},
				{"step":"inventory","class":"VCPU","providers":90000,"trees":90000},{"step":"in_tree","value":"T","providers":80000,"trees":80000},
				{"step":"forbidden","value":"CUSTOM_B","providers":70000,"trees":70000},{"step":"units","class":"VCPU","providers":60000,"trees":60000},
				{"step":"size","class":"VCPU","providers":50000,"trees":50000},{"step":"reserved","class":"VCPU","providers":40000,"trees":40000},
				{"step":"used","class":"VCPU","providers":40000,"trees":30000}]},
			{"groups":["_A","_B"],"resources":{"VGPU":1,"DISK_GB":2},"can_split":false,"steps":[{"step":"reached","providers":9,"trees":9},
				{"step":"inventory","class":"VGPU","providers":9,"trees":9},{"step":"inventory","class":"DISK_GB","providers":9,"trees":9}]},
			{"groups":["_C"],"resources":{},"can_split":false,"steps":[{"step":"reached","providers":9,"trees":9},{"step":"required","value":"A,B","providers":8,"trees":9}]}],
		"nearest":[{"tree":{"name":"a"},"distance":1,"missing":[{"step":"units","class":"VCPU","amount":4},{"step":"reserved","class":"VCPU","amount":4,"gives":1,"provider":{"name":"p"}},
				{"step":"forbidden","value":"CUSTOM_B","provider":{"name":"p"}},{"step":"not_member_of","value":"X","provider":{"name":"p"}},{"step":"in_tree","value":"T","provider":{"name":"p"}}]},
			{"tree":{"name":"compute-000000000000017.rack-3.example.org"},"distance":1,"missing":[{"step":"root_required","value":"A"},{"step":"root_required","value":"!B"},
				{"step":"root_member_of","value":"X"},{"step":"root_member_of","value":"!X"},{"step":"required","value":"A,B"},{"step":"later","value":"V"}]},
			{"tree":{"name":"b"},"distance":0,"missing":[],"stage":"sums"},{"tree":{"name":"c"},"distance":0,"missing":[],"stage":"same_subtree"},
			{"tree":{"name":"d\u001b[31m"},"distance":0,"missing":[],"stage":"traits"}],
		"relaxations":[{"change":"can_split","class":"VCPU","candidates":100,"more":true,"query":"q","needs":"berth 1.1"},
			{"change":"drop","groups":["_A","_B"],"value":"required_A=X","candidates":3,"more":false,"query":"q"}],"relaxations_complete":false,"incomplete":true}`)
	compareText(t, "sampled", textOf(t, of, holders{}))
}

func TestExplain_ShortAndFitting_PrintSummary(t *testing.T) {
	t.Parallel()
	short := decodeExplanation(t, `{"kind":"candidates","reason":"no_tree","summary":"No tree has a provider for every group.","incomplete":true}`)
	want := "Nothing fits: no_tree\nNo tree has a provider for every group.\nThe explanation is incomplete: the service reached a limit.\n"
	if got := textOf(t, short, holders{}); got != want {
		t.Errorf("text = %s, want %s", got, want)
	}
	fits := decodeExplanation(t, `{"kind":"candidates","reason":"fits","summary":"1 host fits, with 1 candidate.","sample":{"exact":true,"trees":2,"looked_at":2},
		"nearest":[{"tree":{"uuid":"c0ffee00-0000-4000-8000-0000000000a1","name":"full"},"distance":2,"missing":[{"groups":["_A"],"step":"inventory","class":"VGPU"}]}],
		"funnel":[{"stage":"all","trees":2},{"stage":"group","group":"_A","trees":1},{"stage":"candidates","trees":1}]}`)
	want = "Fits.\n1 host fits, with 1 candidate.\n\nTREES (all 2 looked at)\n       2  all\n       1  with group _A\n       1  with a candidate\n"
	if got := textOf(t, fits, holders{}); got != want {
		t.Errorf("text = %s, want %s", got, want)
	}
	if got := textOf(t, nil, holders{}); got != "The service has no explanation.\n" {
		t.Errorf("text = %s", got)
	}
}

const consumers = "c0ffee00-0000-4000-8000-0000000000"

func TestExplain_ClaimExplanation_PrintsItems(t *testing.T) {
	t.Parallel()
	of := decodeExplanation(t, `{"kind":"claim","reason":"capacity",
		"summary":"host-1 has no room for 8 VCPU: 14 of 16 are used by 5 consumers, 2 are left. disk-pool gives DISK_GB in multiples of 10, not 25.","items":[
		{"consumer":"`+consumers+`a3","provider":{"name":"host-1"},"class":"VCPU","amount":8,"verdict":"capacity","capacity":16,"used":14,"own":0,"free":2,"consumers":5},
		{"consumer":"`+consumers+`a3","provider":{"name":"disk-pool"},"class":"DISK_GB","amount":25,"so_far":50,"verdict":"units","capacity":1000,"used":200,"free":800},
		{"consumer":"`+consumers+`a3","provider":{"name":"host-1"},"class":"MEMORY_MB","amount":1024,"verdict":"fits","capacity":65536,"used":8192,"free":57344}],
		"elsewhere":{"candidates":37,"more":false,"query":"resources=VCPU:8,MEMORY_MB:1024,DISK_GB:25&limit=100"}}`)
	compareText(t, "claim", textOf(t, of, holders{}))
	of.Items[1].Consumer = uuid.MustParse(consumers + "a4")
	if got, want := textOf(t, of, holders{}), "VERDICT            CONSUMER\n"; !strings.Contains(got, want) || !strings.Contains(got, "units (50 so far)  "+consumers+"a4") {
		t.Errorf("text lacks %q:\n%s", want, got)
	}
}

func TestExplain_Holders_PrintLargestFive(t *testing.T) {
	t.Parallel()
	of := decodeExplanation(t, situations(t)[0].Explanation)
	full := fullProviders(of)
	if len(full) != 2 || full[0].provider.Name != "gpu-1" || full[1].provider.Name != "gpu-2" || full[0].class != "VGPU" {
		t.Fatalf("providers = %+v, want gpu-1 and gpu-2 with VGPU", full)
	}
	allocations := map[uuid.UUID]client.Resources{uuid.New(): {"VCPU": 9}}
	for i := range 7 {
		allocations[uuid.MustParse(fmt.Sprintf("%s%02d", consumers, i))] = client.Resources{"VGPU": int64(i/2*4 + 1)}
	}
	full[0].hold(allocations)
	full[1].hold(map[uuid.UUID]client.Resources{uuid.MustParse(consumers + "a1"): {"VGPU": 1}})
	compareText(t, "holders", textOf(t, of, holders{holdings: full, now: true, note: "A note."}))
}
