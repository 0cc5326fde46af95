-- Let leases run until now + lease; return id, token and the new end of those that match and are not
-- locked.
WITH free AS (SELECT shipment.tenant AS tenant, shipment.number AS number
FROM unnest(CAST(CAST(:given_id_1::VARCHAR AS TEXT) AS UUID[]), CAST(CAST(:given_id_2::VARCHAR AS TEXT) AS INTEGER[]),
    CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS given(id_1, id_2, token)
JOIN shipment ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND CASE WHEN (shipment.sending_token =
    given.token) THEN true ELSE false END AND CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until) THEN
    true ELSE false END FOR NO KEY UPDATE OF shipment SKIP LOCKED) UPDATE shipment
SET sending_due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')),
    sending_leased_until=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM free
WHERE shipment.tenant = free.tenant AND shipment.number = free.number
RETURNING shipment.tenant, shipment.number, shipment.sending_token, shipment.sending_leased_until
