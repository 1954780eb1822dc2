package baremetal

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// insertUnchecked is the row write of POST /v1/allocations. It sends no notification,
// like a server with a conductor in the same process.
const insertUnchecked = `
INSERT INTO node_allocations (uuid, name, resource_class, traits, conductor_id)
SELECT $1::text::uuid, $2::text, $3::text, $4::text[], id FROM conductors WHERE hostname = $5::text`

// assignUnchecked is the row writes of a decision.
const assignUnchecked = `
WITH given AS (
    UPDATE nodes SET instance_uuid = $1::text::uuid, revision = revision + 1, updated_at = now(),
        details = details || jsonb_build_object('instance_info', jsonb_build_object('traits', $3::text[]))
    WHERE id = $2::bigint
)`

const thenActive = `
UPDATE node_allocations SET node_id = $2::bigint, state = 'active', conductor_id = NULL, last_error = NULL,
    revision = revision + 1, updated_at = now()
WHERE uuid = $1::text::uuid`

// claimUnchecked adds those of nodes that are providers; load gave both the same id.
const claimUnchecked = `, consumer AS (
    INSERT INTO consumers (uuid, generation, project_id, user_id, consumer_type_id) VALUES ($1::text::uuid, 1,
        (SELECT min(id) FROM projects), (SELECT min(id) FROM users), (SELECT min(id) FROM consumer_types))
    RETURNING id
), unit AS (
    UPDATE inventories SET used = 1, reserved = 1, updated_at = now() WHERE provider_id = $2::bigint
    RETURNING class_id
), claimed AS (
    INSERT INTO allocations (consumer_id, provider_id, class_id, used) SELECT consumer.id, $2::bigint, unit.class_id, 1 FROM consumer, unit
), bumped AS (
    UPDATE provider_generations SET generation = generation + 1, updated_at = now() WHERE provider_id = $2::bigint
)`

func (p *benchEnv) decideUnchecked(ctx context.Context, id uuid.UUID, n int) error {
	statement := assignUnchecked + thenActive
	if p.tested.placement {
		statement = assignUnchecked + claimUnchecked + thenActive
	}
	_, err := p.pool.Exec(ctx, statement, id.String(), p.free[n], p.tested.request.requiredTraits(n))
	return err
}

// withoutTriggers runs a baseline while the triggers of nodes are disabled.
func (p *benchEnv) withoutTriggers(ctx context.Context, run func(context.Context) (time.Duration, error)) (time.Duration, error) {
	if _, err := p.conn.Exec(ctx, "ALTER TABLE nodes DISABLE TRIGGER USER"); err != nil {
		return 0, err
	}
	took, err := run(ctx)
	if err != nil {
		return took, err
	}
	_, err = p.conn.Exec(ctx, "ALTER TABLE nodes ENABLE TRIGGER USER")
	return took, err
}

// storeBaseline measures the least that a decision can cost.
func (p *benchEnv) storeBaseline(ctx context.Context) (time.Duration, error) {
	made, err := p.make(ctx)
	if err != nil {
		return 0, err
	}
	return p.withoutTriggers(ctx, func(ctx context.Context) (time.Duration, error) {
		return p.runClients(ctx, func(ctx context.Context, n int) error { return p.decideUnchecked(ctx, made[n], n) })
	})
}

// httpBaseline measures the least that a node allocation can cost that is first
// inserted and then decided.
func (p *benchEnv) httpBaseline(ctx context.Context) (time.Duration, error) {
	return p.withoutTriggers(ctx, func(ctx context.Context) (time.Duration, error) {
		return p.runClients(ctx, func(ctx context.Context, n int) error {
			id := uuid.New()
			if _, err := p.pool.Exec(ctx, insertUnchecked, id.String(), fmt.Sprintf("web-%d", n),
				p.tested.request.class(n), p.tested.request.requiredTraits(n), idleConductor); err != nil {
				return err
			}
			return p.decideUnchecked(ctx, id, n)
		})
	})
}
