// Package admin has the administration commands: of the database and of the policy, and those
// that print API documents and check whether a new version is ready to serve.
//
// It is not for the settings (package config), nor for the rules of the data, which are in sql
// and in packages audit, migrate and placementdb.
package admin

import (
	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
)

// Commands returns the commands that work on a database.
func Commands(f *frame.Frame) []*cobra.Command {
	return []*cobra.Command{dbCommand(f), upgradeStatusCommand(f), importCommand(f), exportCommand(f), planCommand(f)}
}
