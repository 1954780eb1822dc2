// Package scenario runs files of HTTP requests with their expected responses. A file is a story
// about one theme, written in YAML: each step sends a request and states the status, the headers,
// the JSON and the changes in the database. Every file has its own server and database, so files
// run in parallel, while the steps of a file run in order.
//
// A run also records every response, so that a test can compare the documented responses of the API
// with those of the scenarios (see Expectations).
//
// It is for tests only. It depends on HTTP, JSON and the diff of the database, but not on the
// Placement API: the caller passes checks of all responses as a function. It is not for load or
// concurrency, which need Go.
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
	// Theme is the name of the file without its extension.
	Theme string `yaml:"-"`
	// About is a sentence about the content of the file.
	About string `yaml:"about"`
	// Version is the microversion of steps without one.
	Version yaml.Node `yaml:"version"`
	// Settings are the settings of the server, for the function that starts it.
	Settings yaml.Node `yaml:"settings"`
	// Values are the names with a value other than a generated UUID.
	Values map[string]Text `yaml:"values"`
	// Given are the preparing requests, which must succeed.
	Given []Step `yaml:"given"`
	Steps []Step `yaml:"steps"`
}

// Step is a request and its expected response. Omitted members are not checked, except the status.
type Step struct {
	// Name is a sentence.
	Name string `yaml:"name"`
	// Request is the method, a space and the target, which is sent unchanged.
	Request string `yaml:"request"`
	// Version is the requested microversion; null sends no header.
	Version yaml.Node `yaml:"version"`
	// Headers add to the default headers or replace them; null removes one.
	Headers map[string]HeaderValues `yaml:"headers"`
	// Body is sent as JSON with the members in order; Raw is sent unchanged.
	Body yaml.Node `yaml:"body"`
	Raw  *string   `yaml:"raw"`

	Status int `yaml:"status"`
	// JSON is the whole body; JSONHas is a part of it.
	JSON    yaml.Node `yaml:"json"`
	JSONHas yaml.Node `yaml:"json_has"`
	// Error is the only error in the body.
	Error *Failure `yaml:"error"`
	// ResponseHeaders are the values of headers; null: the header is absent.
	ResponseHeaders map[string]*string `yaml:"response_headers"`
	// Text is contained in the received body.
	Text Texts `yaml:"text"`
	// Changes are all changes of the step in the database.
	Changes *[]string `yaml:"changes"`
	// Save stores parts of the response under names for later steps.
	Save map[string]string `yaml:"save"`
	// Versions are microversions; the step runs once with each of them.
	Versions []string `yaml:"versions"`
}

// Failure is an expected error.
type Failure struct {
	// Code is compared if it is set; null: the error has none.
	Code yaml.Node `yaml:"code"`
	// Phrase is contained in the detail.
	Phrase string `yaml:"phrase"`
}

// Text is a string, or a repeated string.
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

// Texts is one string or a list of strings.
type Texts []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Texts) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = Texts{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}

// HeaderValues are the values of one request header: one, several for a repeated header, or none
// for a removed header.
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

// Load reads all files of a directory, sorted by name.
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

// Parse parses one file. An unknown member is an error, because its check would not run.
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

// Request is a step at one microversion; empty: it requests none.
type Request struct {
	Step    *Step
	Version string
}

// requests returns the requests of the steps in order: a step with versions is one for each.
func (f *File) requests() (all []Request) {
	for i := range f.Steps {
		step := &f.Steps[i]
		if len(step.Versions) == 0 {
			all = append(all, Request{step, f.version(step)})
		}
		for _, version := range step.Versions {
			all = append(all, Request{step, version})
		}
	}
	return all
}

// version returns the requested microversion of a step without versions; empty: none.
func (f *File) version(step *Step) string {
	wanted, given := optional(&step.Version)
	if !given {
		wanted, _ = optional(&f.Version)
	}
	if wanted == nil {
		return ""
	}
	return *wanted
}

// optional returns the text of a scalar, nil for null. Numbers keep their text, because 1.10 is not
// 1.1. given distinguishes null from an omitted member.
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

// DecodeSettings decodes the settings of the file into a struct, which must have a field for each.
// Without settings the struct is unchanged.
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
