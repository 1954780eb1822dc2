-- Reports whether a list of ids has a member of each of some sets. p_sets are texts such as '{1,2}'.
--
-- Called by candidate_meets, for required=in: and several member_of. Locks nothing.
CREATE OR REPLACE FUNCTION array_overlaps_each(p_ids int[], p_sets text[]) RETURNS bool
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN NOT EXISTS (SELECT FROM unnest(p_sets) AS requested (ids) WHERE NOT p_ids && requested.ids::int[]);
