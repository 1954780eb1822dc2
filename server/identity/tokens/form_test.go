package tokens

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

const sum = "53ff59b2928f5468f5889cb078784fbf53c88a9a0a445887feaa4a670221e20e"

func TestAuth_TokensFileContent_ParsedOrRejected(t *testing.T) {
	t.Parallel()
	entry := func(lines string) string { return "tokens:\n- {id: a, user: u, roles: [r], " + lines + "}\n" }
	for _, c := range []struct{ file, want string }{
		{"tokens: []", ""},
		{entry("project: p, sha256: " + sum), ""},
		{entry("project: p, created: 2026-01-31T00:00:00Z, expires: 2027-01-31T00:00:00+01:00, sha256: " + sum), ""},
		{`{"tokens": [{"id": "a", "sha256": "` + sum + `", "user": "u", "system": true, "roles": ["r"]}]}`, ""},
		{"", `it is empty; write "tokens: []" for a file without tokens`},
		{"# a comment", `it is empty; write "tokens: []" for a file without tokens`},
		{"tokens:", `it is empty; write "tokens: []" for a file without tokens`},
		{"{}", `it is empty; write "tokens: []" for a file without tokens`},
		{"tokens: []\n---\ntokens: []", "it has more than one YAML document"},
		{"users: []", "it is not a YAML map with the key tokens: unmarshal errors: line 1: field users not found in type tokens.form"},
		{"tokens: [", "it is not a YAML map with the key tokens: line 1: did not find expected node content"},
		{"tokens: [x]", "line 1: the token is not a map of id, sha256, user, project, domain, system, roles, created, expires, description"},
		{entry("project: p, expire: never, sha256: " + sum), `line 2: the token has an unknown key "expire"; keys are id, sha256, user, project, domain, system, roles, created, expires, description`},
		{entry("sha256: " + sum), "line 2: the scope is not exactly one of project, domain and system"},
		{entry("project: p, system: true, sha256: " + sum), "line 2: the scope is not exactly one of project, domain and system"},
		{entry("project: p"), "line 2: sha256 of the token a is not 64 hexadecimal digits; write the SHA-256 of the token, never the token itself"},
		{entry("project: p, sha256: berth_" + sum), "line 2: sha256 of the token a is not 64 hexadecimal digits; write the SHA-256 of the token, never the token itself"},
		{entry("project: p, expires: 2027-01-31, sha256: " + sum), `line 2: expires of the token a is "2027-01-31", which is not a time; write it as 2027-01-31T00:00:00Z`},
		{entry(`project: " p", sha256: ` + sum), "line 2: the project is not up to 255 printable characters without blanks at its ends"},
		{entry(`project: "p\nq", sha256: ` + sum), "line 2: the project is not up to 255 printable characters without blanks at its ends"},
		{"tokens:\n- {id: a b, user: u, project: p, roles: [r]}", `line 2: the id "a b" is not 1 to 64 letters, digits and the characters . _ -`},
		{"tokens:\n- {id: a, project: p, roles: [r]}", "line 2: the user is missing"},
		{"tokens:\n- {id: a, user: u, project: p}", "line 2: roles are missing; a caller without roles may do nothing"},
		{"tokens:\n- {id: a, user: u, project: p, roles: ['r,s']}", `line 2: the role "r,s" is not 1 to 255 printable characters without commas and without blanks at its ends`},
		{"tokens:\n- {id: a, user: u, project: p, roles: [r, R]}", `line 2: the role "R" is listed twice`},
		{entry("project: p, sha256: "+sum) + "- {id: a, user: u, project: p, roles: [r], sha256: " + strings.Repeat("0", 64) + "}", "line 3: the id a is in the file twice"},
		{entry("project: p, sha256: "+sum) + "- {id: b, user: u, project: p, roles: [r], sha256: " + sum + "}", "line 3: the token b is in the file twice, with different ids"},
	} {
		got := ""
		if _, err := parse([]byte(c.file)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("parse(%q):\n got %s\nwant %s", c.file, got, c.want)
		}
	}
}

// FuzzParse checks that a file that can be read has valid entries, and has the same after it was written again.
func FuzzParse(f *testing.F) {
	f.Add([]byte("tokens:\n- {id: a, user: u, project: p, roles: [admin, 'no'], sha256: " + sum + ", expires: 2027-01-31T00:00:00+01:00}"))
	f.Add([]byte("tokens: [&a {id: a, user: u, system: yes, roles: [r], sha256: '" + sum + "'}, *a]"))
	f.Add([]byte("tokens:\n- {<<: {id: a}, ? [id] : a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parse(data)
		if err != nil {
			return
		}
		for i := range entries {
			if err := entries[i].validate(); err != nil {
				t.Error(err)
			}
			// The file has times in seconds and in UTC.
			entries[i].Created, entries[i].Expires = entries[i].Created.UTC().Truncate(time.Second), entries[i].Expires.UTC().Truncate(time.Second)
		}
		written, err := encode(entries)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(written)
		if err != nil || len(again) != len(entries) || len(entries) > 0 && !reflect.DeepEqual(again, entries) {
			t.Errorf("entries = %+v\nafter writing %+v, %v\n%s", entries, again, err, written)
		}
	})
}

// FuzzTokenForm checks that no text but a token with its checksum has the form of a token.
func FuzzTokenForm(f *testing.F) {
	f.Add(newToken(), 0, byte('0'))
	f.Add("berth_"+strings.Repeat("0", 72), 10, byte('f'))
	f.Fuzz(func(t *testing.T, text string, at int, to byte) {
		if isWellFormed(text) && text != text[:70]+checksumOf(text[:70]) {
			t.Errorf("%q has another checksum", text)
		}
		changed := []byte(newToken())
		at = int(uint(at) % uint(len(changed)))
		if !isWellFormed(string(changed)) {
			t.Errorf("%q has no valid form", changed)
		}
		if before := changed[at]; before != to {
			if changed[at] = to; isWellFormed(string(changed)) {
				t.Errorf("%q is valid with %q for %q at %d", changed, to, before, at)
			}
		}
	})
}
