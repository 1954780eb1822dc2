package consumers

import (
	"testing"
)

// FuzzFile checks that parse returns either entries or an error with a text, and the same consumers each time.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"4e8e5957-649f-477b-9e5b-f1f75b21c03c": []}`, `{"x": [{}]}`, `{"a": 1, "a": 2}`, `[`,
		`{"4e8e5957649f477b9e5bf1f75b21c03c": [{"provider": "a", "resources": {"VCPU": -1}}]}`, "{\"\xff\": [null]}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		entries, err := parse(content)
		if err != nil {
			if err.Error() == "" || entries != nil {
				t.Errorf("parse(%q) = %v, %v, want either entries or an error", content, entries, err)
			}
			return
		}
		again, err := parse(content)
		if err != nil || len(again) != len(entries) {
			t.Errorf("parse(%q) = %v, then %v, %v", content, entries, again, err)
		}
	})
}

// FuzzList checks that parseList limits the size of its result for arbitrary texts.
func FuzzList(f *testing.F) {
	for _, seed := range []string{"", "0-3,8\n", "3-0", "0-99999999999999999999", "-1", "1,,2", "0-1048577"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := parseList(text)
		if err == nil && len(set) > len(text)*(1<<20+1) {
			t.Errorf("%q has %d numbers", text, len(set))
		}
	})
}
