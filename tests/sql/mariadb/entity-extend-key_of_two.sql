-- Let leases run until now + lease; return id, token and the new end of those that match and are not
-- locked.
SELECT STRAIGHT_JOIN shipment.tenant, shipment.number, shipment.sending_token, timestampadd(MICROSECOND, :lease,
    UTC_TIMESTAMP(6)) AS timestampadd_1, shipment.tenant AS tenant__1, shipment.number AS number__1, UTC_TIMESTAMP(6)
    AS anon_1
FROM (SELECT given_rows.`id_1`, given_rows.`id_2`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id_1` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `id_2` BIGINT PATH '$[1]', `token` BIGINT PATH '$[2]')) AS given_rows) AS given INNER
JOIN shipment ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND shipment.sending_token =
    given.token AND shipment.sending_due_at = shipment.sending_leased_until
FOR UPDATE SKIP LOCKED;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT found_rows.`tenant`, found_rows.`number`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`tenant` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `number` BIGINT PATH '$[1]')) AS found_rows) AS found STRAIGHT_JOIN shipment ON shipment.tenant
    = found.tenant AND shipment.number = found.number
SET shipment.sending_due_at = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6))),
    shipment.sending_leased_until = timestampadd(MICROSECOND, :lease, CAST(:told AS DATETIME(6)))
