// Package sql carries every line of SQL that runs in production, as files in
// the binary: the numbered migrations, the functions in their one living
// definition, the consistency checks, the staging tables of an import, and a
// dump of the schema that migrations and functions make. Comments derives the
// COMMENT ON statements from these files.
//
// It is not the place where any of it is run: package migrate applies the
// migrations and functions, and the queries are compiled into gen/db.
package sql

import "embed"

// Files holds migrations/*.sql, functions/*.sql, audit/*.sql, import/staging.sql,
// functions/VERSION (the number and the hash of the set of functions) and schema.sql.
//
//go:embed migrations/*.sql functions/*.sql audit/*.sql import/staging.sql functions/VERSION schema.sql
var Files embed.FS
