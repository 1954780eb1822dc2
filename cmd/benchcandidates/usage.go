package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// utilisation is how much of a cloud is used up: so many of a hundred trees, or all
// but three.
type utilisation struct {
	percent     int
	allButThree bool
}

const allButThree = "all but three"

func (u utilisation) String() string {
	if u.allButThree {
		return allButThree
	}
	return fmt.Sprintf("%d %%", u.percent)
}

// usedUp is how many of so many trees have nothing left.
func (u utilisation) usedUp(trees int) int {
	if u.allButThree {
		return trees - 3
	}
	return trees * u.percent / 100
}

func parseUtilisations(text string) ([]utilisation, error) {
	var all []utilisation
	for word := range strings.SplitSeq(text, ",") {
		if word == "full" {
			all = append(all, utilisation{allButThree: true})
			continue
		}
		percent, err := strconv.Atoi(word)
		if err != nil || percent < 0 || percent > 99 {
			return nil, fmt.Errorf("a utilisation is a percentage below 100, or \"full\" for all trees but three, not %q", word)
		}
		all = append(all, utilisation{percent: percent})
	}
	return all, nil
}

// rising are utilisations in the order in which so many trees can go through them.
func rising(all []utilisation, trees int) []utilisation {
	return slices.SortedStableFunc(slices.Values(all), func(a, b utilisation) int {
		return cmp.Compare(a.usedUp(trees), b.usedUp(trees))
	})
}

// useUp has a consumer take everything of each of the first trees, those already
// used up excepted, and lets the planner know.
func useUp(ctx context.Context, conn *pgx.Conn, already, first int) error {
	if err := checkKeys(ctx, conn, false); err != nil {
		return err
	}
	for _, statement := range []string{
		`INSERT INTO projects (external_id) SELECT 'bench' WHERE $1 < $2::bigint ON CONFLICT DO NOTHING`,
		`INSERT INTO users (external_id) SELECT 'bench' WHERE $1 < $2::bigint ON CONFLICT DO NOTHING`,
		`INSERT INTO consumers (id, uuid, generation, project_id, user_id) OVERRIDING SYSTEM VALUE
		 SELECT tree.root_id, md5('consumer ' || tree.root_id)::uuid, 1, project.id, owner.id
		 FROM bench.trees AS tree, projects AS project, users AS owner
		 WHERE tree.rank > $1 AND tree.rank <= $2::bigint AND project.external_id = 'bench' AND owner.external_id = 'bench'`,
		`UPDATE inventories AS inventory SET used = inventory.total
		 FROM bench.trees AS tree
		 WHERE tree.root_id = inventory.root_id AND tree.rank > $1 AND tree.rank <= $2::bigint`,
		`INSERT INTO allocations (consumer_id, provider_id, class_id, used)
		 SELECT inventory.root_id, inventory.provider_id, inventory.class_id, inventory.total
		 FROM inventories AS inventory JOIN bench.trees AS tree ON tree.root_id = inventory.root_id
		 WHERE tree.rank > $1 AND tree.rank <= $2::bigint`,
	} {
		if _, err := conn.Exec(ctx, statement, already, first); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	if err := checkKeys(ctx, conn, true); err != nil {
		return err
	}
	return settle(ctx, conn)
}

// settle leaves the database as autovacuum would.
func settle(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}
