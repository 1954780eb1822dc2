package cluster

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// prepareDatabase creates the database unless it exists, and sets its settings. The database "postgres" exists in every
// cluster.
func prepareDatabase(ctx context.Context, serverURL, name string, settings map[string]string) error {
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return fmt.Errorf("connect to the private PostgreSQL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	const known = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
	if err := conn.QueryRow(ctx, known, name).Scan(&exists); err != nil {
		return fmt.Errorf("look for database %s: %w", name, err)
	}
	if !exists {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
			return fmt.Errorf("create database %s: %w", name, err)
		}
	}
	for _, setting := range sortedKeys(settings) {
		// Utility statements take no parameters, so the server quotes the parts.
		const alter = "SELECT format('ALTER DATABASE %I SET %I TO %L', $1::text, $2::text, $3::text)"
		var statement string
		if err := conn.QueryRow(ctx, alter, name, setting, settings[setting]).Scan(&statement); err != nil {
			return fmt.Errorf("set %s: %w", setting, err)
		}
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("set %s on database %s: %w", setting, name, err)
		}
	}
	return nil
}
