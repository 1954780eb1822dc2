-- POST /v1/allocations: creates an allocation that the conductor p_conductor will process.
--
-- p_uuid null: a new UUID, or with p_backfill the node's instance_uuid. p_candidate_uuids and
-- p_candidate_names are parallel: the only nodes to choose from, in the order of the request. If a
-- UUID is the nil UUID, its name counts. p_conductor is a hostname. If it never registered, the first conductor
-- that takes over work processes the allocation. Notifies berth_node_allocation_pending, unless p_quiet:
-- the caller is the process of the conductor and passes the UUID to it directly. PostgreSQL serializes the
-- commits of transactions that execute NOTIFY, so each one waits for the WAL flush of the one before it.
--
-- p_backfill: the node p_node_uuid or p_node_name (the other is null) is in use already, and the allocation
-- is active at once. Then p_uuid null means the node's instance_uuid, and p_class null means the node's
-- class.
-- p_extended, p_sticky, p_batch, p_minimum: see the columns. One transaction creates all members of a
-- batch, so the conductor that processes the first one sees all of them.
--
-- Returns the allocation. Raises, in this order: PL043 (candidates that do not exist, all of them named);
-- with p_backfill PL030 (no such node), PL032 (it is another instance's), PL046 (it is not active), PL047
-- (not of this class), PL048 (it lacks traits, named) and PL049 (it is not among the candidates); PL042
-- (the UUID is the instance_uuid of a node), 23505 (node_allocations_uuid_key, node_allocations_name_key);
-- and with p_backfill what node_provider_claim raises. A call that raises writes nothing.
-- Locks: with p_backfill the project, then the node; otherwise nothing.
-- Calls, with p_backfill: node_provider_ensure_owner before the node is locked (if nodes are providers),
-- node_allocation_unmet_traits, node_provider_claim (if nodes are providers), node_allocation_assign.
CREATE OR REPLACE FUNCTION node_allocation_create(
    p_uuid uuid, p_name text, p_class text, p_traits text[], p_candidate_uuids uuid[], p_candidate_names text[],
    p_extra jsonb, p_owner text, p_conductor text, p_backfill bool, p_node_uuid uuid, p_node_name text,
    p_extended bool, p_sticky bool, p_batch uuid, p_minimum int,
    p_quiet bool
) RETURNS SETOF node_allocations
LANGUAGE plpgsql AS $$
DECLARE
    v_candidates uuid[];
    v_unknown text[];
    v_node nodes;
    v_lacking text[];
    v_rule text;
    v_uuid uuid := p_uuid;
    v_made node_allocations;
BEGIN
    -- The UUIDs of the candidates, in the order of the request.
    SELECT /* node_allocation_create 1/12 */ coalesce(array_agg(found.uuid ORDER BY found.position), '{}'),
        array_agg(found.name ORDER BY found.position) FILTER (WHERE found.uuid IS NULL)
    INTO v_candidates, v_unknown
    FROM (
        SELECT requested.position, requested.name,
            CASE WHEN requested.uuid = '00000000-0000-0000-0000-000000000000'
                THEN (SELECT node.uuid FROM nodes AS node WHERE node.name = requested.name)
                ELSE (SELECT node.uuid FROM nodes AS node WHERE node.uuid = requested.uuid) END AS uuid
        FROM unnest(p_candidate_uuids, p_candidate_names) WITH ORDINALITY AS requested (uuid, name, position)
    ) AS found;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no nodes %', v_unknown USING ERRCODE = 'PL043',
            DETAIL = json_build_object('node', array_to_string(v_unknown, ', '));
    END IF;

    -- Whether a node in use can be backfilled.
    IF p_backfill THEN
        IF (SELECT /* node_allocation_create 2/12 */ backend.placement FROM baremetal_backend AS backend) THEN
            PERFORM /* node_allocation_create 3/12 */ node_provider_ensure_owner(p_owner);
        END IF;
        SELECT /* node_allocation_create 4/12 */ node.* INTO v_node FROM nodes AS node
        WHERE node.uuid = p_node_uuid OR node.name = p_node_name FOR UPDATE;
        v_lacking := node_allocation_unmet_traits(v_node.id, p_traits);
        v_rule := CASE
            WHEN v_node.id IS NULL THEN 'PL030'
            WHEN v_node.instance_uuid <> p_uuid THEN 'PL032'
            WHEN v_node.provision_state <> 'active' THEN 'PL046'
            WHEN v_node.resource_class IS DISTINCT FROM coalesce(p_class, v_node.resource_class) THEN 'PL047'
            WHEN cardinality(v_lacking) > 0 THEN 'PL048'
            WHEN cardinality(v_candidates) > 0 AND v_node.uuid <> ALL (v_candidates) THEN 'PL049'
        END;
        IF v_rule IS NOT NULL THEN
            RAISE EXCEPTION 'node % cannot be backfilled', coalesce(p_node_uuid::text, p_node_name)
                USING ERRCODE = v_rule,
                DETAIL = json_build_object('node', coalesce(v_node.uuid::text, p_node_uuid::text, p_node_name),
                    'state', v_node.provision_state, 'instance', v_node.instance_uuid, 'class', v_node.resource_class,
                    'traits', array_to_string(v_lacking, ', '), 'allocation', p_uuid);
        END IF;
        v_uuid := coalesce(p_uuid, v_node.instance_uuid);
    END IF;
    v_uuid := coalesce(v_uuid, gen_random_uuid());
    IF EXISTS (SELECT /* node_allocation_create 5/12 */ FROM nodes AS node
        WHERE node.instance_uuid = v_uuid AND node.id IS DISTINCT FROM v_node.id) THEN
        RAISE EXCEPTION 'instance % has a node already', v_uuid USING ERRCODE = 'PL042',
            DETAIL = json_build_object('allocation', v_uuid, 'instance', v_uuid,
                'node', (SELECT /* node_allocation_create 6/12 */ node.uuid FROM nodes AS node
                    WHERE node.instance_uuid = v_uuid));
    END IF;

    INSERT /* node_allocation_create 7/12 */ INTO node_allocations (uuid, name, resource_class, traits,
        candidate_nodes, extra, owner,
        extended, sticky, batch_uuid, batch_minimum, conductor_id)
    VALUES (v_uuid, p_name, coalesce(p_class, v_node.resource_class, ''), p_traits, v_candidates, p_extra, p_owner,
        p_extended, p_sticky, p_batch, p_minimum,
        CASE WHEN NOT p_backfill THEN (SELECT conductor.id FROM conductors AS conductor
            WHERE conductor.hostname = p_conductor) END)
    RETURNING * INTO v_made;
    IF p_backfill THEN
        IF (SELECT /* node_allocation_create 8/12 */ backend.placement FROM baremetal_backend AS backend) THEN
            PERFORM /* node_allocation_create 9/12 */ node_provider_claim(v_made, v_node.id, true);
        END IF;
        PERFORM /* node_allocation_create 10/12 */ node_allocation_assign(v_made, v_node.id);
    ELSIF NOT p_quiet THEN
        PERFORM /* node_allocation_create 11/12 */ pg_notify('berth_node_allocation_pending', v_uuid::text);
    END IF;
    RETURN QUERY SELECT /* node_allocation_create 12/12 */ made.* FROM node_allocations AS made
        WHERE made.id = v_made.id;
END
$$;
