-- Let leases run until now + lease; return id, token and the new end of those that match and are not
-- locked.
WITH free AS (SELECT shipment.tenant AS tenant, shipment.number AS number
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id_1, json_extract(given_rows.value, '$[1]') AS id_2,
    json_extract(given_rows.value, '$[2]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN shipment ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND shipment.sending_token =
    given.token AND shipment.sending_due_at = shipment.sending_leased_until) UPDATE shipment
SET sending_due_at=(:now + :lease), sending_leased_until=(:now + :lease)
FROM free
WHERE shipment.tenant = free.tenant AND shipment.number = free.number
RETURNING tenant, number, sending_token, sending_leased_until
