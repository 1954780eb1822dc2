-- Providers without a generation. Such a one cannot be locked, and answers 404.
SELECT provider.uuid::text, format('provider %s has no generation', provider.id)
FROM resource_providers AS provider
WHERE NOT EXISTS (SELECT FROM provider_generations AS held WHERE held.provider_id = provider.id)
ORDER BY provider.id;
