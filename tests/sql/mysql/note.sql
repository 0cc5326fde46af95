-- Note a name, and return it; nothing if it is noted already, also by who commits at this moment.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.name = :name_in
FOR UPDATE; INSERT INTO duerow_noted (name, noted_at)
VALUES (:name_in, UTC_TIMESTAMP(6))
