package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/cmd/berth/draw"
)

// previewAgent prints what a pass at the start would write.
func (p *process) previewAgent(ctx context.Context, tracker *agent.Tracker, format string) error {
	preview, err := tracker.Preview(ctx)
	if err != nil {
		return err
	}
	before := draw.Forest{Nodes: preview.Before.Nodes(), Allocations: preview.Had}
	after := draw.Forest{Nodes: preview.After.Nodes(), Allocations: preview.Have}
	changes := draw.Compare(before, after)
	if format == "json" {
		return p.previewJSON(preview, after, changes)
	}
	variables := environment(p.environ)
	terminal, columns := terminalOf(p.stdout)
	style := draw.Style{
		Color: colorWanted("auto", variables, terminal), Width: columnsWanted(variables, columns), ASCII: !unicodeWanted(variables),
	}
	text := &bytes.Buffer{}
	fmt.Fprintln(text, "The tree that would be reported:")
	fmt.Fprintln(text)
	if err := draw.Text(text, after, style); err != nil {
		return err
	}
	fmt.Fprintln(text)
	switch {
	case changes.Empty():
		fmt.Fprintln(text, "The service has it already; nothing would be sent.")
	case preview.Reshape:
		fmt.Fprintln(text, "The difference to the service's, which takes a reshape (at the start only):")
	default:
		fmt.Fprintln(text, "The difference to the service's:")
	}
	if !changes.Empty() {
		fmt.Fprintln(text)
		if err := changes.Text(text, style); err != nil {
			return err
		}
	}
	_, err = p.stdout.Write(text.Bytes())
	return err
}

// previewJSON writes {"trees": […], "difference": {…}, "reshape": false}, with the
// members as package draw describes them. The uuids of providers that do not exist
// yet are other ones every time.
func (p *process) previewJSON(preview *agent.Preview, after draw.Forest, changes *draw.Changes) error {
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
	return printAs(p.stdout, "json", document, nil)
}
