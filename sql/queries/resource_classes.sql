-- All resource classes in id order: standard ones first.
-- Called by Store.ResourceClassList. Locks nothing. Plan: scan of a small table.
-- name: ResourceClassList :many
SELECT class.name, COALESCE(class.updated_at, class.created_at)::timestamptz AS modified_at
FROM resource_classes AS class
ORDER BY class.id;

-- When a class was made or renamed. Called by Store.ResourceClassShow.
-- Plan: resource_classes_name_key.
-- name: ResourceClassShow :one
SELECT COALESCE(class.updated_at, class.created_at)::timestamptz AS modified_at
FROM resource_classes AS class
WHERE class.name = @name::text;

-- Makes a class unless it is there; none written says that it was. Called by
-- Store.ResourceClassCreate and Store.ResourceClassEnsure.
-- Plan: resource_classes_name_key.
-- name: ResourceClassCreate :execrows
INSERT INTO resource_classes (name)
SELECT @name::text WHERE NOT EXISTS (SELECT FROM resource_classes AS present WHERE present.name = @name::text)
ON CONFLICT DO NOTHING;

-- PUT /resource_classes/{name} before 1.7. See the function.
-- name: ResourceClassRename :exec
SELECT resource_class_rename(@name::text, @new_name::text);

-- DELETE /resource_classes/{name}. See the function.
-- name: ResourceClassDelete :exec
SELECT resource_class_delete(@name::text);

-- Inserts the standard classes that are missing, each with its place in the list
-- as id. Called by Store.SyncStandardNames.
-- name: ResourceClassSync :execrows
INSERT INTO resource_classes (id, name)
SELECT wanted.place - 1, wanted.name
FROM unnest(@names::text[]) WITH ORDINALITY AS wanted (name, place)
WHERE NOT EXISTS (SELECT FROM resource_classes AS present WHERE present.name = wanted.name)
ORDER BY wanted.place
ON CONFLICT DO NOTHING;
