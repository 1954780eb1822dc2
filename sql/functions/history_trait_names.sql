-- The names of traits as notes have them: a sorted array, empty without traits; null for null.
CREATE OR REPLACE FUNCTION history_trait_names(p_ids int[]) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT /* history_trait_names 1/1 */ to_jsonb(ARRAY(SELECT trait.name FROM traits AS trait WHERE trait.id = ANY (p_ids) ORDER BY trait.name))
    WHERE p_ids IS NOT NULL
$$;
