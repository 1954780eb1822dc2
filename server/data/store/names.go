package store

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/berthd/berth/gen/db"
)

// The standard names: os-traits 3.9.0, and os-resource-classes 1.1.0 in the
// order of its list, which is the order of the ids.
//
//go:embed names/traits.json
var standardTraits []byte

//go:embed names/resource_classes.json
var standardClasses []byte

// SyncStandardNames inserts the standard traits and resource classes that the database lacks. It never deletes or
// renames any.
func (s *Store) SyncStandardNames(ctx context.Context) error {
	return s.write(ctx, writeTargets{}, func(to db.DBTX) error { return InsertStandardNames(ctx, to) })
}

// InsertStandardNames is SyncStandardNames in a transaction of the caller.
func InsertStandardNames(ctx context.Context, to db.DBTX) error {
	var traits, classes []string
	if err := json.Unmarshal(standardTraits, &traits); err != nil {
		return fmt.Errorf("embedded traits: %w", err)
	}
	if err := json.Unmarshal(standardClasses, &classes); err != nil {
		return fmt.Errorf("embedded resource classes: %w", err)
	}
	queries := db.New()
	if _, err := queries.TraitSync(ctx, to, traits); err != nil {
		return err
	}
	_, err := queries.ResourceClassSync(ctx, to, classes)
	return err
}

// StandardNamesHash returns a hash of the standard names: a database that was prepared with another hash may lack some.
func StandardNamesHash() string {
	hash := sha256.New()
	hash.Write(standardTraits)
	hash.Write(standardClasses)
	return hex.EncodeToString(hash.Sum(nil))
}
