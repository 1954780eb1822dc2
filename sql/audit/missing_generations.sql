-- Providers without a generation. They cannot be locked, and requests for them return 404.
SELECT provider.uuid::text, format('provider %s has no generation', provider.id)
FROM resource_providers AS provider
WHERE NOT EXISTS (SELECT FROM provider_generations AS generation_row WHERE generation_row.provider_id = provider.id)
ORDER BY provider.id;
