-- Note that a part of a batch stages entries; return the number under which they are kept.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, lines,
    due, staged_at)
OUTPUT inserted.id
VALUES (CAST(CAST(:batch_in AS NVARCHAR(4000)) AS VARBINARY(8000)), CAST(CAST(:part_in AS NVARCHAR(4000)) AS
    VARBINARY(8000)), CAST(:entries_in AS INT), CAST(:keyed_in AS BIT), CAST(:grouped_in AS BIT), :lines_in,
    CAST(:due_in AS DATETIME2(6)), @now)
