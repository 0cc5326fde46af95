-- Mark rows of groups that are to be taken away as lent, so that nobody lends others of their groups.
UPDATE duerow_message
SET leased_by='taken away'
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
