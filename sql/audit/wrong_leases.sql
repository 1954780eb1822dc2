-- Leases and consumers that do not name each other: a consumer is leased exactly as long as it has a row in leases.
SELECT found.uuid, found.sentence FROM (
    SELECT '' AS uuid, format('lease of consumer %s, which does not exist', lease.consumer_id) AS sentence, lease.consumer_id AS id
    FROM leases AS lease
    WHERE NOT EXISTS (SELECT FROM consumers AS consumer WHERE consumer.id = lease.consumer_id)
    UNION ALL
    SELECT consumer.uuid::text,
        format('consumer %s has %s lease, and leased is %s', consumer.id, CASE WHEN consumer.leased THEN 'no' ELSE 'a' END, consumer.leased),
        consumer.id
    FROM consumers AS consumer
    WHERE consumer.leased <> EXISTS (SELECT FROM leases AS lease WHERE lease.consumer_id = consumer.id)
) AS found
ORDER BY found.id;
