WITH orphan AS (
    DELETE FROM leases AS lease
    WHERE NOT EXISTS (SELECT FROM consumers AS consumer WHERE consumer.id = lease.consumer_id)
    RETURNING lease.consumer_id
), marked AS (
    UPDATE consumers AS consumer SET leased = NOT consumer.leased
    WHERE consumer.leased <> EXISTS (SELECT FROM leases AS lease WHERE lease.consumer_id = consumer.id)
    RETURNING consumer.id
)
SELECT orphan.consumer_id FROM orphan UNION ALL SELECT marked.id FROM marked;
