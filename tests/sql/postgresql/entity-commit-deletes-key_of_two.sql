-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM shipment
USING unnest(CAST(CAST(:given_id_1::VARCHAR AS TEXT) AS UUID[]), CAST(CAST(:given_id_2::VARCHAR AS TEXT) AS
    INTEGER[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS given(id_1, id_2, token)
WHERE CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until) THEN true ELSE false END AND shipment.tenant
    = given.id_1 AND shipment.number = given.id_2 AND CASE WHEN (shipment.sending_token = given.token) THEN true ELSE
    false END
RETURNING shipment.tenant, shipment.number, shipment.sending_token
