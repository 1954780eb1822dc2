package placementdb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	berthsql "github.com/berthd/berth/sql"
)

// stagingSchema is the schema of the staging tables. It exists only during an import, so that the database
// of a server and its backups do not contain them.
const stagingSchema = "berth_import"

// stagingTables returns sql/import/staging.sql.
func stagingTables() string {
	text, err := berthsql.Files.ReadFile("import/staging.sql")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// stagingFingerprint identifies the copy of a source. An import does not resume a copy in tables of
// another layout, or of another import into the same database.
func (i *importRun) stagingFingerprint() string {
	layout := sha256.Sum256([]byte(stagingTables()))
	return i.survey.Fingerprint + " " + hex.EncodeToString(layout[:8])
}

// findStaging adds the schema of the staging tables to the end of the connection's search path: the tables
// of Berth come first, in whatever schema they are.
func findStaging(ctx context.Context, conn *pgx.Conn) error {
	staging, err := queries.ImportStagingShow(ctx, conn)
	if err != nil {
		return err
	}
	path := strings.TrimPrefix(staging.SearchPath+", "+stagingSchema, ", ")
	return queries.ImportSearchPath(ctx, conn, path, false)
}

// createStaging creates the staging tables, empty. A role that may not create schemas needs the schema to
// exist, created by the database's owner.
func createStaging(ctx context.Context, tx pgx.Tx) error {
	staging, err := queries.ImportStagingShow(ctx, tx)
	if err != nil {
		return err
	}
	if !staging.HasSchema {
		if !staging.MayCreate {
			return refuse("the role %s may not create the schema %s, for the staging tables; as the owner of the database, run: "+
				"CREATE SCHEMA %s AUTHORIZATION %s", staging.Role, stagingSchema, stagingSchema, pgx.Identifier{staging.Role}.Sanitize())
		}
		if err := queries.ImportStagingSchemaCreate(ctx, tx); err != nil {
			return err
		}
	}
	if err := queries.ImportStagingDrop(ctx, tx); err != nil {
		return err
	}
	text := stagingTables()
	statements := []string{text}
	for _, comment := range berthsql.Comments(text) {
		statements = append(statements, comment.Statement())
	}
	if err := queries.ImportSearchPath(ctx, tx, stagingSchema, true); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, strings.Join(statements, "\n")); err != nil {
		return err
	}
	return queries.ImportSearchPath(ctx, tx, staging.SearchPath, true)
}

// dropStaging drops the staging tables, and their schema if the role can create it again.
func dropStaging(ctx context.Context, tx db.DBTX) error {
	staging, err := queries.ImportStagingShow(ctx, tx)
	if err != nil || !staging.HasSchema {
		return err
	}
	if err := queries.ImportStagingDrop(ctx, tx); err != nil || !staging.MayCreate {
		return err
	}
	return queries.ImportStagingSchemaDrop(ctx, tx)
}
