-- Ask which database this is, told from all others on whatever servers.
SELECT database() AS asked_0, database() AS asked_1, COALESCE((SELECT NULLIF(NULLIF(variable_value, ''),
    '00000000-0000-0000-0000-000000000000')
FROM information_schema.global_status
WHERE variable_name = 'WSREP_CLUSTER_STATE_UUID'), CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@server_id,
    @@pid_file)) AS asked_2
