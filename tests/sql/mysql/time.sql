-- Read the time.
SELECT UTC_TIMESTAMP(6) AS anon_1
