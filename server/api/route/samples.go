package route

import (
	"embed"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// sampleFiles are the programs that the documents show for the main operations, by operation id and language. Tests run
// them against a server at another address.
//
//go:embed _samples
var sampleFiles embed.FS

// sample is one element of x-codeSamples, which Redoc and other tools show.
type sample struct {
	Language string `json:"lang"`
	Label    string `json:"label"`
	Source   string `json:"source"`
}

// sampleLanguages are the languages in the order of the documents.
var sampleLanguages = []struct{ extension, language, label string }{
	{"sh", "Shell", "curl"},
	{"py", "Python", "Python (openstacksdk)"},
	{"go", "Go", "Go"},
	{"ts", "TypeScript", "TypeScript (openapi-fetch)"},
}

// publishSamples adds the samples of an operation. They are written for the newest microversion of the API, so that only
// its documents have them.
func (p *publisher) publishSamples(op *huma.Operation) {
	if p.at < p.api.Max {
		return
	}
	var samples []sample
	for _, of := range sampleLanguages {
		source, err := sampleFiles.ReadFile("_samples/" + op.OperationID + "." + of.extension)
		if err != nil {
			continue // the operation has no samples
		}
		samples = append(samples, sample{of.language, of.label, strings.TrimSpace(string(source))})
	}
	if len(samples) == 0 {
		return
	}
	if op.Extensions == nil {
		op.Extensions = map[string]any{}
	}
	op.Extensions["x-codeSamples"] = samples
}
