package tokens

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// form is the file as written.
type form struct {
	Tokens []yaml.Node `yaml:"tokens"`
}

// entryForm is an entry as written. Times are texts, so that errors can state what to write.
type entryForm struct {
	ID          string   `yaml:"id"`
	SHA256      string   `yaml:"sha256"`
	User        string   `yaml:"user"`
	Project     string   `yaml:"project,omitempty"`
	Domain      string   `yaml:"domain,omitempty"`
	System      bool     `yaml:"system,omitempty"`
	Roles       []string `yaml:"roles,flow"`
	Created     string   `yaml:"created,omitempty"`
	Expires     string   `yaml:"expires,omitempty"`
	Description string   `yaml:"description,omitempty"`
}

// members lists the keys of an entry.
var members = []string{"id", "sha256", "user", "project", "domain", "system", "roles", "created", "expires", "description"}

// errEmpty is the error of a file without content, which a full disk leaves.
var errEmpty = errors.New(`it is empty; write "tokens: []" for a file without tokens`)

// parse returns the entries in a file. Its errors contain no hash, and no more than the start of a value.
func parse(data []byte) ([]Entry, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var document form
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errEmpty
	case err != nil:
		return nil, fmt.Errorf("it is not a YAML map with the key tokens: %s", reasonOf(err))
	case document.Tokens == nil:
		return nil, errEmpty
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one YAML document")
	}
	entries := make([]Entry, 0, len(document.Tokens))
	ids, hashes := map[string]bool{}, map[hash]bool{}
	for i := range document.Tokens {
		node := &document.Tokens[i]
		entry, err := parseEntry(node)
		switch {
		case err != nil:
		case ids[entry.ID]:
			err = fmt.Errorf("the id %s is in the file twice", entry.ID)
		case hashes[entry.hash]:
			err = fmt.Errorf("the token %s is in the file twice, with different ids", entry.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", node.Line, err)
		}
		ids[entry.ID], hashes[entry.hash] = true, true
		entries = append(entries, entry)
	}
	return entries, nil
}

// reasonOf returns the text of an error of the YAML library on one line.
func reasonOf(err error) string {
	return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
}

func parseEntry(node *yaml.Node) (Entry, error) {
	if node.Kind != yaml.MappingNode {
		return Entry{}, errors.New("the token is not a map of " + strings.Join(members, ", "))
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i]; key.Kind != yaml.ScalarNode || !slices.Contains(members, key.Value) {
			return Entry{}, fmt.Errorf("the token has an unknown key %q; keys are %s", shortened(key.Value), strings.Join(members, ", "))
		}
	}
	var written entryForm
	if err := node.Decode(&written); err != nil {
		return Entry{}, errors.New(reasonOf(err))
	}
	return written.entry()
}

// entry converts an entry as written and validates it.
func (f *entryForm) entry() (Entry, error) {
	result := Entry{
		ID: f.ID, User: f.User, Project: f.Project, Domain: f.Domain, System: f.System, Roles: f.Roles, Description: f.Description,
	}
	if err := result.validate(); err != nil {
		return Entry{}, err
	}
	sum, err := hex.DecodeString(f.SHA256)
	if err != nil || len(sum) != len(result.hash) {
		return Entry{}, fmt.Errorf("sha256 of the token %s is not 64 hexadecimal digits; write the SHA-256 of the token, never the token itself", f.ID)
	}
	copy(result.hash[:], sum)
	for _, each := range []struct {
		name, text string
		into       *time.Time
	}{{"created", f.Created, &result.Created}, {"expires", f.Expires, &result.Expires}} {
		if each.text == "" {
			continue
		}
		if *each.into, err = time.Parse(time.RFC3339, each.text); err != nil {
			return Entry{}, fmt.Errorf("%s of the token %s is %q, which is not a time; write it as 2027-01-31T00:00:00Z", each.name, f.ID, shortened(each.text))
		}
	}
	return result, nil
}

// encode returns the file with these entries.
func encode(entries []Entry) ([]byte, error) {
	written := struct {
		Tokens []entryForm `yaml:"tokens"`
	}{Tokens: []entryForm{}}
	for i := range entries {
		entry := &entries[i]
		written.Tokens = append(written.Tokens, entryForm{
			ID: entry.ID, SHA256: hex.EncodeToString(entry.hash[:]), User: entry.User, Project: entry.Project, Domain: entry.Domain,
			System: entry.System, Roles: entry.Roles, Created: timeText(entry.Created), Expires: timeText(entry.Expires),
			Description: entry.Description,
		})
	}
	return yaml.Marshal(written)
}

// timeText returns a time as in the file; empty for the zero time.
func timeText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
