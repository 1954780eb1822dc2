package console

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/berthd/berth/internal/demo"
)

func (c *Console) startRoutes() {
	c.page("GET /start", "start", (*visit).start)
	c.page("POST /start", "start", (*visit).loadSample)
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
	for _, one := range found {
		page.Versions = one.MinVersion + " to " + one.MaxVersion
	}
	v.frame.Title, v.frame.Nav, v.frame.Body = "First steps", "", page
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
