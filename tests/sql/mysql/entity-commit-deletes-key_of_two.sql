-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
SELECT STRAIGHT_JOIN shipment.tenant, shipment.number, shipment.sending_token, shipment.tenant AS tenant__1,
    shipment.number AS number__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id_1`, given_rows.`id_2`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id_1` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `id_2` BIGINT PATH '$[1]', `token` BIGINT PATH '$[2]', nth_given FOR ORDINALITY)) AS
    given_rows) AS given INNER
JOIN shipment ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND shipment.sending_token =
    given.token AND shipment.sending_due_at = shipment.sending_leased_until
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ shipment
FROM (SELECT found_rows.`tenant`, found_rows.`number`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`tenant` VARCHAR(36) CHARACTER
SET ascii PATH '$[0]', `number` BIGINT PATH '$[1]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    shipment ON shipment.tenant = found.tenant AND shipment.number = found.number
