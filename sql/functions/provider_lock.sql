-- Locks one provider for a write of its inventories, traits or aggregates, and checks its generation.
--
-- p_generation null: do not check. p_with_root: also lock the tree's root, because the caller copies its id
-- or changes which inventories exist. p_with_copies: the caller writes traits or aggregates, and triggers
-- copy them into the provider's row. Raises PL001 (no such provider) and PL002 (generation differs).
-- Locks: the tree's root FOR NO KEY UPDATE if p_with_root, the provider's row FOR KEY SHARE (p_with_copies:
-- FOR NO KEY UPDATE), then the row in provider_generations FOR NO KEY UPDATE. The foreign keys and copies of
-- the rows to be written take the second lock in any case. If they took it after the third, this transaction
-- would deadlock with a deletion or rename that has locked the row and waits for the generation.
CREATE OR REPLACE FUNCTION provider_lock(
    p_uuid uuid, p_generation bigint, p_with_root bool, p_with_copies bool,
    OUT provider_id bigint, OUT root_id bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT /* provider_lock 1/4 */ provider.id INTO provider_id FROM resource_providers AS provider
    WHERE provider.uuid = p_uuid;
    IF p_with_root THEN
        root_id := provider_lock_root(provider_id);
    END IF;
    IF p_with_copies THEN
        PERFORM /* provider_lock 2/4 */ FROM resource_providers AS provider
        WHERE provider.id = provider_lock.provider_id FOR NO KEY UPDATE;
    ELSE
        PERFORM /* provider_lock 3/4 */ FROM resource_providers AS provider
        WHERE provider.id = provider_lock.provider_id FOR KEY SHARE;
    END IF;
    SELECT /* provider_lock 4/4 */ generation_row.generation INTO generation FROM provider_generations AS generation_row
    WHERE generation_row.provider_id = provider_lock.provider_id FOR NO KEY UPDATE;
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
