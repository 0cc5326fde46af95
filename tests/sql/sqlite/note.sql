-- Note a name, and return it; nothing if it is noted already, also by who commits at this moment.
INSERT INTO duerow_noted (name, noted_at)
VALUES (:name_in, :now)
ON CONFLICT (name) DO NOTHING
RETURNING name
