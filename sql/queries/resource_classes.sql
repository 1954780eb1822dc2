-- Returns all resource classes in the order of their ids: standard ones first.
-- Called by Store.ResourceClassList. Locks nothing. Plan: scan of a small table.
-- name: ResourceClassList :many
SELECT class.name, COALESCE(class.updated_at, class.created_at)::timestamptz AS modified_at
FROM resource_classes AS class
ORDER BY class.id;

-- Returns the time at which a class was created or renamed. Called by Store.ResourceClassShow.
-- Plan: resource_classes_name_key.
-- name: ResourceClassShow :one
SELECT COALESCE(class.updated_at, class.created_at)::timestamptz AS modified_at
FROM resource_classes AS class
WHERE class.name = @name::text;

-- Inserts a class unless it exists; no row affected: it exists. Called by Store.ResourceClassCreate.
-- Plan: resource_classes_name_key.
-- name: ResourceClassCreate :execrows
INSERT INTO resource_classes (name)
SELECT @name::text WHERE NOT EXISTS (SELECT FROM resource_classes AS existing WHERE existing.name = @name::text)
ON CONFLICT DO NOTHING;

-- PUT /resource_classes/{name} before 1.7. See the function.
-- name: ResourceClassRename :exec
SELECT resource_class_rename(@name::text, @new_name::text);

-- DELETE /resource_classes/{name}. See the function.
-- name: ResourceClassDelete :exec
SELECT resource_class_delete(@name::text);

-- Inserts the standard classes that are missing; the id of each is its position in the list. Called by
-- Store.SyncStandardNames.
-- name: ResourceClassSync :execrows
INSERT INTO resource_classes (id, name)
SELECT requested.position - 1, requested.name
FROM unnest(@names::text[]) WITH ORDINALITY AS requested (name, position)
WHERE NOT EXISTS (SELECT FROM resource_classes AS existing WHERE existing.name = requested.name)
ORDER BY requested.position
ON CONFLICT DO NOTHING;
