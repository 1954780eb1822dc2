package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// askUnchecked is the row write of POST /v1/allocations. It notifies nobody, as the
// server doesn't either, whose conductor is in the same process.
const askUnchecked = `
INSERT INTO node_allocations (uuid, name, resource_class, traits, conductor_id)
SELECT $1::text::uuid, $2::text, $3::text, $4::text[], id FROM conductors WHERE hostname = $5::text`

// giveUnchecked are the row writes of a decision.
const giveUnchecked = `
WITH given AS (
    UPDATE nodes SET instance_uuid = $1::text::uuid, revision = revision + 1, updated_at = now(),
        details = details || jsonb_build_object('instance_info', jsonb_build_object('traits', $3::text[]))
    WHERE id = $2::bigint
)`

const thenActive = `
UPDATE node_allocations SET node_id = $2::bigint, state = 'active', conductor_id = NULL, last_error = NULL,
    revision = revision + 1, updated_at = now()
WHERE uuid = $1::text::uuid`

// claimUnchecked are those where nodes are providers; load gave both the same id.
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

func (p *place) decideUnchecked(ctx context.Context, id uuid.UUID, n int) error {
	statement := giveUnchecked + thenActive
	if p.tested.placement {
		statement = giveUnchecked + claimUnchecked + thenActive
	}
	_, err := p.pool.Exec(ctx, statement, id.String(), p.free[n], p.tested.wish.wanted(n))
	return err
}

// untriggered runs a floor while nodes have no triggers, which do what floors don't.
func (p *place) untriggered(ctx context.Context, run func(context.Context) (time.Duration, error)) (time.Duration, error) {
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

// floorOfStore is the least that deciding can cost.
func (p *place) floorOfStore(ctx context.Context) (time.Duration, error) {
	made, err := p.make(ctx)
	if err != nil {
		return 0, err
	}
	return p.untriggered(ctx, func(ctx context.Context) (time.Duration, error) {
		return p.together(ctx, func(ctx context.Context, n int) error { return p.decideUnchecked(ctx, made[n], n) })
	})
}

// floorOfHTTP is the least that an allocation can cost which is made first and
// decided afterwards.
func (p *place) floorOfHTTP(ctx context.Context) (time.Duration, error) {
	return p.untriggered(ctx, func(ctx context.Context) (time.Duration, error) {
		return p.together(ctx, func(ctx context.Context, n int) error {
			id := uuid.New()
			if _, err := p.pool.Exec(ctx, askUnchecked, id.String(), fmt.Sprintf("web-%d", n),
				p.tested.wish.class(n), p.tested.wish.wanted(n), nobody); err != nil {
				return err
			}
			return p.decideUnchecked(ctx, id, n)
		})
	})
}
