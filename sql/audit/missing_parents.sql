-- Providers whose parent does not exist.
SELECT provider.uuid::text, format('provider %s has parent %s, which does not exist', provider.id, provider.parent_id)
FROM resource_providers AS provider
WHERE provider.parent_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM resource_providers AS parent WHERE parent.id = provider.parent_id)
ORDER BY provider.id;
