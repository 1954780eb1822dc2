-- Returns the events of a page for GET /history, by place, and behind them where the next page begins.
--
-- An event is listed if one of its changes passes all filters. Filters that are null pass all.
-- p_from: the index at which the page begins; null: the newest, or with p_descending false the oldest. p_low and p_high are bounds of
-- indexes, p_since and p_until of times; the second ones are exclusive. The row with is_next has in index the event with which the next page begins.
--
-- The filter with the best index leads: consumers, request, providers, nodes, a tree or a name; otherwise the events themselves, in
-- their order. Of each value of that filter it looks at p_bound divided by the number of values, and at the rest of the last event;
-- the page ends at the first place up to which this has found everything. So it can be short or empty and not be the last.
-- It ends also after p_rows changes, and has at least one event.
--
-- The only dynamic statement names the columns of the leading filter and the direction. Each call plans its statements with its values:
-- partitions outside of the days from p_low to p_high are not opened.
-- Called by the query HistoryList. Locks nothing. Plan: history_consumer_idx, history_provider_idx, history_root_idx, history_node_idx,
-- history_request_id_idx or history_global_request_id_idx for each value, or history_index_idx; history_index_idx for the size of each event.
CREATE OR REPLACE FUNCTION history_find(
    p_descending bool, p_from bigint, p_low bigint, p_high bigint, p_since timestamptz, p_until timestamptz,
    p_consumers uuid[], p_request text, p_providers uuid[], p_nodes uuid[], p_tree uuid, p_name text,
    p_caller_user text, p_project text, p_topics text[], p_limit int, p_bound int, p_rows int
) RETURNS TABLE (place bigint, day date, index bigint, is_next bool)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_low bigint := greatest(p_low, CASE WHEN NOT p_descending THEN p_from END, 1);
    v_high bigint := least(p_high, CASE WHEN p_descending THEN p_from + 1 END, 9223372036854775807);
    v_first_day date;
    v_last_day date;
    v_root uuid;
    v_named uuid[];
    v_fields text[];
    v_keys text[];
    v_direction text := CASE WHEN p_descending THEN 'DESC' ELSE 'ASC' END;
    v_columns text := 'one.day, one.index, one.at, one.topic, one.provider, one.root, one.consumer, one.node, one.request_id, '
        || 'one.global_request_id, one.project, one.previous_project, one.caller';
    v_looked_at text;
    v_most bigint;
    v_days date[];
    v_indexes bigint[];
    v_next bigint;
