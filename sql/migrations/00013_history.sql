-- The record of changes: what each committed write changed, in one order.
-- New tables; and triggers that are disabled until history is turned on: they lock each table for one catalog update.

-- +goose Up

-- Settings and state of the record.
CREATE TABLE history_state (
    only_row bool PRIMARY KEY DEFAULT true, -- There is one row.
    state text COLLATE "C" NOT NULL DEFAULT 'off', -- off, starting or on.
    keep_days int NOT NULL DEFAULT 7, -- Days that are kept, besides the current one.
    generation bigint NOT NULL DEFAULT 0, -- Incremented by each change of the settings.
    log uuid NOT NULL DEFAULT gen_random_uuid(), -- Series of indexes. Another one: indexes of the one before mean nothing in it.
    cluster text COLLATE "C", -- System identifier and timeline of the last step; a step with another one begins a new log.
    since timestamptz, -- Time from which the record is complete; null while it is off.
    triggers_at timestamptz, -- Time at which the last trigger was enabled; null before.
    newest bigint NOT NULL DEFAULT 0, -- Index of the newest event.
    swept bigint NOT NULL DEFAULT 0, -- Number in outbox up to which no note can appear any more.
    drawn bigint NOT NULL DEFAULT 0, -- Last number that had been drawn when writers was read.
    writers text[] COLLATE "C" NOT NULL DEFAULT '{}', -- Transactions that could still commit a number up to drawn.
    CONSTRAINT history_state_only_row_check CHECK (only_row),
    CONSTRAINT history_state_state_check CHECK (state IN ('off', 'starting', 'on')),
    CONSTRAINT history_state_keep_days_check CHECK (keep_days BETWEEN 0 AND 3650)
) WITH (fillfactor = 50);
INSERT INTO history_state DEFAULT VALUES;

