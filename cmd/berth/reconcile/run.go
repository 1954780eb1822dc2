package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// maxWithoutSource is the number of consumers up to which an empty source is believed.
const maxWithoutSource = 10

// run is one run of `berth reconcile`.
type run struct {
	*frame.Frame
	service  *client.Client
	source   source
	options  *options
	progress *progressLine
	started  time.Time
}

// reading is what the server and the source had at about the same time, and the differences.
type reading struct {
	state    *state
	known    *knowledge
	findings []Finding
}

// compare reads both sides, repairs the differences with --repair, and prints them.
func (r *run) compare(ctx context.Context) error {
	defer r.progress.end()
	found, err := r.readTwice(ctx)
	if err != nil {
		return err
	}
	fixer := &repairer{r.options.repairs, r.service, found.state, found.known}
	changes, err := fixer.changes(ctx, found.findings, r.progress)
	if err != nil {
		return err
	}
	r.progress.end()
	for _, note := range found.known.notes {
		fmt.Fprintf(r.Stderr, "berth: not compared: %s\n", note)
	}
	address, err := r.service.Address(ctx)
	if err != nil {
		return err
	}
	plan := &Plan{Version: planVersion, CreatedAt: r.started.UTC(), Source: r.source.name(), Service: address, Changes: changes}
	report := &report{Source: plan.Source, Service: plan.Service, Consumers: len(found.state.consumers),
		Servers: len(found.known.servers), Findings: found.findings, hasPlan: len(changes) > 0}
	if len(changes) > 0 && (r.options.repair || r.options.savePlan != "") {
		if err = r.options.checkLimit(changes, found.state); err == nil {
			err = r.write(plan, report)
		}
	}
	if shown := report.show(r.Frame, *r.options.output); shown != nil {
		return errors.Join(err, shown)
	}
	if err == nil && r.options.repair && len(changes) > 0 {
		err = r.execute(ctx, plan, report.Plan, report.note)
	}
	return r.finish(report, err)
}

// readTwice returns the differences that exist in two readings, --settle apart. It reads once if the first has none.
func (r *run) readTwice(ctx context.Context) (*reading, error) {
	first, err := r.read(ctx)
	if err != nil || len(first.findings) == 0 {
		return first, err
	}
	second := first
	if r.options.settle > 0 {
		r.progress.show("waiting %s for changes in progress", r.options.settle)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(r.options.settle):
		}
		if second, err = r.read(ctx); err != nil {
			return nil, err
		}
		second.findings = seenTwice(first.findings, second.findings)
	}
	return second, r.confirmOrphans(ctx, second)
}

// read reads the server, then the source, and compares them. In this order a consumer whose server was created in between
// is known to the source.
func (r *run) read(ctx context.Context) (*reading, error) {
	now := &reading{}
	var err error
	if now.state, err = readState(ctx, r.service, r.progress); err != nil {
		return nil, err
	}
	if now.known, err = r.source.read(ctx, r.progress); err != nil {
		return nil, fmt.Errorf("the source %s failed; nothing was repaired: %w", r.source.name(), err)
	}
	if count := len(now.state.consumers); len(now.known.servers) == 0 && count > maxWithoutSource && !r.options.allowEmpty {
		return nil, fmt.Errorf("the source %s has no consumers, the server has %d; nothing was repaired. "+
			"Check the source and its credentials, or add --allow-empty", r.source.name(), count)
	}
	if now.known.migrations == nil && slices.Contains(r.options.types, client.NoType) && r.options.with == "nova" {
		return nil, errors.New("--type unknown needs the UUIDs of migrations, which this version of nova does not show: migrations would be orphans")
	}
	compared := rules{types: r.options.types, kinds: r.options.kinds}
	if r.options.minAge > 0 {
		compared.before = r.started.Add(-r.options.minAge)
	}
	now.findings = compare(now.state, now.known, &compared)
	return now, nil
}

// confirmOrphans removes the orphans that the source has after all.
func (r *run) confirmOrphans(ctx context.Context, found *reading) error {
	var ids []uuid.UUID
	for i := range found.findings {
		if found.findings[i].Kind == Orphan {
			ids = append(ids, found.findings[i].Consumer)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	absent, err := r.source.absent(ctx, ids, r.progress)
	if err != nil {
		return fmt.Errorf("the source %s failed; nothing was repaired: %w", r.source.name(), err)
	}
	kept := found.findings[:0]
	for _, finding := range found.findings {
		if finding.Kind != Orphan || absent[finding.Consumer] {
			kept = append(kept, finding)
		}
	}
	found.findings = kept
	return nil
}

// write writes the plan and its inverse to new files.
func (r *run) write(plan *Plan, report *report) error {
	path := r.options.savePlan
	if path == "" {
		path = "berth-reconcile-" + r.started.UTC().Format("20060102T150405Z") + ".json"
	}
	undo := r.options.undoPath(path)
	if err := plan.inverse().write(undo); err != nil {
		return err
	}
	if err := plan.write(path); err != nil {
		return err
	}
	report.Plan, report.UndoPlan = path, undo
	return nil
}

// execute makes the changes one after the other. It ends early after a signal and when the server is unavailable. done is
// called after each change. The path of the plan is for the error.
func (r *run) execute(ctx context.Context, plan *Plan, path string, done func(*Change, Outcome)) error {
	stop := r.StopOnSignals(ctx)
	defer stop.Done()
	failed := 0
	for i := range plan.Changes {
		if stop.Asked.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d changes; 'berth reconcile --plan %s' goes on", i, len(plan.Changes), path)
		}
		r.progress.show("repairing: %d of %d", i, len(plan.Changes))
		change := &plan.Changes[i]
		outcome, err := change.execute(stop.AtOnce, r.service)
		done(change, outcome)
		if err != nil {
			failed++
			r.progress.end()
			fmt.Fprintf(r.Stderr, "berth: %v\n", err)
		}
		if errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrForbidden) || stop.AtOnce.Err() != nil {
			return fmt.Errorf("ended after %d of %d changes; 'berth reconcile --plan %s' goes on", i, len(plan.Changes), path)
		}
	}
	r.progress.end()
	if failed > 0 {
		return fmt.Errorf("%d of %d changes were not made", failed, len(plan.Changes))
	}
	return nil
}

// finish prints the report and writes the metrics. The error of the repair, if there is one, is the result.
func (r *run) finish(report *report, failed error) error {
	err := report.conclude(r.Frame, *r.options.output)
	if r.options.metricsFile != "" && err == nil {
		err = writeMetrics(r.options.metricsFile, metricsText(report.Source, report.Findings, r.started))
	}
	switch {
	case failed != nil:
		return errors.Join(failed, err)
	case err != nil:
		return err
	case report.left() > 0:
		return &frame.CodedError{Code: exitDifferences}
	default:
		return nil
	}
}
