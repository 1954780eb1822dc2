package frame

import (
	"bytes"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestCLI_Output_FormatsOfOneTable(t *testing.T) {
	t.Parallel()
	value := map[string]any{"name": "yes", "free": 4, "note": "tab\tand \u202e", "none": nil, "list": []string{"1.0", "a,b"}}
	table := [][]string{{"NAME", "FREE"}, {"a,b", "4"}, {"-", "10"}}
	for format, want := range map[string]string{
		OutputTable: "NAME  FREE\na,b      4\n-       10\n",
		OutputCSV:   "NAME,FREE\n\"a,b\",4\n-,10\n",
		OutputYAML:  "free: 4\nlist:\n  - \"1.0\"\n  - a,b\nname: \"yes\"\nnone: null\nnote: \"tab\\tand \\u202e\"\n",
	} {
		var out bytes.Buffer
		if err := PrintAs(&out, format, value, table); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", format, err, out.String(), want)
		}
	}
}

func TestCLI_OutputYAML_ReadsBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", "~", "yes", "1e3", "0x1f", "2026-11-28", "- a", "a: b", "#", "two\nlines", " pad ", "\x1b[31m", "計算", "'", `"`, "\u0085", "\\u202e", "\u202e", "\ufeff", "\U000e0001", "\u2028", "🚀"} {
		var out bytes.Buffer
		if err := WriteDocument(&out, OutputYAML, map[string]string{"text": text}); err != nil {
			t.Fatal(err)
		}
		var read map[string]any
		if err := yaml.Unmarshal(out.Bytes(), &read); err != nil || read["text"] != text {
			t.Errorf("%q was written as %q and read as %q: %v", text, out.String(), read["text"], err)
		}
		if strings.ContainsAny(out.String(), "\x1b\u0085") {
			t.Errorf("%q was written with a control character: %q", text, out.String())
		}
	}
}

func TestCLI_TableWiderThanTerminal_Fits(t *testing.T) {
	t.Parallel()
	table := [][]string{{"RULE", "FROM", "EMPTY", "OPERATIONS"}, {"placement:list", "default", "-", "GET /resource_providers, GET /traits"}, {"x", "file", "", "GET /"}}
	for columns, want := range map[int]string{
		0:  "RULE            FROM     EMPTY  OPERATIONS\nplacement:list  default  -      GET /resource_providers, GET /traits\nx               file            GET /\n",
		68: "RULE            FROM     EMPTY  OPERATIONS\nplacement:list  default  -      GET /resource_providers, GET /traits\nx               file            GET /\n",
		61: "RULE            FROM     OPERATIONS\nplacement:list  default  GET /resource_providers, GET /traits\nx               file     GET /\n",
		60: "RULE            FROM     OPERATIONS\nplacement:list  default  GET /resource_providers, GET\n                         /traits\nx               file     GET /\n",
		30: "RULE            FROM     OPERATIONS\nplacement:list  default  GET /resource_providers, GET /traits\nx               file     GET /\n",
	} {
		if got := LayOut(Fit(table, columns)); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
}