BEGIN
    IF p_since IS NOT NULL THEN
        SELECT /* history_find 1/10 */ greatest(v_low, mark.first) INTO v_low
        FROM (SELECT max(known.first) AS first FROM (
            SELECT one.first FROM history_marks AS one WHERE one.at <= p_since ORDER BY one.at DESC LIMIT 1) AS known) AS mark;
    END IF;
    IF p_until IS NOT NULL THEN
        SELECT /* history_find 2/10 */ least(v_high, mark.first) INTO v_high
        FROM (SELECT min(later.first) AS first FROM history_marks AS later WHERE later.first > coalesce((
            SELECT one.first FROM history_marks AS one WHERE one.earliest < p_until ORDER BY one.first DESC LIMIT 1), 0)) AS mark;
    END IF;
    v_first_day := coalesce((SELECT /* history_find 3/10 */ max(known.day) FROM history_days AS known WHERE known.first <= v_low), '-infinity');
    v_last_day := coalesce((SELECT /* history_find 4/10 */ max(known.day) FROM history_days AS known WHERE known.first < v_high), '-infinity');

    IF p_tree IS NOT NULL THEN
        v_root := coalesce((
            SELECT /* history_find 5/10 */ root.uuid FROM resource_providers AS member JOIN resource_providers AS root ON root.id = member.root_id
            WHERE member.uuid = p_tree), p_tree);
    END IF;
    IF p_name IS NOT NULL THEN
        v_named := ARRAY(
            SELECT /* history_find 6/10 */ coalesce(one.node, one.provider) FROM history AS one WHERE one.name = p_name
            UNION SELECT coalesce(one.node, one.provider) FROM history AS one WHERE one.previous_name = p_name
            UNION SELECT one.uuid FROM resource_providers AS one WHERE one.name = p_name
            UNION SELECT one.uuid FROM nodes AS one WHERE one.name = p_name
            UNION SELECT one.uuid FROM node_allocations AS one WHERE one.name = p_name);
    END IF;

    -- The leading filter: a column for each value.
    SELECT /* history_find 7/10 */ array_agg(key.field), array_agg(key.value) INTO v_fields, v_keys
    FROM (
        SELECT 'consumer' AS field, each::text AS value FROM unnest(p_consumers) AS each
        UNION SELECT field, p_request FROM unnest('{request_id,global_request_id}'::text[]) AS field
        WHERE p_consumers IS NULL AND p_request IS NOT NULL
        UNION SELECT 'provider', each::text FROM unnest(p_providers) AS each WHERE num_nonnulls(p_consumers, p_request) = 0
        UNION SELECT field, each::text FROM unnest(p_nodes) AS each, unnest('{provider,node}'::text[]) AS field
        WHERE num_nonnulls(p_consumers, p_request, p_providers) = 0
        UNION SELECT field, v_root::text FROM unnest('{provider,root}'::text[]) AS field
        WHERE v_root IS NOT NULL AND num_nonnulls(p_consumers, p_request, p_providers, p_nodes) = 0
        UNION SELECT field, each::text FROM unnest(v_named) AS each, unnest('{provider,node}'::text[]) AS field
        WHERE num_nonnulls(p_consumers, p_request, p_providers, p_nodes, p_tree) = 0
    ) AS key;
    IF v_fields IS NOT NULL THEN
        SELECT /* history_find 8/10 */ string_agg(format(
            'SELECT key.number, change.* FROM unnest($1, $2) WITH ORDINALITY AS key (field, value, number) CROSS JOIN LATERAL ('
            'SELECT %1$s FROM history AS one WHERE one.%2$I = key.value::%3$s AND one.index >= $3 AND one.index < $4 '
            'AND one.day BETWEEN $5 AND $6 ORDER BY one.index %4$s FETCH FIRST ($7) ROWS WITH TIES) AS change WHERE key.field = %2$L',
            v_columns, each.field, CASE WHEN each.field LIKE '%request_id' THEN 'text' ELSE 'uuid' END, v_direction), ' UNION ALL ')
        INTO v_looked_at FROM (SELECT DISTINCT unnest(v_fields) AS field) AS each;
    ELSIF num_nonnulls(p_consumers, p_providers, p_nodes, p_name) > 0 THEN
        RETURN; -- no value of the leading filter
    ELSE
        v_looked_at := format('SELECT 1 AS number, change.* FROM (SELECT %1$s FROM history AS one WHERE one.index >= $3 AND one.index < $4 '
            'AND one.day BETWEEN $5 AND $6 ORDER BY one.day %2$s, one.index %2$s FETCH FIRST ($7) ROWS WITH TIES) AS change',
            v_columns, v_direction);
    END IF;
    v_most := greatest(p_bound / coalesce(cardinality(v_keys), 1), 10);

    EXECUTE format(
        'WITH looked_at AS MATERIALIZED (%1$s), horizon AS MATERIALIZED ('
        'SELECT %2$s(last.index) AS index FROM (SELECT %3$s(looked_at.index) AS index FROM looked_at GROUP BY looked_at.number '
        'HAVING count(*) >= $7) AS last), '
        'found AS (SELECT DISTINCT change.day, change.index FROM looked_at AS change, horizon '
        'WHERE (horizon.index IS NULL OR CASE WHEN $8 THEN change.index >= horizon.index ELSE change.index <= horizon.index END) '
        'AND ($9 IS NULL OR change.consumer = ANY ($9)) AND ($10 IS NULL OR $10 IN (change.request_id, change.global_request_id)) '
        'AND ($11 IS NULL OR change.provider = ANY ($11)) AND ($12 IS NULL OR change.provider = ANY ($12) OR change.node = ANY ($12)) '
        'AND ($13 IS NULL OR $13 IN (change.provider, change.root)) '
        'AND ($14 IS NULL OR change.provider = ANY ($14) OR change.node = ANY ($14)) '
        'AND ($15 IS NULL OR change.caller ->> ''user_id'' = $15) AND ($16 IS NULL OR $16 IN (change.project, change.previous_project)) '
        'AND ($17 IS NULL OR change.topic = ANY ($17)) AND ($18 IS NULL OR change.at >= $18) AND ($19 IS NULL OR change.at < $19) '
        'ORDER BY change.index %4$s LIMIT $20), '
        'sized AS (SELECT found.day, found.index, row_number() OVER (ORDER BY found.index %4$s) AS position, '
        'sum(size.changes) OVER (ORDER BY found.index %4$s) - size.changes AS before '
        'FROM found CROSS JOIN LATERAL (SELECT max(one.place) AS changes FROM history AS one '
        'WHERE one.day = found.day AND one.index = found.index) AS size), '
        'cut AS (SELECT sized.index FROM sized WHERE sized.position = $20 OR sized.before >= $21 ORDER BY sized.position LIMIT 1) '
        'SELECT array_agg(sized.day ORDER BY sized.position), array_agg(sized.index ORDER BY sized.position), coalesce((SELECT cut.index FROM cut), (SELECT horizon.index + CASE WHEN $8 THEN -1 ELSE 1 END FROM horizon)) '
        'FROM sized WHERE sized.position < $20 AND sized.before < $21',
        v_looked_at, CASE WHEN p_descending THEN 'max' ELSE 'min' END, CASE WHEN p_descending THEN 'min' ELSE 'max' END, v_direction)
    INTO v_days, v_indexes, v_next
    USING v_fields, v_keys, v_low, v_high, v_first_day, v_last_day, v_most, p_descending, p_consumers, p_request, p_providers, p_nodes,
        v_root, v_named, p_caller_user, p_project, p_topics, p_since, p_until, p_limit + 1, p_rows;

    RETURN QUERY
    SELECT /* history_find 9/10 */ listed.place, listed.day, listed.index, false FROM unnest(v_days, v_indexes) WITH ORDINALITY AS listed (day, index, place);
    IF v_next BETWEEN v_low AND v_high - 1 THEN
        RETURN QUERY SELECT /* history_find 10/10 */ coalesce(cardinality(v_days), 0) + 1::bigint, NULL::date, v_next, true;
    END IF;
END
$$;
