// Command berth serves the Placement and Bare Metal APIs on PostgreSQL, administers the database,
// and prints the settings and the API documents. It is also a client of such a server, for
// operators and scripts.
//
// The package provides the streams, environment and signals of a real process. It is not for any
// command: package cmd/berth/command assembles those.
package main

import (
	"context"
	"os"

	"github.com/berthd/berth/cmd/berth/command"
	"github.com/berthd/berth/cmd/berth/frame"
)

func main() {
	f := frame.System()
	os.Exit(command.Run(context.Background(), f, command.TranslateOldCommand(os.Args[0], os.Args[1:], f.Environ)))
}
