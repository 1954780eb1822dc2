-- Trigger: increments the revision of a provider with every UPDATE of its row.
--
-- It has no WHEN: a re-parenting writes all rows of the moved subtree, most of them without a change, and a claim with
-- same_subtree must notice that. Claims and writes of inventories do not update the row.
-- Locks nothing; the UPDATE has locked the row.
CREATE OR REPLACE FUNCTION provider_revise() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER resource_providers_revise BEFORE UPDATE ON resource_providers
FOR EACH ROW EXECUTE FUNCTION provider_revise();
