-- Trigger: sets the root_id of a new row of provider_traits or provider_aggregates that has none.
--
-- The functions that write these tables set it themselves; this is for rows that are inserted manually. A provider that
-- does not exist leaves it null, which the column rejects.
-- Locks: the provider's row FOR NO KEY UPDATE, which provider_reparent locks too, so that the copy cannot be stale. The
-- triggers that run after the statement update this row in any case.
CREATE OR REPLACE FUNCTION provider_copy_root() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    SELECT /* provider_copy_root 1/1 */ provider.root_id INTO NEW.root_id FROM resource_providers AS provider
    WHERE provider.id = NEW.provider_id FOR NO KEY UPDATE;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER provider_traits_root BEFORE INSERT ON provider_traits
FOR EACH ROW WHEN (NEW.root_id IS NULL) EXECUTE FUNCTION provider_copy_root();
CREATE OR REPLACE TRIGGER provider_aggregates_root BEFORE INSERT ON provider_aggregates
FOR EACH ROW WHEN (NEW.root_id IS NULL) EXECUTE FUNCTION provider_copy_root();
