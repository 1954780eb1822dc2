-- The previous generation is unknown. A client is unlikely to hold a generation above all others, so its
-- next write fails with a generation conflict, and it reads the provider again.
INSERT INTO provider_generations (provider_id, generation, updated_at)
SELECT provider.id, 1 + (SELECT coalesce(max(generation_row.generation), 0) FROM provider_generations AS generation_row), now()
FROM resource_providers AS provider
WHERE NOT EXISTS (SELECT FROM provider_generations AS generation_row WHERE generation_row.provider_id = provider.id);
