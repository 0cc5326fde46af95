-- Ask which database this is, told from all others on whatever servers.
SELECT CAST(pg_catalog.current_database() AS TEXT) AS asked_0, CAST(extract(epoch
FROM pg_catalog.pg_postmaster_start_time()) AS TEXT) AS asked_1, CAST((SELECT oid
FROM pg_catalog.pg_database
WHERE datname = pg_catalog.current_database()) AS TEXT) AS asked_2, CAST(CAST(to_regclass(:param_1::VARCHAR) AS OID)
    AS TEXT) AS asked_3
