UPDATE inventories AS inventory SET used = computed.used
FROM (
    SELECT existing.provider_id, existing.class_id, coalesce(sum(allocation.used), 0) AS used
    FROM inventories AS existing
    LEFT JOIN allocations AS allocation
        ON allocation.provider_id = existing.provider_id AND allocation.class_id = existing.class_id
    GROUP BY existing.provider_id, existing.class_id
) AS computed
WHERE computed.provider_id = inventory.provider_id AND computed.class_id = inventory.class_id AND inventory.used <> computed.used;
