package hostcommand

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/agent/planfile"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/terminal"
)

// reshaping is one run of `berth reshape`.
type reshaping struct {
	*frame.Frame
	service          *client.Client
	candidateRequest *reshapeOptions
	plan             *planfile.Plan // nil: this machine is asked
	log              *slog.Logger
	// back is the undo plan; nil if there is none.
	back *inverseFile
}

func newReshaping(f *frame.Frame, service *client.Client, options *reshapeOptions, plan *planfile.Plan, log *slog.Logger) *reshaping {
	return &reshaping{Frame: f, service: service, candidateRequest: options, plan: plan, log: log}
}

// reshapedHost is one host with what is to happen to it.
type reshapedHost struct {
	node    agent.Node
	driver  agent.Driver
	tracker *agent.Tracker
	// changes and reshape are what the preview says.
	changes *draw.Changes
	reshape bool
	applied bool
}

// run prints the difference, and applies it with --apply. If the preview of one host fails, it
// changes no host.
func (r *reshaping) run(ctx context.Context) error {
	if err := r.chooseInverse(); err != nil {
		return err
	}
	hosts, err := r.driverFor(ctx)
	if err != nil {
		return err
	}
	failed := r.preview(ctx, hosts)
	if failed != nil && r.candidateRequest.apply {
		return fmt.Errorf("nothing was done: %w", failed)
	}
	hosts = slices.DeleteFunc(hosts, func(host *reshapedHost) bool { return host.changes == nil })
	if r.candidateRequest.output == "table" {
		if err := r.show(hosts); err != nil {
			return err
		}
	}
	if r.candidateRequest.apply && anyDiffers(hosts) {
		agreed, err := r.agreed()
		if err != nil || !agreed {
			return err
		}
		failed = r.apply(ctx, hosts)
	}
	return errors.Join(failed, r.report(hosts))
}

func anyDiffers(hosts []*reshapedHost) bool {
	for _, host := range hosts {
		if !host.changes.Empty() {
			return true
		}
	}
	return false
}

// hostsByName are also the arguments of ForEach.
func hostsByName(hosts []*reshapedHost) (all []string, byName map[string]*reshapedHost) {
	byName = map[string]*reshapedHost{}
	for _, host := range hosts {
		all = append(all, host.node.Name)
		byName[host.node.Name] = host
	}
	return all, byName
}

// preview asks the drivers and writes nothing.
func (r *reshaping) preview(ctx context.Context, hosts []*reshapedHost) error {
	all, byName := hostsByName(hosts)
	return r.ForEach(all, func(name string) error {
		host := byName[name]
		// Each host has its own driver state, so that data of one host cannot affect the tree of
		// another.
		r.service.ClearCache()
		host.tracker = agent.NewTracker(r.service, host.driver, host.node, agent.Options{Log: r.log})
		preview, err := host.tracker.Preview(ctx)
		if err != nil {
			return frame.About(name, err)
		}
		host.reshape = preview.Reshape
		host.changes = draw.Compare(draw.Forest{Nodes: preview.Before.Nodes(), Allocations: preview.Had},
			draw.Forest{Nodes: preview.After.Nodes(), Allocations: preview.Have})
		return nil
	})
}

// show draws the differences.
func (r *reshaping) show(hosts []*reshapedHost) error {
	variables := frame.Environment(r.Environ)
	isTerminal, columns := terminal.Of(r.Stdout)
	style := draw.Style{
		Color: terminal.HasColor("auto", variables, isTerminal), Width: terminal.Columns(variables, columns), ASCII: !terminal.HasUnicode(variables),
	}
	for i, host := range hosts {
		if i > 0 {
			fmt.Fprintln(r.Stdout)
		}
		if host.changes.Empty() {
			if err := r.Printf("%s: nothing to do.", host.node.Name); err != nil {
				return err
			}
			continue
		}
		if err := host.changes.Text(r.Stdout, style); err != nil {
			return err
		}
	}
	return nil
}

// agreed asks the person at the terminal.
func (r *reshaping) agreed() (bool, error) {
	if r.candidateRequest.yes {
		return true, nil
	}
	fmt.Fprint(r.Stderr, "\nDo this? Only 'yes' does it: ")
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return false, errors.New("reshape canceled: not confirmed; answer 'yes' or pass --yes")
	}
	return true, nil
}

// apply does what was shown, host by host. The trees are read again: a driver works
// on what is there then, and the service refuses what was computed from less.
func (r *reshaping) apply(ctx context.Context, hosts []*reshapedHost) error {
	all, byName := hostsByName(hosts)
	return r.ForEach(all, func(name string) error {
		host := byName[name]
		if host.changes.Empty() {
			return nil
		}
		if plan, recorded := host.driver.(*recordedPlan); recorded {
			plan.file = r.back
		}
		r.service.ClearCache()
		if err := host.tracker.Update(ctx, true); err != nil {
			return err
		}
		host.applied = true
		return nil
	})
}

// ReshapeDocument is the output of `berth reshape --output json`. The member names are stable,
// because scripts read them.
type ReshapeDocument struct {
	Hosts []reshapeHostDocument `json:"hosts"`
	// Inverse is the file with the undo plan, if one was written.
	Inverse *string `json:"undo_plan"`
}

type reshapeHostDocument struct {
	Name string    `json:"name"`
	UUID uuid.UUID `json:"uuid"`
	// Reshape: inventory that may be in use has to be moved.
	Reshape bool `json:"reshape"`
	// Applied: the changes were made.
	Applied bool          `json:"applied"`
	Changes *draw.Changes `json:"changes"`
}

// report says at the end what was done, and what to do next.
func (r *reshaping) report(hosts []*reshapedHost) error {
	written := r.back != nil && r.back.written
	if r.candidateRequest.output == "json" {
		document := ReshapeDocument{Hosts: []reshapeHostDocument{}}
		for _, host := range hosts {
			document.Hosts = append(document.Hosts, reshapeHostDocument{host.node.Name, host.node.UUID, host.reshape, host.applied, host.changes})
		}
		if written {
			document.Inverse = &r.back.path
		}
		return frame.PrintAs(r.Stdout, r.candidateRequest.output, document, nil)
	}
	done := false
	for _, host := range hosts {
		if host.applied {
			done = true
			if err := r.Printf("%s: done.", host.node.Name); err != nil {
				return err
			}
		}
	}
	switch {
	case written && !done:
		return r.Printf("Should a part of it have been done, this leads back: berth reshape %s", r.back.path)
	case written:
		return r.Printf("To undo: berth reshape %s", r.back.path)
	case !r.candidateRequest.apply && anyDiffers(hosts):
		return r.Printf("Nothing was done; --apply does it.")
	}
	return nil
}
