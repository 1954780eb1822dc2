// Package apicommand has the commands that send requests to a server: those of the Placement API
// and of the Bare Metal API, and `berth tree`.
//
// It is not for the URL of the server and authentication (package connect), nor for drawing trees
// (package draw).
package apicommand

import (
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

// Commands returns the commands of both APIs, with the flags of the connection. Tree returns the remaining command.
func Commands(f *frame.Frame) []*cobra.Command {
	commands := []*cobra.Command{
		providerCommand(f), inventoryCommand(f), traitCommand(f), aggregateCommand(f),
		classCommand(f), claimCommand(f), consumerCommand(f), allocationCommand(f), candidateCommand(f), explainCommand(f), historyCommand(f), eventsCommand(f),
		usageCommand(f), capacityCommand(f), baremetalCommand(f), demoCommand(f),
	}
	for _, command := range commands {
		connect.Flags(f, command)
	}
	return commands
}
