// Command berth is the whole service in one program: it serves the Placement
// API on PostgreSQL, brings the schema up to date, and shows the settings and
// the API documents. It is also the client of such a service, for people and
// scripts.
//
// The package is wiring only: flags, environment, signals, output. It is not
// the place for any meaning of the API (package server) or of the data (sql).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	host := process{environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr, signals: systemSignals}
	os.Exit(host.run(context.Background(), renamed(os.Args[0], os.Args[1:], os.Environ())))
}

// process is what the commands know of the world around them, so that tests can
// give them another one.
type process struct {
	environ        []string
	stdout, stderr io.Writer
	// signals starts to catch the signals that ask to stop, until stop is called.
	signals func() (signals <-chan os.Signal, stop func())
}

// Exit codes, the same for every command except 'berth db online-data-migrations' and
// 'berth status', which have those of the service before.
const (
	exitFine   = 0
	exitFailed = 1
	exitUsage  = 2 // the command line or a setting was wrong; nothing was done
)

// codedError ends a command with an exit code of its own, which scripts know from the
// service before. A nil cause was told already.
type codedError struct {
	code  int
	cause error
}

// Error is that of the cause.
func (e *codedError) Error() string { return fmt.Sprint(e.cause) }

// Unwrap gives the cause.
func (e *codedError) Unwrap() error { return e.cause }

// run executes one command line and returns the exit code.
func (p *process) run(ctx context.Context, arguments []string) int {
	began := false
	root := p.rootCommand()
	// Whatever goes wrong before a command begins is a wrong command line.
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SetArgs(arguments)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	command, err := root.ExecuteContextC(ctx)
	var wrong mistakes
	var coded *codedError
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &coded):
		if coded.cause != nil {
			fmt.Fprintf(p.stderr, "berth: %v\n", coded.cause)
		}
		return coded.code
	case errors.As(err, &wrong):
		p.printMistakes(wrong)
		return exitUsage
	case !began:
		fmt.Fprintf(p.stderr, "berth: %v\nSee '%s --help'.\n", err, command.CommandPath())
		return exitUsage
	default:
		fmt.Fprintf(p.stderr, "berth: %v\n", err)
		return exitFailed
	}
}

func (p *process) printMistakes(wrong mistakes) {
	if len(wrong) == 1 {
		fmt.Fprintf(p.stderr, "berth: %v\n", wrong)
		return
	}
	fmt.Fprintf(p.stderr, "berth: %d settings are wrong:\n", len(wrong))
	for _, one := range wrong {
		fmt.Fprintf(p.stderr, "  %v\n", one)
	}
}

func (p *process) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "Placement and Bare Metal allocations in one program on PostgreSQL",
		Long: `Berth keeps the inventory of a cloud: which resource providers there are, what
they have, and who uses how much of it. It speaks the OpenStack Placement API,
microversions 1.0 to 1.39, and the part of the Bare Metal API, 1.1 to 1.82, that finds
free machines. Its data is in PostgreSQL.

Every setting is a flag and an environment variable: --log-format is
BERTH_LOG_FORMAT. Flags win over the environment, and that over an existing
placement.conf that --config-file names; 'berth config' shows each value and where it
came from.

The commands below Hosts and API ask a service, by default the one on this machine;
their flag --url (BERTH_URL) names another.

Exit codes: 0 done, 1 failed, 2 the command line or a setting is wrong.`,
		Example: `  berth serve                        # on 127.0.0.1:8778, with its own PostgreSQL
  berth serve --database-url postgres://berth:secret@db.example.org/berth
  berth config --output json
  berth db status
  berth provider list`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run:"}, &cobra.Group{ID: "database", Title: "Database:"},
		&cobra.Group{ID: "hosts", Title: "Hosts:"}, &cobra.Group{ID: "api", Title: "API:"})
	root.AddCommand(grouped("run", p.serveCommand(), p.configCommand(), p.policyCommand(), p.openapiCommand(), p.versionCommand())...)
	root.AddCommand(grouped("database", p.dbCommand(), p.upgradeStatusCommand(), p.importCommand(), p.exportCommand(), p.planCommand())...)
	root.AddCommand(grouped("hosts", p.agentCommand(), p.treeCommand(), p.reshapeCommand())...)
	root.AddCommand(grouped("api", p.providerCommand(), p.inventoryCommand(), p.traitCommand(), p.aggregateCommand(),
		p.classCommand(), p.allocationCommand(), p.candidateCommand(), p.usageCommand(), p.baremetalCommand())...)
	root.AddCommand(p.manCommand())
	return root
}

// grouped puts commands under a heading of the help.
func grouped(group string, commands ...*cobra.Command) []*cobra.Command {
	for _, command := range commands {
		command.GroupID = group
	}
	return commands
}

// family makes a command that only holds others: alone it shows its help, and
// an unknown word after it is a mistake, which cobra lets pass below the root.
func family(command *cobra.Command, members ...*cobra.Command) *cobra.Command {
	command.Args = cobra.NoArgs
	command.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	command.AddCommand(members...)
	return command
}

// settings loads the settings of a command and prints the warnings.
func (p *process) settings(c *cobra.Command, widest scope) (*Settings, error) {
	settings, warnings, err := load(c.Flags(), p.environ, widest)
	for _, warning := range warnings {
		fmt.Fprintf(p.stderr, "berth: warning: %s\n", warning)
	}
	return settings, err
}
