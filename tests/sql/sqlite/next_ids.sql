-- Hand out `count` ids, ascending.
WITH RECURSIVE numbers(n) AS (SELECT :param_1 AS n
WHERE :count > :param_2 UNION ALL SELECT numbers.n + :n_1 AS anon_2
FROM numbers
WHERE numbers.n < :count) SELECT (SELECT coalesce(max(sqlite_sequence.seq), :coalesce_2) AS coalesce_1
FROM sqlite_sequence
WHERE sqlite_sequence.name = :name_1) + numbers.n AS anon_1
FROM numbers
