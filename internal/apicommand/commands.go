// Package apicommand has the commands that ask a service: those of the Placement API and of the
// Bare Metal API, and the picture of a provider tree.
//
// It is not for which service is asked, and as whom (package connect), nor for pictures
// themselves (package draw).
package apicommand

import (
	"github.com/spf13/cobra"

	"github.com/berthd/berth/internal/frame"
)

// Commands makes the commands of both APIs. That of the picture, which is about hosts, is Tree.
func Commands(f *frame.Frame) []*cobra.Command {
	return []*cobra.Command{
		providerCommand(f), inventoryCommand(f), traitCommand(f), aggregateCommand(f),
		classCommand(f), allocationCommand(f), candidateCommand(f), usageCommand(f), baremetalCommand(f),
	}
}
