-- Returns the changes after an event, in any order: of providers, or of consumers, with one of the topics.
--
-- p_index: the event; p_providers or p_consumers is null. Notes that are not in order yet count as later than all events: they are read in
-- the same snapshot, with indexes above all others, so what a caller reads beside them from other tables has exactly these changes.
-- Called by the functions that return how it was. Each call plans its statement with its values: days before the event are not opened.
-- Locks: none. Plan: history_provider_topic_idx, for allocations history_provider_idx, or history_consumer_idx for each UUID; history_pending.
CREATE OR REPLACE FUNCTION history_later(p_index bigint, p_topics text[], p_providers uuid[], p_consumers uuid[])
RETURNS TABLE (index bigint, topic text, provider uuid, consumer uuid, class text, before jsonb, after jsonb)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_day date := history_day_of(p_index + 1);
BEGIN
    IF p_providers IS NOT NULL THEN
        RETURN QUERY SELECT /* history_later 1/3 */ change.* FROM unnest(p_providers) AS key (uuid)
        CROSS JOIN LATERAL (
            SELECT one.index, one.topic, one.provider, one.consumer, one.class, one.before, one.after FROM history AS one
            WHERE one.provider = key.uuid AND one.topic = ANY (p_topics) AND one.index > p_index AND one.day >= v_day OFFSET 0
        ) AS change;
    ELSE
        RETURN QUERY SELECT /* history_later 2/3 */ change.* FROM unnest(p_consumers) AS key (uuid)
        CROSS JOIN LATERAL (
            SELECT one.index, one.topic, one.provider, one.consumer, one.class, one.before, one.after FROM history AS one
            WHERE one.consumer = key.uuid AND one.topic = ANY (p_topics) AND one.index > p_index AND one.day >= v_day OFFSET 0
        ) AS change;
    END IF;
    RETURN QUERY
    SELECT /* history_later 3/3 */ change.index, change.topic, change.provider, change.consumer, change.class, change.before, change.after
    FROM history_pending() AS change
    WHERE change.topic = ANY (p_topics) AND (change.provider = ANY (p_providers) OR change.consumer = ANY (p_consumers));
END
$$;
