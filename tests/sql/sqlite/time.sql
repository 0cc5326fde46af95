-- Read the time.
SELECT :now AS anon_1
