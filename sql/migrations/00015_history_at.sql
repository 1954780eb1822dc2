-- What answers of how it was need: changes of providers without those of allocations, of trees by the tree before, and renamed classes.
-- Indexes on few rows of history: steps wait for them, writers do not.

-- +goose Up

-- Changes of a provider itself: claims are most rows of a provider.
CREATE INDEX history_provider_topic_idx ON history (provider, topic, index) WHERE topic IN ('aggregate', 'inventory', 'provider', 'trait');
-- Providers that have left a tree.
CREATE INDEX history_left_root_idx ON history ((before ->> 'root'), index)
    WHERE topic = 'provider' AND before ->> 'root' IS DISTINCT FROM after ->> 'root';
-- Renamed resource classes.
CREATE INDEX history_renamed_idx ON history (index) WHERE topic = 'class_name' AND before ->> 'name' IS NOT NULL;
