-- Ask which database this is, told from all others on whatever servers.
SELECT database() AS asked_0, database() AS asked_1, COALESCE((SELECT NULLIF(variable_value, '')
FROM performance_schema.global_variables
WHERE variable_name = 'group_replication_group_name'), @@server_uuid) AS asked_2
