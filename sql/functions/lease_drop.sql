-- Trigger: deletes the lease of a deleted consumer.
--
-- It fires only for consumers with a lease. Locks: the lease, after the consumer and its providers.
CREATE OR REPLACE FUNCTION lease_drop() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    DELETE /* lease_drop 1/1 */ FROM leases WHERE consumer_id = OLD.id;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER consumers_drop_lease AFTER DELETE ON consumers
FOR EACH ROW WHEN (OLD.leased) EXECUTE FUNCTION lease_drop();
