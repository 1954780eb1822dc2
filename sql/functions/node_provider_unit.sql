-- Null: nodes are not providers. Otherwise the id of the resource class of which a
-- node of this class has a unit; -1 if no node ever had one. Locks nothing.
CREATE OR REPLACE FUNCTION node_provider_unit(p_class text) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    v_class text := node_provider_class(p_class);  -- once, and not for each class that is compared
BEGIN
    IF NOT (SELECT backend.placement FROM baremetal_backend AS backend) THEN
        RETURN NULL;
    END IF;
    RETURN coalesce((SELECT class.id FROM resource_classes AS class WHERE class.name = v_class), -1);
END
$$;
