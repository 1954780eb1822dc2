-- POST /v1/allocations: a request for a node, to be decided by p_conductor.
--
-- p_uuid null: a new one, or with a node, its instance_uuid. p_candidate_uuids and
-- p_candidate_names, in parallel: the only nodes to choose from; those that are
-- no uuids have the nil uuid and are names. p_conductor is a hostname; if it never
-- registered, whoever looks for work first will decide. Notifies berth_allocations,
-- unless p_quiet: the caller is the conductor's process, and tells it. Transactions that
-- notify commit one after the other, each with its wait for the disk.
--
-- p_backfill: p_node_uuid or p_node_name, the other null, is in use already. The
-- allocation is active at once (see node_allocation_backfill); p_class null is the
-- node's class.
-- p_extended, p_sticky, p_batch, p_minimum: see the columns. All of a batch are made in
-- one transaction, so that whoever decides the first one sees them all.
--
-- Returns the allocation. Raises PL043 (some candidates don't exist, all of them
-- named), PL042 (the uuid is the instance_uuid of a node), 23505
-- (node_allocations_uuid_key, node_allocations_name_key), and with p_backfill what
-- node_allocation_backfill raises. Nothing is left of what is refused. Locks: with
-- p_backfill the project, then the node; nothing otherwise.
CREATE OR REPLACE FUNCTION node_allocation_create(
    p_uuid uuid, p_name text, p_class text, p_traits text[], p_candidate_uuids uuid[], p_candidate_names text[],
    p_extra jsonb, p_owner text, p_conductor text, p_backfill bool, p_node_uuid uuid, p_node_name text,
    p_extended bool, p_sticky bool, p_batch uuid, p_minimum int,
    p_quiet bool
) RETURNS SETOF node_allocations
LANGUAGE plpgsql AS $$
DECLARE
    v_candidates uuid[] := node_allocation_candidates(p_candidate_uuids, p_candidate_names);
    v_node nodes;
    v_uuid uuid := p_uuid;
    v_made node_allocations;
BEGIN
    IF p_backfill THEN
        IF (SELECT backend.placement FROM baremetal_backend AS backend) THEN
            PERFORM node_provider_references(p_owner);
        END IF;
        SELECT node.* INTO v_node FROM nodes AS node WHERE node.uuid = p_node_uuid OR node.name = p_node_name FOR UPDATE;
        PERFORM node_allocation_backfill(v_node, coalesce(p_node_uuid::text, p_node_name), p_uuid, p_class, p_traits, v_candidates);
        v_uuid := coalesce(p_uuid, v_node.instance_uuid);
    END IF;
    v_uuid := coalesce(v_uuid, gen_random_uuid());
    IF EXISTS (SELECT FROM nodes AS node WHERE node.instance_uuid = v_uuid AND node.id IS DISTINCT FROM v_node.id) THEN
        RAISE EXCEPTION 'instance % has a node already', v_uuid USING ERRCODE = 'PL042',
            DETAIL = json_build_object('allocation', v_uuid, 'instance', v_uuid,
                'node', (SELECT node.uuid FROM nodes AS node WHERE node.instance_uuid = v_uuid));
    END IF;

    INSERT INTO node_allocations (uuid, name, resource_class, traits, candidate_nodes, extra, owner,
        extended, sticky, batch_uuid, batch_minimum, conductor_id)
    VALUES (v_uuid, p_name, coalesce(p_class, v_node.resource_class, ''), p_traits, v_candidates, p_extra, p_owner,
        p_extended, p_sticky, p_batch, p_minimum, CASE WHEN NOT p_backfill THEN (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor) END)
    RETURNING * INTO v_made;
    IF p_backfill THEN
        IF (SELECT backend.placement FROM baremetal_backend AS backend) THEN
            PERFORM node_provider_claim(v_made, v_node.id, true);
        END IF;
        PERFORM node_allocation_give(v_made, v_node.id);
    ELSIF NOT p_quiet THEN
        PERFORM pg_notify('berth_allocations', v_uuid::text);
    END IF;
    RETURN QUERY SELECT made.* FROM node_allocations AS made WHERE made.id = v_made.id;
END
$$;
