-- Locks one provider for writing what belongs to it, and checks its generation.
--
-- p_generation null: the caller doesn't care. p_with_root: lock the tree's root
-- too, since the caller copies its id. p_with_copies: the caller writes traits or
-- aggregates, which are copied into the provider's row. Raises PL001 (no such
-- provider) and PL002 (generation differs). Locks: the tree's root FOR SHARE if
-- wanted, the provider's row FOR KEY SHARE (p_with_copies: FOR NO KEY UPDATE), then
-- the row in provider_generations FOR NO KEY UPDATE. The second is what the foreign
-- keys and copies of the rows to be written ask for; had only then, it would meet a
-- deletion or a renaming that holds the row and waits for the generation.
CREATE OR REPLACE FUNCTION lock_provider(
    p_uuid uuid, p_generation bigint, p_with_root bool, p_with_copies bool,
    OUT provider_id bigint, OUT root_id bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT provider.id INTO provider_id FROM resource_providers AS provider WHERE provider.uuid = p_uuid;
    IF p_with_root THEN
        root_id := lock_root_shared(provider_id);
    END IF;
    IF p_with_copies THEN
        PERFORM FROM resource_providers AS provider WHERE provider.id = lock_provider.provider_id FOR NO KEY UPDATE;
    ELSE
        PERFORM FROM resource_providers AS provider WHERE provider.id = lock_provider.provider_id FOR KEY SHARE;
    END IF;
    SELECT held.generation INTO generation FROM provider_generations AS held
    WHERE held.provider_id = lock_provider.provider_id FOR NO KEY UPDATE;
    IF generation IS NULL THEN
        RAISE EXCEPTION 'no resource provider %', p_uuid USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_uuid);
    END IF;
    IF generation <> p_generation THEN
        RAISE EXCEPTION 'generation of provider % is %, not %', p_uuid, generation, p_generation
            USING ERRCODE = 'PL002',
            DETAIL = json_build_object('provider', p_uuid, 'actual', generation, 'given', p_generation);
    END IF;
END
$$;
