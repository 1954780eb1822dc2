-- Returns a lease as JSON: seconds, until and expires_at.
CREATE OR REPLACE FUNCTION lease_show(p_lease leases) RETURNS jsonb
LANGUAGE sql STABLE AS $$
SELECT /* lease_show 1/1 */ jsonb_build_object('seconds', p_lease.seconds, 'until', p_lease.until, 'expires_at', p_lease.expires_at)
$$;
