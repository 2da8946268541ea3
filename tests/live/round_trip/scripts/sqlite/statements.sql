
## comments in front, and words in odd places
CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)
;;
INSERT INTO t VALUES (1, 10), (2, 20)
== recorded
/* a comment */ SELECT n FROM t WHERE id = 1
;;
-- a comment
UPDATE t SET n = n + 1 WHERE id = 1
;;
/* one */ /* two */ INSERT INTO t VALUES (3, 30) -- three
;;
   delete   from	t
 where id=2 ;
;;
VALUES (1, 'a'), (2, 'b')
;;
SELECT id, n FROM t;
## upserts and RETURNING
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, hits INT NOT NULL DEFAULT 1)
;;
INSERT INTO t (name) VALUES ('a')
== recorded
INSERT INTO t (name) VALUES ('a') ON CONFLICT (name) DO UPDATE SET hits = hits + 1 RETURNING id, hits
;;
INSERT INTO t (name) VALUES ('b'), ('a') ON CONFLICT DO NOTHING
;;
INSERT OR REPLACE INTO t (id, name, hits) VALUES (1, 'c', 9)
;;
INSERT OR IGNORE INTO t (id, name) VALUES (1, 'd')
;;
REPLACE INTO t (id, name) VALUES (2, 'e')
;;
UPDATE t SET hits = hits * 2 WHERE hits > 1 RETURNING *
;;
SELECT id, name, hits FROM t
## transactions, savepoints and queries of several kinds
CREATE TABLE t (id INTEGER PRIMARY KEY, parent INT, n INT)
;;
INSERT INTO t VALUES (1, NULL, 1), (2, 1, 2), (3, 2, 3)
== recorded
BEGIN
;;
UPDATE t SET n = n + 1
;;
SAVEPOINT "Sp 1"
;;
DELETE FROM t WHERE id = 3
;;
ROLLBACK TO "sp 1"
;;
SELECT sum(n), max(id), group_concat(id, '-') FROM t
;;
COMMIT
;;
WITH RECURSIVE up(id, parent) AS (SELECT id, parent FROM t WHERE id = 3 UNION ALL SELECT t.id, t.parent FROM t JOIN up ON t.id = up.parent) SELECT id FROM up
;;
SELECT id FROM t WHERE n IN (SELECT n FROM t WHERE id < 3) UNION SELECT 9 ORDER BY 1 DESC
;;
SELECT id, n, sum(n) OVER (ORDER BY id) FROM t
;;
WITH big AS (SELECT id FROM t WHERE n > 3) UPDATE t SET n = 0 WHERE id IN (SELECT id FROM big)
;;
CREATE TABLE made AS SELECT id, n FROM t
;;
SELECT n FROM made
;;
ALTER TABLE t ADD COLUMN Extra ODD TYPE(3) DEFAULT 'x'
;;
SELECT id, extra FROM t
;;
DROP TABLE made
;;
PRAGMA user_version
;;
EXPLAIN QUERY PLAN SELECT * FROM t

## savepoints that begin a transaction
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)
;;
INSERT INTO t VALUES (1, 1)
== recorded
SAVEPOINT "a query"
;;
SELECT count(*) FROM t
;;
RELEASE "a query"
;;
SAVEPOINT a
;;
INSERT INTO t VALUES (2, 2)
;;
SAVEPOINT A
;;
UPDATE t SET n = 9
;;
ROLLBACK TO a
;;
RELEASE a
;;
SELECT * FROM t
;;
RELEASE SAVEPOINT a
;;
SAVEPOINT b
;;
DELETE FROM t WHERE id = 1
;;
ROLLBACK
;;
SAVEPOINT b
;;
UPDATE t SET n = n + 1
;;
COMMIT
;;
BEGIN
;;
SAVEPOINT c
;;
DELETE FROM t WHERE id = 2
;;
RELEASE c
;;
ROLLBACK
;;
-- fails
RELEASE c
;;
SELECT * FROM t

## functions of classes, digits and parts
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, x REAL, n INTEGER, v, b BLOB, m NUMERIC, d DATETIME, f BOOLEAN)
;;
INSERT INTO t VALUES (1,'ann',2.346,3,5,x'00',1.5,'2024-01-01',1),(2,'bob',2.5,-1,'x',NULL,2,NULL,0),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),(4,'1',3,1,2.5,x'41',3,'2024-02-02',1)
== recorded
SELECT typeof(id), typeof(name), typeof(x), typeof(v), typeof(x+1), typeof(b), typeof(d), typeof(n > 1), typeof(f) FROM t
;;
SELECT round(x, 1), round(n, 1), round(x, 2), round(x * 10.1, 3) FROM t
;;
SELECT round(avg(x), 2), round(sum(x) / 3, 2) FROM t
;;
SELECT id FROM t WHERE typeof(v) = 'text'
;;
UPDATE t SET x = round(x * 1.1, 2)
;;
SELECT typeof(sum(n)), typeof(avg(n)), typeof(count(*)), typeof(total(n)), typeof(max(x)) FROM t
