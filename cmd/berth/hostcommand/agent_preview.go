package hostcommand

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/terminal"
)

// previewAgent prints the writes of a reconciliation on startup.
func previewAgent(ctx context.Context, f *frame.Frame, tracker *agent.Tracker, format string) error {
	preview, err := tracker.Preview(ctx)
	if err != nil {
		return err
	}
	before := draw.Forest{Nodes: preview.Before.Nodes(), Allocations: preview.Had}
	after := draw.Forest{Nodes: preview.After.Nodes(), Allocations: preview.Have}
	changes := draw.Compare(before, after)
	if frame.IsDocument(format) {
		return previewDocument(f, format, preview, after, changes)
	}
	variables := frame.Environment(f.Environ)
	isTerminal, columns := terminal.Of(f.Stdout)
	style := draw.Style{
		Color: terminal.HasColor("auto", variables, isTerminal), Width: terminal.Columns(variables, columns), ASCII: !terminal.HasUnicode(variables),
	}
	text := &bytes.Buffer{}
	fmt.Fprintln(text, "Provider tree to report:")
	fmt.Fprintln(text)
	if err := draw.Text(text, after, style); err != nil {
		return err
	}
	fmt.Fprintln(text)
	switch {
	case changes.Empty():
		fmt.Fprintln(text, "The server has the same tree; no changes are needed.")
	case preview.Reshape:
		fmt.Fprintln(text, "Difference from the server's tree, which requires a reshape (on startup only):")
	default:
		fmt.Fprintln(text, "Difference from the server's tree:")
	}
	if !changes.Empty() {
		fmt.Fprintln(text)
		if err := changes.Text(text, style); err != nil {
			return err
		}
	}
	_, err = f.Stdout.Write(text.Bytes())
	return err
}

// previewDocument writes {"trees": […], "difference": {…}, "reshape": false}, with the
// members that package draw documents. Providers that do not exist yet have random
// UUIDs.
func previewDocument(f *frame.Frame, format string, preview *agent.Preview, after draw.Forest, changes *draw.Changes) error {
	forest, difference := &bytes.Buffer{}, &bytes.Buffer{}
	if err := errors.Join(draw.JSON(forest, after), changes.JSON(difference)); err != nil {
		return err
	}
	var document map[string]any
	if err := json.Unmarshal(forest.Bytes(), &document); err != nil {
		return err
	}
	document["difference"] = json.RawMessage(difference.Bytes())
	document["reshape"] = preview.Reshape
	return frame.WriteDocument(f.Stdout, format, document)
}
