
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

## json records
CREATE TABLE p (id SERIAL PRIMARY KEY, name TEXT NOT NULL, budget NUMERIC DEFAULT 0, ok BOOLEAN)
;;
CREATE TABLE t (id SERIAL PRIMARY KEY, p INT, title TEXT, done BOOLEAN, doc JSONB)
;;
INSERT INTO p (name, budget, ok) VALUES ('alpha', 1, true), ('beta', 2.50, NULL)
;;
INSERT INTO t (p, title, doc) VALUES (1, 'one', '{"a": 1, "b": "x"}'), (1, 'two', '[{"a": 2}, {"a": null, "b": "y"}]'), (2, 'three', NULL)
== recorded
SELECT t.id, r.a, r.b FROM t, jsonb_to_record(t.doc) AS r (a INT, b TEXT) WHERE t.id <> 2
;;
SELECT t.id, r.a, r.b FROM t, jsonb_to_recordset(t.doc) AS r (a NUMERIC, b TEXT) WHERE t.id = 2
;;
-- fails
SELECT t.id, r.a FROM t, jsonb_to_recordset(t.doc) AS r (a NUMERIC, b TEXT)
;;
-- fails
SELECT t.id, r.a FROM t, jsonb_to_record(t.doc) AS r (a NUMERIC, b TEXT)
;;
SELECT * FROM json_to_record(NULL::json) AS r (a INT, b TEXT)
;;
SELECT * FROM json_to_recordset(NULL::json) AS r (a INT, b TEXT)
;;
SELECT * FROM json_to_record('{"a": true, "b": "yes", "c": 1.50}') AS r (a BOOLEAN, b BOOLEAN, c TEXT)
;;
-- fails
SELECT * FROM json_to_record('{"a": 2}') AS r (a BOOLEAN)
;;
-- fails
SELECT * FROM json_to_record('{"a": 1.5}') AS r (a INT)
;;
-- fails
SELECT * FROM json_to_record('[1]') AS r (a INT)
;;
-- params ["{\"name\": \"gamma\", \"budget\": 3.10}"]
INSERT INTO p (name, budget) SELECT x.name, x.budget FROM (SELECT %s::json AS doc) q, LATERAL (SELECT name, budget FROM json_to_recordset(json_build_array(q.doc)) AS _ (name TEXT, budget NUMERIC)) x RETURNING *
;;
UPDATE t SET done = x.done FROM (SELECT '{"done": true}'::json AS doc) q, LATERAL (SELECT done FROM json_to_record(q.doc) AS _ (done BOOLEAN)) x WHERE t.id = 2 RETURNING t.*
;;
-- fails
UPDATE t SET done = true FROM p, LATERAL (SELECT t.id AS k) x WHERE x.k = p.id
;;
UPDATE t SET title = x.n FROM p, LATERAL (SELECT p.name || '!' AS n) x WHERE t.p = p.id AND p.id = 1 RETURNING t.id, title
;;
DELETE FROM t USING p, LATERAL (SELECT p.id AS k) x WHERE t.p = x.k AND p.name = 'beta' RETURNING t.id
;;
SELECT p.id, (SELECT json_agg(t.title) FROM t WHERE t.p = p.id) FROM p ORDER BY p.id
;;
SELECT p.id, x.l FROM p LEFT JOIN LATERAL (SELECT jsonb_agg(s) AS l FROM (SELECT id, title FROM t WHERE t.p = p.id) s) x ON TRUE ORDER BY p.id
;;
SELECT count(s), count(*) FROM (SELECT NULL::int AS a, NULL::text AS b FROM p) s
;;
SELECT count(t) FROM p LEFT JOIN t ON t.p = p.id
;;
SELECT name, hashtext(name) IS NULL AS h, to_char(budget, '999.99') FROM p ORDER BY id
;;
SELECT id, nullif(current_setting('my.own', true), '') AS s FROM p ORDER BY id
;;
SELECT set_config('role', 'none', true), set_config('a.b.c', 'x', true)

## integers stored as texts
CREATE TABLE t (id INT PRIMARY KEY, v TEXT, w VARCHAR(3))
== recorded
-- params [1, 5, 12]
INSERT INTO t VALUES (%s, %s, %s)
;;
-- fails
-- params [2, 5, 12345]
INSERT INTO t VALUES (%s, %s, %s)
;;
-- params [70000, 1]
UPDATE t SET v = %s WHERE id = %s RETURNING v
;;
SELECT * FROM t
