package admin

import (
	"encoding/json"
	"os"

	"github.com/berthd/berth/cmd/berth/config"
)

// policyChecks checks the policy files: their format, as placement-status does, and their
// content.
func policyChecks(settings *config.Settings) []checked {
	form, content := passed("Policy File JSON to YAML Migration"), passed("Policy Files")
	opened, problems, err := settings.OpenPolicy()
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
				form = found(form.Check, checkFailure, path+" is JSON. Berth reads it, but current OpenStack services do not: convert it to YAML")
				break
			}
		}
	}
	return []checked{form, content}
}
