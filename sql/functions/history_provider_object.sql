-- A provider as notes have it; null for null. A parent or root without a row has its id in place of its UUID.
CREATE OR REPLACE FUNCTION history_provider_object(p_provider resource_providers) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT /* history_provider_object 1/1 */ jsonb_build_object('name', p_provider.name,
        'parent', coalesce((SELECT to_jsonb(parent.uuid) FROM resource_providers AS parent WHERE parent.id = p_provider.parent_id),
            to_jsonb(p_provider.parent_id)),
        'root', CASE WHEN p_provider.root_id = p_provider.id THEN to_jsonb(p_provider.uuid) ELSE coalesce(
            (SELECT to_jsonb(root.uuid) FROM resource_providers AS root WHERE root.id = p_provider.root_id),
            to_jsonb(p_provider.root_id)) END)
    WHERE p_provider.id IS NOT NULL
$$;
