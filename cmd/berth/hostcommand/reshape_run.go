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
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/terminal"
)

// reshapeRun is one run of `berth reshape`.
type reshapeRun struct {
	*frame.Frame
	service *client.Client
	options *reshapeOptions
	plan    *planfile.Plan // nil: the tree follows the hardware of this host
	log     *slog.Logger
	// undo is the file for the undo plan; nil: none.
	undo *undoFile
}

func newReshaping(f *frame.Frame, service *client.Client, options *reshapeOptions, plan *planfile.Plan, log *slog.Logger) *reshapeRun {
	return &reshapeRun{Frame: f, service: service, options: options, plan: plan, log: log}
}

// reshapedHost is a host with its driver and its changes.
type reshapedHost struct {
	node    agent.Node
	driver  agent.Driver
	tracker *agent.Tracker
	// changes and reshape are the result of the preview.
	changes *draw.Changes
	reshape bool
	applied bool
}

// run prints the difference, and applies it with --apply. If the preview of one host fails, it
// changes no host.
func (r *reshapeRun) run(ctx context.Context) error {
	if err := r.chooseUndoFile(); err != nil {
		return err
	}
	hosts, err := r.findHosts(ctx)
	if err != nil {
		return err
	}
	failed := r.preview(ctx, hosts)
	if failed != nil && r.options.apply {
		return fmt.Errorf("no changes applied: %w", failed)
	}
	hosts = slices.DeleteFunc(hosts, func(host *reshapedHost) bool { return host.changes == nil })
	if *r.options.output == frame.OutputTable {
		if err := r.show(hosts); err != nil {
			return err
		}
	}
	if r.options.apply && hasChanges(hosts) {
		if err := r.confirm(); err != nil {
			return err
		}
		failed = r.apply(ctx, hosts)
	}
	return errors.Join(failed, r.report(hosts))
}

// hasChanges reports whether any host has changes.
func hasChanges(hosts []*reshapedHost) bool {
	for _, host := range hosts {
		if !host.changes.Empty() {
			return true
		}
	}
	return false
}

// hostsByName returns the names of the hosts in order, and the hosts by name.
func hostsByName(hosts []*reshapedHost) (all []string, byName map[string]*reshapedHost) {
	byName = map[string]*reshapedHost{}
	for _, host := range hosts {
		all = append(all, host.node.Name)
		byName[host.node.Name] = host
	}
	return all, byName
}

// preview computes the changes of each host without any write.
func (r *reshapeRun) preview(ctx context.Context, hosts []*reshapedHost) error {
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

// show prints the changes of each host.
func (r *reshapeRun) show(hosts []*reshapedHost) error {
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
			if err := r.Printf("%s: no changes.", host.node.Name); err != nil {
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

// confirm prompts on the terminal unless --yes is given. It returns an error unless the answer is "yes".
func (r *reshapeRun) confirm() error {
	if r.options.yes {
		return nil
	}
	fmt.Fprint(r.Stderr, "\nApply these changes? Enter 'yes' to continue: ")
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return errors.New("reshape canceled: not confirmed; answer 'yes' or pass --yes")
	}
	return nil
}

// apply reshapes the hosts one after the other. It reads their trees again: the driver computes the changes from the
// current state, and the server returns a generation conflict if that changes before the write.
func (r *reshapeRun) apply(ctx context.Context, hosts []*reshapedHost) error {
	all, byName := hostsByName(hosts)
	return r.ForEach(all, func(name string) error {
		host := byName[name]
		if host.changes.Empty() {
			return nil
		}
		if plan, recorded := host.driver.(*recordedPlan); recorded {
			plan.file = r.undo
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
	// Reshape is true if inventory that may be in use moves.
	Reshape bool `json:"reshape"`
	// Applied is true if the command made the changes.
	Applied bool          `json:"applied"`
	Changes *draw.Changes `json:"changes"`
}

// report prints the reshaped hosts, and the command that undoes or applies the changes.
func (r *reshapeRun) report(hosts []*reshapedHost) error {
	written := r.undo != nil && r.undo.written
	if frame.IsDocument(*r.options.output) {
		document := ReshapeDocument{Hosts: []reshapeHostDocument{}}
		for _, host := range hosts {
			document.Hosts = append(document.Hosts, reshapeHostDocument{host.node.Name, host.node.UUID, host.reshape, host.applied, host.changes})
		}
		if written {
			document.Inverse = &r.undo.path
		}
		return frame.WriteDocument(r.Stdout, *r.options.output, document)
	}
	anyApplied := false
	for _, host := range hosts {
		if host.applied {
			anyApplied = true
			if err := r.Printf("%s: reshaped.", host.node.Name); err != nil {
				return err
			}
		}
	}
	switch {
	case written && !anyApplied:
		return r.Printf("If the server applied changes, undo them: berth reshape %s", r.undo.path)
	case written:
		return r.Printf("To undo: berth reshape %s", r.undo.path)
	case !r.options.apply && hasChanges(hosts):
		return r.Printf("No changes applied; to apply them, add --apply.")
	}
	return nil
}
