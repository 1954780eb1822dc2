-- Returns statistics of PostgreSQL in one row. Sizes are bytes, times and ages seconds; -1 means that
-- the role lacks the permission. Called by Store.DatabaseHealth, at most once per interval, for
-- /metrics. Locks nothing, reads no table of Berth.
-- Every role can read all of it except two values, which need pg_read_all_stats (or pg_monitor):
-- transactions of other roles, and the lag of standbys.
-- Plan: statistics in memory; the size needs the file system's size of each file.
-- name: DatabaseHealth :one
SELECT
    current_setting('server_version')::text AS version,
    current_setting('server_version_num')::int AS version_number,
    pg_is_in_recovery()::bool AS in_recovery,
    (SELECT COALESCE(sum(database.numbackends), 0) FROM pg_catalog.pg_stat_database AS database)::bigint AS connections,
    (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - COALESCE(current_setting('reserved_connections', true), '0')::int)::bigint AS max_connections,
    pg_database_size(current_database())::bigint AS size,
    COALESCE(own.deadlocks, 0)::bigint AS deadlocks,
    COALESCE(own.xact_commit, 0)::bigint AS commits,
    COALESCE(own.xact_rollback, 0)::bigint AS rollbacks,
    COALESCE(own.blks_read, 0)::bigint AS blocks_read,
    COALESCE(own.blks_hit, 0)::bigint AS blocks_hit,
    -- The oldest transaction keeps vacuum from removing rows in the whole database.
    COALESCE((SELECT extract(epoch FROM clock_timestamp() - min(session.xact_start)) FROM pg_catalog.pg_stat_activity AS session
        WHERE session.datname = current_database() AND session.pid <> pg_backend_pid()), 0)::float8 AS oldest_transaction,
    (SELECT age(database.datfrozenxid) FROM pg_catalog.pg_database AS database
        WHERE database.datname = current_database())::bigint AS transaction_id_age,
    (SELECT count(*) FROM pg_catalog.pg_stat_replication AS standby)::bigint AS standbys,
    -- On a standby: seconds since the last replayed transaction, if received WAL is not replayed. On a
    -- primary: the lag of its slowest standby. 0 also if there is no traffic.
    CASE
        WHEN pg_is_in_recovery() AND pg_last_wal_receive_lsn() IS NOT DISTINCT FROM pg_last_wal_replay_lsn() THEN 0
        WHEN pg_is_in_recovery()
            THEN COALESCE(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), -1)
        ELSE COALESCE((SELECT max(CASE WHEN standby.replay_lsn IS NULL THEN -1
            ELSE COALESCE(extract(epoch FROM standby.replay_lag), 0) END) FROM pg_catalog.pg_stat_replication AS standby), 0)
    END::float8 AS lag_seconds,
    CASE
        WHEN pg_is_in_recovery() THEN COALESCE(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), 0)
        ELSE (SELECT COALESCE(max(COALESCE(pg_wal_lsn_diff(pg_current_wal_lsn(), standby.replay_lsn), -1)), 0)
            FROM pg_catalog.pg_stat_replication AS standby)
    END::float8 AS lag_bytes
FROM (SELECT current_database() AS name) AS this
LEFT JOIN pg_catalog.pg_stat_database AS own ON own.datname = this.name;

-- Returns total, reserved, capacity and used of each resource class, summed over all providers.
-- Called by Store.CapacityList, at most once per interval, for /metrics.
-- Locks nothing. It returns at most max_rows classes, because each is several time series in
-- Prometheus: standard ones first, then the oldest.
-- Plan: one scan of inventories, a hash of the few classes. It reads all of the table: 130 ms with two
-- workers, 200 ms without, for 100,000 providers of three inventories.
-- name: CapacityList :many
SELECT class.name, counted.providers, counted.total, counted.reserved, counted.capacity, counted.used, counted.over_capacity
FROM (
    SELECT
        inventory.class_id,
        count(*)::bigint AS providers,
        sum(inventory.total::int8)::float8 AS total,
        sum(inventory.reserved::int8)::float8 AS reserved,
        sum(trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio))::float8 AS capacity,
        sum(inventory.used)::float8 AS used,
        count(*) FILTER (WHERE inventory.used > trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio))::bigint AS over_capacity
    FROM inventories AS inventory
    GROUP BY inventory.class_id
) AS counted
JOIN resource_classes AS class ON class.id = counted.class_id
ORDER BY counted.class_id
LIMIT @max_rows::int;

-- Returns the number of nodes and node allocations in each state, and of conductors that are alive,
-- stale (without a heartbeat for more than heartbeat_timeout seconds) or offline.
-- Called by Store.BaremetalCount, at most once per interval, for /metrics. Locks nothing.
-- Plan: scans of nodes, node_allocations and conductors.
-- name: BaremetalCount :many
SELECT counted.kind::text AS kind, counted.state::text AS state, counted.number::bigint AS number
FROM (
    SELECT 'node' AS kind, node.provision_state AS state, count(*) AS number
    FROM nodes AS node GROUP BY node.provision_state
    UNION ALL
    SELECT 'maintenance', 'maintenance', count(*) FROM nodes AS node WHERE node.maintenance
    UNION ALL
    SELECT 'allocation', allocation.state, count(*) FROM node_allocations AS allocation GROUP BY allocation.state
    UNION ALL
    SELECT 'conductor', CASE
        WHEN NOT conductor.online THEN 'offline'
        WHEN conductor.updated_at < clock_timestamp() - make_interval(secs => @heartbeat_timeout::float8) THEN 'stale'
        ELSE 'alive' END, count(*)
    FROM conductors AS conductor GROUP BY 2
) AS counted
ORDER BY counted.kind, counted.state;

-- Returns the tree with the most providers that have an inventory of one class, if they are at least
-- min_providers: the class, how many they are, and the name of the root. A query with several groups of the
-- class has so many candidates in the tree that they can fill a page. Called by Store.TreeWidest, once when a
-- server starts. Locks nothing. It looks at the first max_classes classes.
-- Plan: one backward probe of tree_classes_class_id_providers_idx for each class, which reads one entry
-- however many trees there are.
-- name: TreeWidest :many
SELECT widest.providers, widest.class, root.name AS root
FROM (
    SELECT found.providers, found.root_id, class.name AS class
    FROM (
        SELECT known.id, known.name FROM resource_classes AS known ORDER BY known.id LIMIT @max_classes::int
    ) AS class
    CROSS JOIN LATERAL (
        SELECT tree.providers, tree.root_id FROM tree_classes AS tree
        WHERE tree.class_id = class.id AND tree.providers >= @min_providers::int
        ORDER BY tree.providers DESC, tree.root_id DESC
        LIMIT 1
    ) AS found
    ORDER BY found.providers DESC, class.id
    LIMIT 1
) AS widest
JOIN resource_providers AS root ON root.id = widest.root_id
ORDER BY widest.providers;
