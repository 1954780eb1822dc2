-- Reports whether PUT /resource_providers/{uuid}/tree changes anything.
--
-- p_changes, p_consumers: rows of tree_differences and tree_consumer_differences as JSON. Locks nothing.
CREATE OR REPLACE FUNCTION tree_differs(p_changes jsonb, p_consumers jsonb) RETURNS bool
LANGUAGE sql IMMUTABLE AS $$
    SELECT /* tree_differs 1/1 */ EXISTS (
        SELECT FROM tree_changes(p_changes) AS change
        WHERE CASE WHEN change.is_deleted THEN change.provider_id IS NOT NULL
            ELSE change.provider_id IS NULL OR change.name_differs OR change.parent_differs
                OR change.records IS NOT NULL OR change.traits IS NOT NULL OR change.aggregates IS NOT NULL END
    ) OR EXISTS (SELECT FROM jsonb_to_recordset(p_consumers) AS consumer (differs bool) WHERE consumer.differs);
$$;
