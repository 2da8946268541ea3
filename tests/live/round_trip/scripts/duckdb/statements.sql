
## counts of writes and definitions
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)
;;
INSERT INTO t VALUES (1, 2), (2, 3)
== recorded
/* in front */ UPDATE t SET a = a + 1 WHERE id = 1
;;
-- in front
DELETE FROM t WHERE id = 2
;;
WITH x AS (SELECT 5 AS id) INSERT INTO t SELECT id, id FROM x
;;
CREATE TABLE z AS SELECT * FROM t
;;
SELECT count(*) AS "Count" FROM t
;;
INSERT INTO t VALUES (7, 7) RETURNING id AS "Count"
;;
TRUNCATE t
;;
CREATE TABLE IF NOT EXISTS z (id INTEGER)
;;
CREATE OR REPLACE TABLE y AS SELECT 1 AS one
;;
SELECT * FROM z
;;
SELECT one FROM y
;;
DROP TABLE z
;;
MERGE INTO t USING (SELECT 9 AS a) AS s ON t.id = s.a WHEN NOT MATCHED THEN INSERT VALUES (9, 9)
;;
SELECT id, a FROM t
## upserts, savepoints that are none, transactions
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER DEFAULT 0, name VARCHAR)
;;
INSERT INTO t VALUES (1, 1, 'a')
== recorded
INSERT INTO t VALUES (1, 5, 'b') ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n
;;
INSERT OR IGNORE INTO t VALUES (1, 9, 'c')
;;
INSERT OR REPLACE INTO t (id, n, name) VALUES (2, 2, 'd')
;;
BEGIN
;;
UPDATE t SET n = n * 2 RETURNING id, n
;;
DELETE FROM t WHERE id = 1
;;
ROLLBACK
;;
SELECT id, n, name FROM t ORDER BY ALL
;;
SELECT sum(n), max(name), list(id ORDER BY id) FROM t
;;
FROM t SELECT id WHERE n > 1
;;
VALUES (1, 'a'), (2, 'b')
;;
ALTER TABLE t ADD COLUMN "Extra" INTEGER DEFAULT 3
;;
SELECT extra FROM t
;;
DESCRIBE t
;;
PRAGMA table_info('t')

## digits and parts
CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, x DOUBLE, n INTEGER, r REAL)
;;
INSERT INTO t VALUES (1,'a-b-c',2.346,3,1.25),(2,'bob',2.51,-1,2.5),(3,NULL,NULL,NULL,NULL)
== recorded
SELECT split_part(name, '-', 1), split_part(name, '-', 3), split_part(name, '-', -1), split_part(name, 'b', n) FROM t
;;
SELECT round(x, 1), round(x, 2), round(x * 10, 3) FROM t
;;
SELECT round(avg(x), 2), round(sum(x) / 3, 2) FROM t
