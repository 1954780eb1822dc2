package admin

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/server/data/migrate"
)

func rolesCommand(f *frame.Frame) *cobra.Command {
	roles := migrate.DefaultRoles
	command := &cobra.Command{
		Use:   "roles",
		Short: "Print the GRANT statements for database roles",
		Long: `Print the statements that give three database roles the privileges they need: an owner
that runs 'berth db migrate' and 'berth import', a service that runs 'berth serve' and
cannot change the schema, and a read-only role for 'berth db check', 'berth plan' and
psql. CREATE ROLE is printed as a comment, to be completed with a password. Default
privileges cover the objects of later migrations.

The command connects to no database and changes nothing. A superuser runs the statements
in the database, before the first migration or after it; they can be repeated.

Exit codes: 0 printed, 1 output cannot be written, 2 a name is empty.`,
		Example: `  berth db roles --database berth | psql --single-transaction --dbname berth
  berth db roles --owner dba --service nova_berth --schema placement`,
	}
	flags := command.Flags()
	flags.StringVar(&roles.Owner, "owner", roles.Owner, "`name` of the role that owns the schema")
	flags.StringVar(&roles.Service, "service", roles.Service, "`name` of the role of 'berth serve'")
	flags.StringVar(&roles.ReadOnly, "read-only", roles.ReadOnly, "`name` of the read-only role")
	flags.StringVar(&roles.Database, "database", roles.Database, "`name` of the database")
	flags.StringVar(&roles.Schema, "schema", roles.Schema, "`name` of the schema with the tables")
	command.Args = func(c *cobra.Command, arguments []string) error {
		for _, name := range []string{roles.Owner, roles.Service, roles.ReadOnly, roles.Database, roles.Schema} {
			if name == "" {
				return errors.New("a name is empty; set --owner, --service, --read-only, --database and --schema")
			}
		}
		return cobra.NoArgs(c, arguments)
	}
	command.RunE = func(*cobra.Command, []string) error {
		_, err := io.WriteString(f.Stdout, roles.Statements())
		return err
	}
	return command
}
