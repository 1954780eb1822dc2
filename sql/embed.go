// Package sql carries every line of SQL that runs in production, as files in
// the binary: the numbered migrations, the functions in their one living
// definition, and a dump of the schema that both together make.
//
// It is not the place where any of it is run: package migrate applies the
// migrations and functions, and the queries are compiled into gen/db.
package sql

import "embed"

// Files holds migrations/*.sql, functions/*.sql, audit/*.sql, functions/VERSION (the number
// and the hash of the set of functions) and schema.sql.
//
//go:embed migrations/*.sql functions/*.sql audit/*.sql functions/VERSION schema.sql
var Files embed.FS
