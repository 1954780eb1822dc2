package main

import (
	"encoding/json"
	"os"
)

// policyChecks look at the policy files: at their form, as the service before did, and
// at what they say.
func policyChecks(settings *Settings) []checked {
	form, content := passed("Policy File JSON to YAML Migration"), passed("Policy Files")
	opened, problems, err := settings.openPolicy()
	switch {
	case err != nil:
		content = found(content.Check, checkFailure, err.Error())
	case len(problems) > 0:
		var texts []string
		for _, problem := range problems {
			texts = append(texts, problem.String())
		}
		content = found(content.Check, checkWarning, texts...)
	}
	if opened != nil {
		for _, path := range opened.Paths() {
			if text, err := os.ReadFile(path); err == nil && json.Valid(text) {
				form = found(form.Check, checkFailure, path+" is written in JSON. Berth reads it, the newest of the services before do not: write it in YAML")
				break
			}
		}
	}
	return []checked{form, content}
}
