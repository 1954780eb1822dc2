-- Lists what plpgsql_check finds in the functions of this schema: names of columns and variables that do
-- not exist, wrong types, variables that are never read. sqlc does not check the bodies of functions, and
-- PostgreSQL checks a statement only when it executes it. `make lint-sql` runs this query; no row means
-- that there are no findings.
--
-- plpgsql_check needs a table to check a trigger function, and the names that its triggers give to
-- the transition tables.
CREATE EXTENSION IF NOT EXISTS plpgsql_check;

WITH checked AS (
    SELECT
        function.oid AS function_oid,
        coalesce(trigger.tgrelid, 0) AS table_oid,
        trigger.tgoldtable AS old_table,
        trigger.tgnewtable AS new_table
    FROM pg_catalog.pg_proc AS function
    JOIN pg_catalog.pg_language AS language ON language.oid = function.prolang
    LEFT JOIN pg_catalog.pg_trigger AS trigger ON trigger.tgfoid = function.oid
    WHERE function.pronamespace = 'public'::regnamespace
        AND language.lanname = 'plpgsql'
        AND (trigger.oid IS NOT NULL OR function.prorettype <> 'trigger'::regtype)
)
SELECT DISTINCT
    checked.function_oid::regprocedure::text AS function,
    finding.lineno AS line,
    finding.level,
    finding.message
FROM checked
CROSS JOIN LATERAL plpgsql_check_function_tb(
    checked.function_oid,
    checked.table_oid,
    fatal_errors => false,
    extra_warnings => true,
    performance_warnings => false,
    oldtable => checked.old_table,
    newtable => checked.new_table
) AS finding
ORDER BY function, line;
