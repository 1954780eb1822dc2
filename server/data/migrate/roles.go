package migrate

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Roles are the names of the roles to which Statements grants privileges: least privilege for a service whose schema
// another role owns.
type Roles struct {
	// Owner migrates, imports and repairs. Service serves requests. ReadOnly only reads.
	Owner, Service, ReadOnly string
	Database, Schema         string
}

// DefaultRoles are the default names of 'berth db roles'.
var DefaultRoles = Roles{Owner: "berth_owner", Service: "berth", ReadOnly: "berth_readonly", Database: "berth", Schema: "public"}

// Statements returns the GRANT statements, with CREATE ROLE as comments. A superuser, or the owner of the database who
// is a member of Owner, runs them in Database. They can be repeated, before the first migration or after it: default
// privileges cover the objects that Owner creates later.
func (r Roles) Statements() string {
	quote := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	var text strings.Builder
	write := func(format string, names ...string) {
		quoted := make([]any, len(names))
		for i, name := range names {
			quoted[i] = quote(name)
		}
		fmt.Fprintf(&text, format+"\n", quoted...)
	}
	write("-- Roles of Berth. Run this in the database %s, as a superuser.\n--", r.Database)
	write("-- CREATE ROLE %s LOGIN PASSWORD '...';", r.Owner)
	write("-- CREATE ROLE %s LOGIN PASSWORD '...';", r.Service)
	write("-- CREATE ROLE %s LOGIN PASSWORD '...';", r.ReadOnly)
	write("--\n-- If another role has run 'berth db migrate', make its objects the owner's first:\n-- REASSIGN OWNED BY other_role TO %s;\n", r.Owner)
	write("-- Owner: 'berth db migrate', 'berth db repair', 'berth import'. An import creates the schema berth_import.")
	write("GRANT CONNECT, CREATE ON DATABASE %s TO %s;", r.Database, r.Owner)
	if r.Schema != DefaultRoles.Schema {
		write("CREATE SCHEMA IF NOT EXISTS %s AUTHORIZATION %s;", r.Schema, r.Owner)
	}
	write("REVOKE CREATE ON SCHEMA %s FROM PUBLIC;", r.Schema)
	write("GRANT USAGE, CREATE ON SCHEMA %s TO %s;", r.Schema, r.Owner)
	write("\n-- Service: 'berth serve --migrate=false'. It reads and writes rows and cannot change the schema.")
	write("GRANT CONNECT ON DATABASE %s TO %s;", r.Database, r.Service)
	write("GRANT USAGE ON SCHEMA %s TO %s;", r.Schema, r.Service)
	write("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s;", r.Schema, r.Service)
	write("GRANT USAGE ON ALL SEQUENCES IN SCHEMA %s TO %s;", r.Schema, r.Service)
	write("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %s TO %s;", r.Schema, r.Service)
	write("ALTER DEFAULT PRIVILEGES FOR ROLE %s IN SCHEMA %s\n    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %s;",
		r.Owner, r.Schema, r.Service)
	write("ALTER DEFAULT PRIVILEGES FOR ROLE %s IN SCHEMA %s GRANT USAGE ON SEQUENCES TO %s;", r.Owner, r.Schema, r.Service)
	write("ALTER DEFAULT PRIVILEGES FOR ROLE %s IN SCHEMA %s GRANT EXECUTE ON FUNCTIONS TO %s;", r.Owner, r.Schema, r.Service)
	write("\n-- Read-only: 'berth db check', 'berth db status', 'berth plan', psql. Includes the tables of a running import.")
	write("GRANT CONNECT ON DATABASE %s TO %s;", r.Database, r.ReadOnly)
	write("GRANT USAGE ON SCHEMA %s TO %s;", r.Schema, r.ReadOnly)
	write("GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s;", r.Schema, r.ReadOnly)
	write("GRANT SELECT ON ALL SEQUENCES IN SCHEMA %s TO %s;", r.Schema, r.ReadOnly)
	write("ALTER DEFAULT PRIVILEGES FOR ROLE %s GRANT USAGE ON SCHEMAS TO %s;", r.Owner, r.ReadOnly)
	write("ALTER DEFAULT PRIVILEGES FOR ROLE %s GRANT SELECT ON TABLES TO %s;", r.Owner, r.ReadOnly)
	write("ALTER DEFAULT PRIVILEGES FOR ROLE %s GRANT SELECT ON SEQUENCES TO %s;", r.Owner, r.ReadOnly)
	if r.Schema != DefaultRoles.Schema {
		write("\n-- All three find the tables in this schema.")
		for _, role := range []string{r.Owner, r.Service, r.ReadOnly} {
			write("ALTER ROLE %s IN DATABASE %s SET search_path = %s;", role, r.Database, r.Schema)
		}
	}
	return text.String()
}
