package requests

import (
	"context"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/cmd/bench/rig"
)

// claims are requests for three classes of one provider, each by a new consumer.
type claims struct {
	berth    string
	pool     *pgxpool.Pool
	provider func(n int64) int64
}

// sameProvider returns the same provider for every request.
func sameProvider(int64) int64 { return 1 }

// put sends a claim to the server.
func (c claims) put(p *benchEnv) rig.RequestFunc {
	return func(ctx context.Context, _ int, n int64) error {
		body := fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}}},
			"project_id": "bench", "user_id": "bench", "consumer_generation": null, "consumer_type": "INSTANCE"}`,
			providerID(c.provider(n)))
		return p.Request(ctx, http.MethodPut, c.berth+"/allocations/"+consumerID(n), body, http.StatusNoContent)
	}
}

// insert writes the rows that a claim writes: a consumer, three allocations, what is
// used of three inventories, and the provider's generation.
func (c claims) insert(ctx context.Context, _ int, n int64) error {
	const statement = `
WITH consumer AS (
    INSERT INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
    SELECT $1::uuid, 1, project.id, owner.id, type.id
    FROM projects AS project, users AS owner, consumer_types AS type
    WHERE project.external_id = $3 AND owner.external_id = $3 AND type.name = 'INSTANCE'
    RETURNING id
), provider AS (
    SELECT id FROM resource_providers WHERE uuid = $2::uuid
), bumped AS (
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    FROM provider WHERE provider_id = provider.id
), wanted AS (
    SELECT class.id AS class_id, item.amount
    FROM unnest($4::text[], $5::bigint[]) AS item (name, amount)
    JOIN resource_classes AS class ON class.name = item.name
), taken AS (
    UPDATE inventories AS inventory SET used = inventory.used + wanted.amount
    FROM wanted, provider WHERE inventory.provider_id = provider.id AND inventory.class_id = wanted.class_id
)
INSERT INTO allocations (consumer_id, provider_id, class_id, used)
SELECT consumer.id, provider.id, wanted.class_id, wanted.amount FROM consumer, provider, wanted`
	_, err := c.pool.Exec(ctx, statement, consumerID(n), providerID(c.provider(n)), "bench",
		[]string{"VCPU", "MEMORY_MB", "DISK_GB"}, []int64{1, 512, 10})
	return err
}