-- Notes of committed writes that history_step has not yet put in order. The number of a note is drawn from a sequence without a
-- cache, and the last one of a transaction when it holds all its locks: the order of the events depends on both.
CREATE TABLE outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY, -- Number of the note.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(), -- Transaction that wrote it.
    at timestamptz NOT NULL DEFAULT clock_timestamp(), -- Time of the note.
    topic text COLLATE "C" NOT NULL, -- Kind of object; claim: a new consumer with all its allocations.
    provider_id bigint, -- Provider by id: its row can be gone at the commit.
    consumer_id bigint, -- Consumer by id, likewise.
    node_id bigint, -- Node by id, likewise.
    provider uuid, -- Provider; null if its row was gone.
    consumer uuid, -- Consumer; null if its row was gone.
    node uuid, -- Node or node allocation; null if its row was gone.
    class text COLLATE "C", -- Resource class or trait.
    generation bigint, -- Provider generation after the write.
    caller jsonb DEFAULT nullif(current_setting('berth.caller', true), '')::jsonb, -- Who asked; null: unknown.
    before jsonb, -- The object before the write; null: it did not exist.
    after jsonb, -- The object after the write; null: it does not exist.
    providers uuid[], -- Of a claim: the provider of each allocation, or the only one.
    classes text[] COLLATE "C", -- Of a claim: the class of each allocation.
    amounts bigint[], -- Of a claim: the amount of each allocation.
    generations bigint[], -- Of a claim: the generation of each of providers after the write.
    CONSTRAINT outbox_pkey PRIMARY KEY (seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- The record: what each write changed, a row for each object. A partition is a day.
CREATE TABLE history (
    day date NOT NULL, -- Day on which the write was put in order, in UTC.
    index bigint NOT NULL, -- Number of the write, from 1, without gaps.
    place int NOT NULL, -- Number of the change in its write, from 1.
    at timestamptz NOT NULL, -- Time of the last note of the write.
    topic text COLLATE "C" NOT NULL, -- Kind of object.
    provider uuid, -- Provider that has changed, or that the allocation is on.
    root uuid, -- Root of the tree of the provider.
    consumer uuid, -- Consumer.
    node uuid, -- Node or node allocation.
    class text COLLATE "C", -- Resource class or trait.
    generation bigint, -- Provider generation after the write; null: the write did not raise it.
    name text COLLATE "C", -- Name that the provider or node has.
    previous_name text COLLATE "C", -- Name that it had, if it is another.
    project text COLLATE "C", -- Project of the consumer.
    previous_project text COLLATE "C", -- Project that it had, if it is another.
    request_id text COLLATE "C", -- Request of the write.
    global_request_id text COLLATE "C", -- Request for which that one was sent.
    caller jsonb, -- Who asked; null: unknown.
    before jsonb, -- The object before the write; null: it did not exist.
    after jsonb -- The object after the write; null: it does not exist.
) PARTITION BY RANGE (day);
-- The changes of an event.
CREATE UNIQUE INDEX history_index_idx ON history (day, index, place);
-- Changes of a provider, and of consumers on it.
CREATE INDEX history_provider_idx ON history (provider, index) WHERE provider IS NOT NULL;
-- Changes of a tree.
CREATE INDEX history_root_idx ON history (root, index) WHERE root IS NOT NULL;
-- Changes of a consumer.
CREATE INDEX history_consumer_idx ON history (consumer, index) WHERE consumer IS NOT NULL;
-- Changes of a node.
CREATE INDEX history_node_idx ON history (node, index) WHERE node IS NOT NULL;
-- Changes by request.
CREATE INDEX history_request_id_idx ON history (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX history_global_request_id_idx ON history (global_request_id) WHERE global_request_id IS NOT NULL;
-- Changes by name.
CREATE INDEX history_name_idx ON history (name) WHERE name IS NOT NULL;

-- Days of the record: partitions of history.
CREATE TABLE history_days (
    day date PRIMARY KEY, -- Day, in UTC.
    first bigint NOT NULL, -- First index that can be on this day.
    began_at timestamptz NOT NULL DEFAULT clock_timestamp() -- Time of the first step of the day.
);

-- Functions of the triggers; the set of functions replaces them.
CREATE FUNCTION history_note_provider() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_inventory() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_generation() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_consumer() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_allocation() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_lease() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_name() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_node() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_node_trait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION history_note_node_allocation() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';

-- They run at the commit, when the transaction holds all its locks. Their conditions are evaluated at once. A claim that notes
-- itself has set berth.noted.
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON resource_providers
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION history_note_provider();
CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE ON resource_providers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.name, OLD.parent_id, OLD.root_id, OLD.trait_ids, OLD.aggregate_ids)
        IS DISTINCT FROM (NEW.name, NEW.parent_id, NEW.root_id, NEW.trait_ids, NEW.aggregate_ids))
    EXECUTE FUNCTION history_note_provider();
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON inventories
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION history_note_inventory();
CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF total, reserved, min_unit, max_unit, step_size, allocation_ratio ON inventories
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.total, OLD.reserved, OLD.min_unit, OLD.max_unit, OLD.step_size, OLD.allocation_ratio)
        IS DISTINCT FROM (NEW.total, NEW.reserved, NEW.min_unit, NEW.max_unit, NEW.step_size, NEW.allocation_ratio))
    EXECUTE FUNCTION history_note_inventory();
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT ON provider_generations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION history_note_generation();
CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF generation ON provider_generations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.generation <> NEW.generation AND current_setting('berth.noted', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION history_note_generation();
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON consumers
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (current_setting('berth.noted', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION history_note_consumer();
CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF generation, project_id, user_id, consumer_type_id ON consumers
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.generation, OLD.project_id, OLD.user_id, OLD.consumer_type_id)
        IS DISTINCT FROM (NEW.generation, NEW.project_id, NEW.user_id, NEW.consumer_type_id))
    EXECUTE FUNCTION history_note_consumer();
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON allocations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (current_setting('berth.noted', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION history_note_allocation();
CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE ON allocations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.consumer_id, OLD.provider_id, OLD.class_id, OLD.used)
        IS DISTINCT FROM (NEW.consumer_id, NEW.provider_id, NEW.class_id, NEW.used))
    EXECUTE FUNCTION history_note_allocation();
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON leases
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION history_note_lease();
-- A renewal that keeps the length of the lease is no change.
CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF seconds, until ON leases
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.seconds, OLD.until) IS DISTINCT FROM (NEW.seconds, NEW.until)) EXECUTE FUNCTION history_note_lease();
-- Standard names belong to the version of the server.
CREATE CONSTRAINT TRIGGER history_row_made AFTER INSERT ON resource_classes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (starts_with(NEW.name, 'CUSTOM_')) EXECUTE FUNCTION history_note_name();
CREATE CONSTRAINT TRIGGER history_row_deleted AFTER DELETE ON resource_classes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (starts_with(OLD.name, 'CUSTOM_')) EXECUTE FUNCTION history_note_name();
CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF name ON resource_classes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.name <> NEW.name) EXECUTE FUNCTION history_note_name();
CREATE CONSTRAINT TRIGGER history_row_made AFTER INSERT ON traits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (starts_with(NEW.name, 'CUSTOM_')) EXECUTE FUNCTION history_note_name();
CREATE CONSTRAINT TRIGGER history_row_deleted AFTER DELETE ON traits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (starts_with(OLD.name, 'CUSTOM_')) EXECUTE FUNCTION history_note_name();
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR UPDATE OR DELETE ON nodes
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION history_note_node();
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON node_traits
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION history_note_node_trait();
CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR UPDATE OR DELETE ON node_allocations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION history_note_node_allocation();

ALTER TABLE resource_providers DISABLE TRIGGER history_row, DISABLE TRIGGER history_changed;
ALTER TABLE inventories DISABLE TRIGGER history_row, DISABLE TRIGGER history_changed;
ALTER TABLE provider_generations DISABLE TRIGGER history_row, DISABLE TRIGGER history_changed;
ALTER TABLE consumers DISABLE TRIGGER history_row, DISABLE TRIGGER history_changed;
ALTER TABLE allocations DISABLE TRIGGER history_row, DISABLE TRIGGER history_changed;
ALTER TABLE leases DISABLE TRIGGER history_row, DISABLE TRIGGER history_changed;
ALTER TABLE resource_classes DISABLE TRIGGER history_row_made, DISABLE TRIGGER history_row_deleted, DISABLE TRIGGER history_changed;
ALTER TABLE traits DISABLE TRIGGER history_row_made, DISABLE TRIGGER history_row_deleted;
ALTER TABLE nodes DISABLE TRIGGER history_row;
ALTER TABLE node_traits DISABLE TRIGGER history_row;
ALTER TABLE node_allocations DISABLE TRIGGER history_row;
