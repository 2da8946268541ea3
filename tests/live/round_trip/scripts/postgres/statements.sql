
## comments in front, shapes of writes
CREATE TABLE t (id INT PRIMARY KEY, n INT, name TEXT UNIQUE)
;;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b')
== recorded
/* in front /* nested */ */ UPDATE t SET n = n + 1 WHERE id = 1
;;
-- in front
DELETE FROM t WHERE id = 2
;;
INSERT INTO t VALUES (1, 4, 'y') ON CONFLICT DO NOTHING
;;
INSERT INTO t VALUES (1, 4, 'y') ON CONFLICT (id) DO UPDATE SET n = t.n + EXCLUDED.n WHERE t.n < 100 RETURNING n
;;
WITH gone AS (DELETE FROM t WHERE id = 1 RETURNING *) INSERT INTO t SELECT id + 10, n, name FROM gone RETURNING id
;;
MERGE INTO t USING (VALUES (11, 1), (12, 2)) AS s(id, n) ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)
;;
SELECT id, n, name FROM t ORDER BY id
;;
UPDATE t SET (n, name) = (n * 2, 'both') WHERE id = 11
;;
SELECT $$dollar$$, E'a\nb', 'it''s', U&'\0041'
;;
TRUNCATE t
;;
SELECT count(*) FROM t
## transactions, locks and queries of several kinds
CREATE TABLE t (id INT PRIMARY KEY, parent INT, n INT, g INT GENERATED ALWAYS AS (n * 2) STORED)
;;
INSERT INTO t (id, parent, n) VALUES (1, NULL, 1), (2, 1, 2), (3, 2, 3)
== recorded
BEGIN ISOLATION LEVEL REPEATABLE READ
;;
SELECT n FROM t WHERE id = 1 FOR UPDATE
;;
UPDATE t SET n = n + 1 WHERE id = 1
;;
SAVEPOINT "Sp 1"
;;
DELETE FROM t WHERE id = 3
;;
ROLLBACK TO "Sp 1"
;;
COMMIT
;;
SELECT id, n, g FROM t
;;
WITH RECURSIVE up AS (SELECT id, parent FROM t WHERE id = 3 UNION ALL SELECT t.id, t.parent FROM t JOIN up ON t.id = up.parent) SELECT id FROM up
;;
SELECT sum(n), string_agg(id::text, '-' ORDER BY id), array_agg(id ORDER BY id) FROM t
;;
SELECT id, sum(n) OVER (ORDER BY id), rank() OVER w FROM t WINDOW w AS (ORDER BY n)
;;
SELECT DISTINCT ON (parent) parent, id FROM t ORDER BY parent, id
;;
SELECT id FROM t WHERE n = ANY(ARRAY[2, 3]) UNION SELECT 9
;;
SELECT x.id, y.n FROM t x LEFT JOIN LATERAL (SELECT n FROM t WHERE t.id = x.parent) y ON true
;;
SELECT a.id FROM t a NATURAL JOIN t b WHERE (a.id, a.n) IN ((1, 2), (2, 2))
;;
VALUES (1, 'a'), (2, 'b')
;;
SELECT * FROM generate_series(1, 3) AS g(i)
;;
CREATE TABLE made AS SELECT id, n FROM t
;;
SELECT n FROM made
;;
ALTER TABLE t ADD COLUMN "Extra" INT DEFAULT 3
;;
SELECT "Extra" FROM t
;;
DROP TABLE made
;;
EXPLAIN SELECT * FROM t
;;
SHOW server_version
;;
SELECT current_database() IS NOT NULL
