package console

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/demo"
)

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

// audit leads to the page of the consistency check from its former address.
func (v *visit) audit() error { return v.redirect(v.href("/consistency")) }

// consistency shows the result of the last consistency check that a timer stored.
func (v *visit) consistency() error {
	// The file has rows of all projects. Its readers are the callers who may list all providers.
	for _, err := range v.c.api.Providers(v.ctx(), client.ProviderQuery{PageSize: 1}) {
		if err != nil {
			return err
		}
		break
	}
	result, err := readCheckResult(v.c.options.Settings.CheckResult)
	v.head("Consistency check", "consistency", result)
	v.frame.AsOf = result.At
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

// maxSampleCalls and sampleTimeout bound the request that loads the sample data.
const (
	maxSampleCalls = 2000
	sampleTimeout  = 5 * time.Minute
)

// startPage is the data of the first steps: the address of the API and commands that use it.
type startPage struct{ Address, Versions, Problem, Nova, Agent, Remove string }

// start shows what runs, and how to fill it.
func (v *visit) start() error { return v.startWith("") }

func (v *visit) startWith(problem string) error {
	found, err := v.c.api.VersionList(v.ctx())
	if err != nil {
		return err
	}
	address := requestBase(v.r) + strings.TrimSuffix(v.base, "/console")
	page := startPage{Address: address, Problem: problem}
	page.Nova = "openstack endpoint create --region RegionOne placement internal " + address
	page.Remove = "berth demo --remove --url " + address
	page.Agent = "berth agent --url " + address + " --dry-run"
	for _, version := range found {
		page.Versions = version.MinVersion + " to " + version.MaxVersion
	}
	v.head("First steps", "", page)
	return nil
}

// loadSample loads the sample data with the identity of the caller. It never adds to providers of others. It ends neither
// with the time of a page nor with the connection of the browser, which would leave a part of the data.
func (v *visit) loadSample() error {
	v.calls.max, v.calls.writes = maxSampleCalls, true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx()), sampleTimeout)
	defer cancel()
	_, err := demo.Load(ctx, v.c.api, demo.Options{Hosts: demo.DefaultHosts})
	switch {
	case err == nil:
		return v.redirect(v.base)
	case errors.Is(err, demo.ErrForeign), errors.Is(err, demo.ErrLoaded):
		return v.startWith(err.Error() + ". Nothing was changed.")
	}
	return err
}
