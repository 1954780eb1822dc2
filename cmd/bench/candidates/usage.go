package candidates

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// utilization is the share of trees without free capacity: a percentage, or all trees
// except three.
type utilization struct {
	percent     int
	allButThree bool
}

const allButThree = "all but three"

func (u utilization) String() string {
	if u.allButThree {
		return allButThree
	}
	return fmt.Sprintf("%d %%", u.percent)
}

// exhaustedTrees returns how many of the trees have no free capacity.
func (u utilization) exhaustedTrees(trees int) int {
	if u.allButThree {
		return trees - 3
	}
	return trees * u.percent / 100
}

func parseUtilizations(text string) ([]utilization, error) {
	var all []utilization
	for word := range strings.SplitSeq(text, ",") {
		if word == "full" {
			all = append(all, utilization{allButThree: true})
			continue
		}
		percent, err := strconv.Atoi(word)
		if err != nil || percent < 0 || percent > 99 {
			return nil, fmt.Errorf("invalid utilization %q: a percentage below 100, or \"full\" for all trees except three", word)
		}
		all = append(all, utilization{percent: percent})
	}
	return all, nil
}

// rising sorts utilizations by the number of exhausted trees.
func rising(all []utilization, trees int) []utilization {
	return slices.SortedStableFunc(slices.Values(all), func(a, b utilization) int {
		return cmp.Compare(a.exhaustedTrees(trees), b.exhaustedTrees(trees))
	})
}

// exhaust gives all capacity of each of the first trees to a consumer, except the trees
// that are exhausted already, and renews the statistics.
func exhaust(ctx context.Context, conn *pgx.Conn, already, first int) error {
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

// settle vacuums and analyzes, as autovacuum would.
func settle(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}
