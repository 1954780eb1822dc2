UPDATE inventories AS inventory SET used = truth.used
FROM (
    SELECT present.provider_id, present.class_id, coalesce(sum(allocation.used), 0) AS used
    FROM inventories AS present
    LEFT JOIN allocations AS allocation
        ON allocation.provider_id = present.provider_id AND allocation.class_id = present.class_id
    GROUP BY present.provider_id, present.class_id
) AS truth
WHERE truth.provider_id = inventory.provider_id AND truth.class_id = inventory.class_id AND inventory.used <> truth.used;
