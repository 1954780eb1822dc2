-- What the search for allocation candidates looks up.
--
-- Adds columns with constant defaults (no rewrite) and indexes. CREATE INDEX locks
-- out writers of its table while it runs, some seconds on a cloud of 100,000
-- providers; nothing has to be done beforehand.

-- +goose Up
-- Copies of provider_traits and provider_aggregates, kept by the triggers on those:
-- whether a provider qualifies is then decided with its one row. They filter; the
-- tables they copy are the truth, and their indexes find who has a trait. No index
-- here on purpose: with a GIN index the planner reads the list of a common trait
-- to check a single provider.
ALTER TABLE resource_providers
    ADD COLUMN trait_ids int[] NOT NULL DEFAULT '{}',
    ADD COLUMN aggregate_ids int[] NOT NULL DEFAULT '{}';

-- Whether the provider has MISC_SHARES_VIA_AGGREGATE, kept by the same triggers.
-- An aggregate of 10,000 hosts has few sharing providers; the index finds those.
ALTER TABLE provider_aggregates ADD COLUMN sharing bool NOT NULL DEFAULT false;
CREATE INDEX provider_aggregates_sharing_idx ON provider_aggregates (aggregate_id, provider_id) WHERE sharing;

-- All roots, in the order of their ids, and in an order that says nothing.
CREATE INDEX resource_providers_roots_idx ON resource_providers (id) WHERE parent_id IS NULL;
CREATE INDEX resource_providers_shuffled_roots_idx ON resource_providers (hashint8extended(id, 0), id) WHERE parent_id IS NULL;

-- As before, and with the provider as the last column: a search that goes through
-- all who have room continues where it stopped.
DROP INDEX inventories_class_id_free_idx;
CREATE INDEX inventories_class_id_free_idx ON inventories (class_id, free, provider_id);
