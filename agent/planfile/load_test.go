package planfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/agent/planfile"
)

const (
	instanceA = "aaaaaaaa-0000-4000-8000-000000000001"
	instanceB = "bbbbbbbb-0000-4000-8000-000000000002"
	instanceC = "cccccccc-0000-4000-8000-000000000003"
)

const vgpuPlan = `
root: compute-1
moves:
  - class: VGPU
    to:
      compute-1_gpu0: {total: 2, max_unit: 2}
      compute-1_gpu1: {total: 2}
    consumers:
      ` + instanceA + `: {compute-1_gpu0: 1}
      ` + instanceB + `: {compute-1_gpu0: 1, compute-1_gpu1: 1}
providers:
  compute-1_gpu0: {traits: [CUSTOM_A100], aggregates: [99999999-0000-4000-8000-000000000009]}
`

func TestPlanfile_OmittedMembers_FilledWithDefaults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(vgpuPlan+"---\n{root: compute-2, moves: [{class: VCPU, as: PCPU, consumers: all}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := planfile.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := plan.Encode(&text, "two lines\nof comment"); err != nil {
		t.Fatal(err)
	}
	want := `# two lines
# of comment
root: compute-1
moves:
  - class: VGPU
    from: compute-1
    to:
      compute-1_gpu0: {total: 2, max_unit: 2}
      compute-1_gpu1: {total: 2}
    consumers:
      ` + instanceA + `: {compute-1_gpu0: 1}
      ` + instanceB + `: {compute-1_gpu0: 1, compute-1_gpu1: 1}
providers:
  compute-1_gpu0:
    traits: [CUSTOM_A100]
    aggregates: [99999999-0000-4000-8000-000000000009]
---
root: compute-2
moves:
  - class: VCPU
    as: PCPU
    from: compute-2
    consumers: all
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
	again, err := planfile.Parse("written", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	var twice strings.Builder
	if err := again.Encode(&twice, "two lines\nof comment"); err != nil || twice.String() != want {
		t.Errorf("%v, got\n%s", err, &twice)
	}
}

func TestPlanfile_JSON_Parsed(t *testing.T) {
	t.Parallel()
	plan, err := planfile.Parse("plan.json", []byte(`{"root": "h", "remove": ["h_old"], "moves": [{"class": "A", "to": {"x": {"total": 1}}, "consumers": ["`+instanceA+`"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if host := plan.Hosts[0]; host.Remove[0] != "h_old" || host.Moves[0].From != "h" || host.Moves[0].As != "A" || len(host.Moves[0].Consumers.Only) != 1 {
		t.Errorf("%+v, %+v", host, host.Moves[0])
	}
}

func TestPlanfile_InvalidFile_ReportsLine(t *testing.T) {
	t.Parallel()
	const move = "root: h\nmoves:\n  - class: VGPU\n"
	for name, test := range map[string]struct{ text, want string }{
		"empty":                    {"# nothing\n", `p:1: the file is empty; write root, and moves, providers or remove`},
		"not YAML":                 {"root: [", `p is not valid YAML: yaml: line 1: did not find expected node content`},
		"not a mapping":            {"- root", `p:1: the list is not a plan; write a mapping`},
		"without root":             {"remove: [x]", `p:1: the mapping has no root; write root: and the name or UUID of the host's provider`},
		"does nothing":             {"root: h", `p:1: the mapping has no effect; write moves, providers or remove`},
		"two plans for a host":     {"root: h\nremove: [x]\n---\nroot: h\nremove: [x]\n", `p:4: "h" already has a plan in line 1; write one document per host`},
		"an unknown key":           {move + "    form: h\n    to: {x: {total: 1}}", `p:4: "form" is not a key of a move; choose from class, as, from, keep, to, consumers`},
		"a key twice":              {"root: h\nremove: [x]\nroot: h", `p:3: "root" is a duplicate of the key in line 1; write it once`},
		"no class":                 {"root: h\nmoves: [{to: {x: {total: 1}}}]", `p:2: the mapping has no class; write the resource class that moves`},
		"a class that can't be":    {"root: h\nmoves: [{class: vgpu, to: {x: {total: 1}}}]", `p:2: "vgpu" is not a valid resource class; use capital letters, digits and _`},
		"no destination":           {move + "    to: {}", `p:4: the mapping has no destination; write at least one provider`},
		"to itself":                {move + "    from: x", `p:3: the mapping moves VGPU from x to itself; name another provider, or another class with as`},
		"a part in place":          {move + "    as: B\n    keep: {total: 1}", `p:5: the mapping keeps a part, so the rest needs a destination; write to`},
		"no record":                {move + "    to: {x: }", `p:4: null is not an inventory; write for example {total: 2}`},
		"no total":                 {move + "    to: {x: {reserved: 1}}", `p:4: the mapping has no total; write for example {total: 2}`},
		"a text as total":          {move + "    to: {x: {total: many}}", `p:4: "many" is not an integer from 1 to 2147483647; write digits only`},
		"a total of nothing":       {move + "    to: {x: {total: 0}}", `p:4: "0" is not an integer from 1 to 2147483647; write digits only`},
		"a fraction":               {move + "    to: {x: {total: 1.5}}", `p:4: "1.5" is not an integer from 1 to 2147483647; write digits only`},
		"a ratio that is none":     {move + "    to: {x: {total: 1, allocation_ratio: .nan}}", `p:4: ".nan" is not a ratio; write a number, for example 1.5`},
		"too much reserved":        {move + "    to: {x: {total: 1, reserved: 2}}", `p:4: "2" is more than the total of 1; reserve at most the total`},
		"an unknown way":           {move + "    to: {x: {total: 1}}\n    consumers: some", `p:5: "some" is not a valid value for consumers; write all, spread, a list of UUIDs, or a table`},
		"all to two":               {move + "    to: {x: {total: 1}, y: {total: 1}}\n    consumers: all", `p:5: "all" is ambiguous for 2 destinations; write a table, or spread`},
		"a consumer without uuid":  {move + "    to: {x: {total: 1}}\n    consumers: {vm: {x: 1}}", `p:5: "vm" is not a UUID of a consumer; write 8-4-4-4-12 hexadecimal digits`},
		"a consumer twice":         {move + "    to: {x: {total: 1}}\n    consumers: {" + instanceA + ": {x: 1}, " + strings.ReplaceAll(instanceA, "-", "") + ": {x: 1}}", `p:5: "` + strings.ReplaceAll(instanceA, "-", "") + `" is already in the table in another spelling; write it once`},
		"a consumer with nothing":  {move + "    to: {x: {total: 1}}\n    consumers: {" + instanceA + ": {}}", `p:5: the mapping is empty; write a destination and an amount, or omit the consumer`},
		"an amount of nothing":     {move + "    to: {x: {total: 1}}\n    consumers: {" + instanceA + ": {x: 0}}", `p:5: "0" is not an integer from 1 to 2147483647; write digits only`},
		"an unknown destination":   {move + "    to: {x: {total: 1}}\n    consumers: {" + instanceA + ": {y: 1}}", `p:5: "y" is not a destination of this move; write a key of to, in the same spelling`},
		"the same twice":           {move + "    to: {x: {total: 1}}\n  - class: VGPU\n    to: {y: {total: 1}}", `p:5: the mapping moves VGPU of h, like the move in line 3; write one move`},
		"a chain":                  {move + "    to: {x: {total: 1}}\n  - class: VGPU\n    from: x\n    to: {y: {total: 1}}", `p:3: the mapping moves VGPU to x, which is the source of the move in line 5; write one move to the final destination`},
		"two classes into one":     {move + "    as: B\n    to: {x: {total: 1}}\n  - class: PGPU\n    as: B\n    to: {x: {total: 1}}", `p:6: the mapping creates B of x from PGPU, but another move creates it from VGPU; such a merge cannot be undone`},
		"two records":              {move + "    to: {x: {total: 1}}\n  - class: VGPU\n    from: y\n    to: {x: {total: 2}}", `p:5: the mapping sets another inventory on x for VGPU than another move; write the same inventory in both`},
		"a parent cycle":           {"root: h\nproviders:\n  x: {parent: y}\n  y: {parent: x}", `p:3: the mapping contains a parent cycle with x; correct the parents`},
		"a trait here and there":   {"root: h\nproviders: {x: {traits: [A], without_traits: [A]}}", `p:2: "A" is in both traits and without_traits; remove it from one`},
		"an aggregate twice":       {"root: h\nproviders: {x: {aggregates: [" + instanceA + ", " + instanceA + "]}}", `p:2: "` + instanceA + `" is in the list twice; write it once`},
		"the host removed":         {"root: h\nremove: [h]", `p:2: "h" is the root, which a plan cannot remove`},
		"a destination removed":    {move + "    to: {x: {total: 1}}\nremove: [x]", `p:5: "x" is both in remove and in another part of the plan; remove it from one`},
		"a provider removed twice": {"root: h\nremove: [x, y, x]", `p:2: "x" is in the list twice; write it once`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := planfile.Parse("p", []byte(test.text)); err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestPlanfile_SeveralErrors_AllReported(t *testing.T) {
	t.Parallel()
	_, err := planfile.Parse("p", []byte("root: h\nmoves:\n  - class: a\n    to: {x: {total: no}}\n    size: 3\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v", err)
	}
}

// FuzzFiles parses arbitrary files. A valid plan parses to the same plan after Encode.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(vgpuPlan))
	f.Add([]byte("root: h\nmoves: [{class: A, as: B, keep: {total: 1}, to: {h: {total: 2}}, consumers: spread}]\nremove: [x]"))
	f.Add([]byte("{? [a] : &b *b}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		plan, err := planfile.Parse("fuzzed", file)
		if err != nil {
			return
		}
		var once, twice strings.Builder
		if err := plan.Encode(&once, ""); err != nil {
			t.Fatal(err)
		}
		again, err := planfile.Parse("written", []byte(once.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, &once)
		}
		if err := again.Encode(&twice, ""); err != nil || once.String() != twice.String() {
			t.Errorf("%v\n%s\nafter Parse and Encode\n%s", err, &once, &twice)
		}
	})
}
