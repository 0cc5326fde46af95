-- Read the time.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT @now AS anon_1
