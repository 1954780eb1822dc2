package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// ErrUnsuitable is, for errors.Is, the error of Check.
var ErrUnsuitable = errors.New("unsuitable settings of PostgreSQL")

// Settings are the settings of a connection on which the behavior of Berth depends.
type Settings struct {
	role, database, schema string
	// values are by the names of the parameters.
	values map[string]string
	// connection is the configuration of the connection: a parameter of the connection string outranks the role's.
	connection *pgx.ConnConfig
	// pooled is set for a connection through a transaction pooler.
	pooled bool
}

// otherSettings are the settings that Settings has beside the parameters of the session.
var otherSettings = []string{
	"server_encoding", "search_path", "session_replication_role", "default_transaction_read_only",
	"fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names", "zero_damaged_pages", "ignore_checksum_failure",
}

// Read reads the settings of a connection. pooled is set for one that leads through a transaction pooler.
func Read(ctx context.Context, conn *pgx.Conn, pooled bool) (Settings, error) {
	names := append(slices.Sorted(maps.Keys(sessionParameters)), otherSettings...)
	found, err := db.New().SettingList(ctx, conn, names)
	if err != nil {
		return Settings{}, fmt.Errorf("cannot read the settings of PostgreSQL: %w", err)
	}
	read := Settings{
		role: found.Role, database: found.Database, schema: found.Schema,
		values: map[string]string{}, connection: conn.Config(), pooled: pooled,
	}
	for i, name := range names {
		read.values[name] = found.Values[i]
	}
	return read, nil
}

// Check returns an error if Berth cannot work with the settings of a connection without a transaction pooler: for reads,
// or for writes as well.
func Check(ctx context.Context, conn *pgx.Conn, writes bool) error {
	read, err := Read(ctx, conn, false)
	if err != nil {
		return err
	}
	return read.Check(writes)
}

// Check returns an error if Berth cannot read with the settings, or cannot write: a sentence for each setting, with the
// statement that changes it.
func (s Settings) Check(writes bool) error {
	wrong := s.unsuitableDatabase()
	if s.values["session_replication_role"] == "replica" {
		wrong = append(wrong, fmt.Sprintf("session_replication_role is replica, which disables the triggers and foreign keys of Berth; %s",
			s.remedy("session_replication_role", "origin")))
	}
	if writes && s.values["default_transaction_read_only"] == "on" {
		wrong = append(wrong, fmt.Sprintf("default_transaction_read_only is on, and Berth writes; %s",
			s.remedy("default_transaction_read_only", "off")))
	}
	for _, name := range slices.Sorted(maps.Keys(sessionParameters)) {
		if s.pooled && name == "default_transaction_isolation" {
			continue // each transaction sets its level
		}
		if found, wanted := s.values[name], sessionParameters[name]; !strings.EqualFold(found, wanted) {
			wrong = append(wrong, fmt.Sprintf("%s is %s, and Berth requires %s: a pooler dropped this parameter of the session; %s",
				name, cmp.Or(found, "not set"), wanted, s.remedy(name, wanted)))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrUnsuitable, strings.Join(wrong, "; and "))
}

// unsuitableDatabase returns a sentence each if the encoding is not UTF8, and if unqualified names have no schema.
func (s Settings) unsuitableDatabase() (wrong []string) {
	if encoding := s.values["server_encoding"]; encoding != "UTF8" {
		wrong = append(wrong, fmt.Sprintf("the encoding of the database %s is %s, and Berth requires UTF8; create another database: "+
			"CREATE DATABASE name ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0", quoted(s.database), encoding))
	}
	if s.schema == "" {
		wrong = append(wrong, fmt.Sprintf("search_path (%s) names no schema that exists and that the role %s may use; "+
			"create the schema, or %s", s.values["search_path"], quoted(s.role), s.remedy("search_path", "public")))
	}
	return wrong
}

// remedy returns what sets a parameter that a role can set.
func (s Settings) remedy(name, value string) string {
	if IsChosen(s.connection, name) {
		return "remove it from the connection string"
	}
	return fmt.Sprintf("run ALTER ROLE %s IN DATABASE %s SET %s = '%s'", quoted(s.role), quoted(s.database), name, value)
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// Loss is a setting with which PostgreSQL may lose acknowledged writes.
type Loss struct {
	Setting, Value string
	// Effect is when writes are lost, and Remedy what changes the setting.
	Effect, Remedy string
}

// Losses returns the settings with which PostgreSQL may lose acknowledged writes.
func (s Settings) Losses() (found []Loss) {
	ofServer := func(name, hazard, safe, effect string) {
		if s.values[name] == hazard {
			found = append(found, Loss{name, hazard, effect, fmt.Sprintf("set %s = %s in postgresql.conf and reload it", name, safe)})
		}
	}
	const crash = "a failure of PostgreSQL's machine loses acknowledged writes and can damage the database"
	ofServer("fsync", "off", "on", crash)
	ofServer("full_page_writes", "off", "on", crash)
	ofServer("ignore_checksum_failure", "on", "off", "PostgreSQL returns damaged rows")
	ofServer("zero_damaged_pages", "on", "off", "PostgreSQL replaces damaged pages by empty ones")
	switch commit := s.values["synchronous_commit"]; {
	case commit == "off":
		found = append(found, Loss{"synchronous_commit", commit, "a crash of PostgreSQL loses the last acknowledged writes",
			s.remedy("synchronous_commit", "on")})
	case commit == "local" && s.values["synchronous_standby_names"] != "":
		found = append(found, Loss{"synchronous_commit", commit, "a failover loses the last acknowledged writes",
			s.remedy("synchronous_commit", "on")})
	}
	return found
}
