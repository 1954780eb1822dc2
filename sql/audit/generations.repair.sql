-- What the generation was is lost. One above all others is hardly what a client
-- remembers, so that whoever writes by what it knew is refused and reads again.
INSERT INTO provider_generations (provider_id, generation, updated_at)
SELECT provider.id, 1 + (SELECT coalesce(max(held.generation), 0) FROM provider_generations AS held), now()
FROM resource_providers AS provider
WHERE NOT EXISTS (SELECT FROM provider_generations AS held WHERE held.provider_id = provider.id);
