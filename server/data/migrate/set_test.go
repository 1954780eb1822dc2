package migrate

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestSchemaDump_Normalized_IndependentOfPostgresVersion(t *testing.T) {
	t.Parallel()
	const body = `--
-- Name: cargo; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.cargo (
    name text
);


--
-- Name: load(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.load() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
UPDATE cargo
SET name = 'tea';
-- Only tea.
END
$$;
`
	const older = `--
-- PostgreSQL database dump
--

-- Dumped from database version 15.14 (Debian 15.14-0+deb12u1)
-- Dumped by pg_dump version 15.14 (Debian 15.14-0+deb12u1)

SET statement_timeout = 0;
SET client_encoding = 'UTF8';
SELECT pg_catalog.set_config('search_path', '', false);
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

` + body + `

--
-- PostgreSQL database dump complete
--

`
	newer := strings.Replace(older, "--\n\n-- Dumped from", "--\n\n\\restrict abcDEF123\n\n-- Dumped from", 1)
	newer = strings.Replace(newer, "SET client_encoding", "SET transaction_timeout = 0;\nSET client_encoding", 1)
	newer = strings.ReplaceAll(newer, "15.14", "18.1") + "\\unrestrict abcDEF123\n\n"
	want := strings.ReplaceAll(body, "\n\n\n", "\n\n")
	for name, dump := range map[string]string{"older": older, "newer": newer} {
		if got := normalizeDump(dump); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestFunctionSet_InvalidNumber_LoadReturnsError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a migration without a number":   {map[string]string{"migrations/cargo.sql": "", "functions/VERSION": "1 x"}, "migration cargo.sql"},
		"functions without a number":     {map[string]string{"migrations/1_cargo.sql": ""}, "read functions/VERSION"},
		"a VERSION without a hash":       {map[string]string{"functions/VERSION": "1"}, "a number and a hash"},
		"a VERSION that is not a number": {map[string]string{"functions/VERSION": "one x"}, "begin with a number"},
		"a negative VERSION":             {map[string]string{"functions/VERSION": "-1 x"}, "begin with a number"},
		"a VERSION beyond int":           {map[string]string{"functions/VERSION": "2147483648 x"}, "begin with a number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(mapFS(c.files))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one with %q", err, c.want)
			}
		})
	}
}

func mapFS(files map[string]string) fstest.MapFS {
	folder := fstest.MapFS{"migrations": {Mode: 0o755 | 1<<31}}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return folder
}

func TestFunctionSet_Hash_CoversNamesAndTexts(t *testing.T) {
	t.Parallel()
	base := map[string]string{
		"migrations/00001_a.sql": "m", "functions/a.sql": "one", "functions/b.sql": "two", "functions/VERSION": "1 -",
	}
	seen := map[string]string{}
	for name, change := range map[string][2]string{
		"nothing":         {"functions/VERSION", "1 -"},
		"a migration":     {"migrations/00001_a.sql", "n"},
		"a new migration": {"migrations/00002_b.sql", ""},
		"a function":      {"functions/a.sql", "One"},
		"a new function":  {"functions/c.sql", ""},
		"the number":      {"functions/VERSION", "2 -"},
		"text moved to b": {"functions/b.sql", "onetwo"},
	} {
		files := map[string]string{}
		for file, text := range base {
			files[file] = text
		}
		files[change[0]] = change[1]
		set, err := Load(mapFS(files))
		if err != nil {
			t.Fatal(err)
		}
		hash, err := set.Hash()
		if err != nil || seen[hash] != "" {
			t.Errorf("%s: the same hash as %s, %v", name, seen[hash], err)
		}
		seen[hash] = name
	}
}

func TestFunctionSet_Number_RecordedOrNot(t *testing.T) {
	t.Parallel()
	files := map[string]string{"functions/a.sql": "one", "functions/VERSION": "7 -"}
	set, err := Load(mapFS(files))
	if err != nil || set.Numbered() {
		t.Fatalf("%v, %v", set, err)
	}
	files["functions/VERSION"] = set.Functions().String() + "\n"
	again, err := Load(mapFS(files))
	if err != nil || !again.Numbered() || again.Functions() != set.Functions() {
		t.Errorf("got %+v, %v", again.Functions(), err)
	}
}

func FuzzParseFunctionSet(f *testing.F) {
	f.Add("3 0123abcd\n")
	f.Add("")
	f.Add("-1 x")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := parseFunctionSet(text)
		if err != nil {
			return
		}
		if again, err := parseFunctionSet(set.String()); err != nil || again != set {
			t.Errorf("%q: %v became %v, %v", text, set, again, err)
		}
	})
}
