package console

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/berthd/berth/client"
)

func (c *Console) auditRoutes() { c.page("GET /audit", "audit", (*visit).audit) }

// checkResult is the output of `berth db check --output json`.
type checkResult struct {
	Count, Repairable int64
	Checks            []struct {
		Check, Title string
		Repair       string
		ManualAction string `json:"manual_action"`
		Count        int64
		Findings     []json.RawMessage
	}
	// At is when the file was written; File is its name, empty without the setting.
	At   time.Time `json:"-"`
	File string    `json:"-"`
}

// maxCheckResult bounds the file; a check prints at most 100 rows for each of its queries.
const maxCheckResult = 16 << 20

// audit shows the result of the last consistency check that a timer stored.
func (v *visit) audit() error {
	v.frame.Title, v.frame.Nav = "Audit", "audit"
	// The file has rows of all projects. Its readers are the callers who may list all providers.
	for _, err := range v.c.api.Providers(v.ctx(), client.ProviderQuery{PageSize: 1}) {
		if err != nil {
			return err
		}
		break
	}
	result, err := readCheckResult(v.c.options.Settings.CheckResult)
	v.frame.AsOf, v.frame.Body = result.At, result
	return err
}

func readCheckResult(file string) (checkResult, error) {
	result := checkResult{File: file}
	if file == "" {
		return result, nil
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return result, nil
	}
	if err != nil || info.Size() > maxCheckResult {
		return result, invalid("the file of --db-check-result cannot be read, or is larger than 16 MiB")
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err != nil {
		return result, invalid("the file of --db-check-result is not the output of 'berth db check --output json': %v", err)
	}
	result.At = info.ModTime()
	return result, nil
}
