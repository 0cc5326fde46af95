-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE
FROM shipment
WHERE shipment.sending_due_at = shipment.sending_leased_until AND (shipment.tenant, shipment.number,
    shipment.sending_token) IN (SELECT given.id_1, given.id_2, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id_1, json_extract(given_rows.value, '$[1]') AS id_2,
    json_extract(given_rows.value, '$[2]') AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING tenant, number, sending_token
