// Package scenario runs files of HTTP requests with the answers that they must
// get. A file is a story about one theme, written in YAML: each step sends a
// request and states the status, the headers, the JSON and what changed in the
// database. Every file has a server and a database of its own, so files run at
// the same time, while the steps of a file run in order.
//
// A run also records every answer, so that a list of what the API promises can
// be held against what the scenarios have seen (see Promises).
//
// It is imported by tests only. It knows HTTP, JSON and the database's diff, but
// nothing of the Placement API: what is true of every answer of an API is given
// to it as a function. It is not for load or for concurrency, which need Go.
package scenario

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// File is one scenario file.
type File struct {
	// Theme is the file's name without its ending.
	Theme string `yaml:"-"`
	// About says in a sentence what the file shows.
	About string `yaml:"about"`
	// Version is the microversion of the steps that name none.
	Version yaml.Node `yaml:"version"`
	// Settings are the server's, for the function that makes it.
	Settings yaml.Node `yaml:"settings"`
	// Values are names that stand for more than a generated uuid.
	Values map[string]Text `yaml:"values"`
	// Given are requests that must succeed; they set the stage.
	Given []Step `yaml:"given"`
	Steps []Step `yaml:"steps"`
}

// Step is a request and what is expected of its answer. What is left out is not
// checked, but for the status.
type Step struct {
	// Name is a sentence.
	Name string `yaml:"name"`
	// Request is the method, a space and the target, which is sent as it is.
	Request string `yaml:"request"`
	// Version is the microversion to ask for; null sends no header.
	Version yaml.Node `yaml:"version"`
	// Headers are sent beside the usual ones or instead of them; null: not sent.
	Headers map[string]HeaderValues `yaml:"headers"`
	// Body is sent as JSON, keys in their order; Raw is sent as it is.
	Body yaml.Node `yaml:"body"`
	Raw  *string   `yaml:"raw"`

	Status int `yaml:"status"`
	// JSON is the whole answer; JSONHas is a part of it.
	JSON    yaml.Node `yaml:"json"`
	JSONHas yaml.Node `yaml:"json_has"`
	// Error is the only error in the answer.
	Error *Failure `yaml:"error"`
	// ResponseHeaders must have these values; null: there is no such header.
	ResponseHeaders map[string]*string `yaml:"response_headers"`
	// Text is found in the body as it arrived.
	Text Texts `yaml:"text"`
	// Changes are what the step changed in the database, all of it.
	Changes *[]string `yaml:"changes"`
	// Save keeps parts of the answer under names for later steps.
	Save map[string]string `yaml:"save"`
	// Versions runs the step once at each of these microversions.
	Versions []string `yaml:"versions"`
}

// Failure is an error as a step expects it.
type Failure struct {
	// Code is compared if it is given; null: there is none.
	Code yaml.Node `yaml:"code"`
	// Phrase is contained in the detail.
	Phrase string `yaml:"phrase"`
}

// Text is a string, or one that repeats another.
type Text string

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Text) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = Text(node.Value)
		return nil
	}
	var long struct {
		Repeat string `yaml:"repeat"`
		Times  int    `yaml:"times"`
	}
	if err := node.Decode(&long); err != nil {
		return err
	}
	*t = Text(strings.Repeat(long.Repeat, long.Times))
	return nil
}

// Texts is one string or a list of them.
type Texts []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Texts) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = Texts{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}

// HeaderValues are the values of one request header: one, several for a header
// that is repeated, or none for one that is left out.
type HeaderValues []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (h *HeaderValues) UnmarshalYAML(node *yaml.Node) error {
	switch {
	case node.Kind == yaml.SequenceNode:
		return node.Decode((*[]string)(h))
	case node.Tag != "!!null":
		*h = HeaderValues{node.Value}
	}
	return nil
}

// Load reads all files of a folder, in the order of their names.
func Load(folder fs.FS) ([]*File, error) {
	names, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, err
	}
	files := make([]*File, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		file, err := Parse(strings.TrimSuffix(path.Base(name), ".yaml"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// Parse reads one file. A key that is not known is an error, since what it was
// meant to check would not be checked.
func Parse(theme string, text []byte) (*File, error) {
	file := &File{Theme: theme}
	if err := decode(text, file); err != nil {
		return nil, err
	}
	if file.About == "" {
		return nil, fmt.Errorf("about is missing")
	}
	seen := map[string]bool{}
	for i := range file.Steps {
		step := &file.Steps[i]
		switch {
		case step.Name == "" || seen[step.Name]:
			return nil, fmt.Errorf("step %d (%s): the name is missing or not unique: %q", i+1, step.Request, step.Name)
		case step.Status == 0:
			return nil, fmt.Errorf("step %q: the status is missing", step.Name)
		}
		seen[step.Name] = true
	}
	for _, step := range append(file.Given, file.Steps...) {
		if _, _, ok := strings.Cut(step.Request, " "); !ok {
			return nil, fmt.Errorf("step %q: a request is a method and a target, not %q", step.Name, step.Request)
		}
	}
	return file, nil
}

// optional is the text of a scalar, nil for null. Numbers keep their spelling:
// 1.10 is not 1.1. given tells null from what was left out.
func optional(node *yaml.Node) (text *string, given bool) {
	if node.Kind == 0 {
		return nil, false
	}
	if node.Tag == "!!null" {
		return nil, true
	}
	return &node.Value, true
}

func decode(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

// DecodeSettings reads the file's settings into a struct that must know all of
// them. Where the file has none, the struct stays as it is.
func (f *File) DecodeSettings(into any) error {
	if f.Settings.Kind == 0 {
		return nil
	}
	text, err := yaml.Marshal(&f.Settings)
	if err != nil {
		return err
	}
	return decode(text, into)
}
