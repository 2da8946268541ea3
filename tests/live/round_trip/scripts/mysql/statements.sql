
## comments in front, and shapes of writes
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, name VARCHAR(20) UNIQUE)
;;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b')
== recorded
/* in front */ UPDATE t SET n = n + 1 WHERE id = 1
;;
-- in front
DELETE FROM t WHERE id = 2
;;
# in front
INSERT INTO t (n, name) VALUES (5, 'c')
;;
/*! UPDATE t SET n = 7 WHERE id = 1 */
;;
REPLACE INTO t VALUES (1, 3, 'z')
;;
INSERT IGNORE INTO t VALUES (1, 4, 'y')
;;
INSERT INTO t SET n = 9, name = 'd'
;;
INSERT INTO t (name, n) VALUES ('d', 1), ('e', 2) ON DUPLICATE KEY UPDATE n = n + VALUES(n)
;;
SELECT id, n, name FROM t ORDER BY id
;;
DELETE FROM t WHERE n > 8 ORDER BY id LIMIT 1
;;
INSERT INTO t (n, name) VALUES (1, 'r') RETURNING id, n
;;
TRUNCATE TABLE t
;;
SELECT count(*) FROM t
## transactions, locks and queries of several kinds
CREATE TABLE t (id INT PRIMARY KEY, parent INT, n INT, g INT AS (n * 2) STORED)
;;
INSERT INTO t (id, parent, n) VALUES (1, NULL, 1), (2, 1, 2), (3, 2, 3)
== recorded
START TRANSACTION
;;
SELECT n FROM t WHERE id = 1 FOR UPDATE
;;
UPDATE t SET n = n + 1 WHERE id = 1
;;
SAVEPOINT Sp1
;;
DELETE FROM t WHERE id = 3
;;
ROLLBACK TO SAVEPOINT sp1
;;
COMMIT
;;
SELECT id, n, g FROM t
;;
WITH RECURSIVE up AS (SELECT id, parent FROM t WHERE id = 3 UNION ALL SELECT t.id, t.parent FROM t JOIN up ON t.id = up.parent) SELECT id FROM up
;;
SELECT sum(n), GROUP_CONCAT(id ORDER BY id SEPARATOR '-') FROM t
;;
SELECT id, SUM(n) OVER (ORDER BY id) FROM t
;;
SELECT id FROM t WHERE n IN (SELECT n FROM t WHERE id < 3) UNION SELECT 9
;;
UPDATE t SET n = 0 WHERE id IN (SELECT x.id FROM (SELECT id FROM t WHERE n > 2) x)
;;
SHOW TABLES
;;
SELECT @@version_comment
;;
EXPLAIN SELECT * FROM t
;;
SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1
;;
SELECT FOUND_ROWS()

## stored in place of errors
CREATE TABLE t (id INT PRIMARY KEY, n TINYINT NOT NULL, s VARCHAR(3) NOT NULL, d DATE, m DECIMAL(4,1) NOT NULL DEFAULT 1)
;;
CREATE TABLE u (id INT PRIMARY KEY, n INT)
;;
INSERT INTO t VALUES (1, 1, 'a', '2024-01-01', 1)
;;
INSERT INTO u VALUES (1, 1)
== opening
SET SESSION sql_mode = ''
== recorded
UPDATE u SET n = n / 2 WHERE id = 1
;;
INSERT INTO u VALUES (2, 7), (3, NULL)
;;
SELECT id, n, n / 0 FROM u ORDER BY id
;;
INSERT INTO t (id, n, s) VALUES (2, 300, 'abcdef')
;;
INSERT INTO t (id, d) VALUES (3, '2024-02-31')
;;
INSERT INTO t (id, n, s) VALUES (4, NULL, 'x'), (5, 'y', 7)
;;
-- params ["abc", 9]
UPDATE u SET n = %s WHERE id = %s
;;
-- params ["12abc"]
INSERT INTO u VALUES (9, %s)
;;
UPDATE t SET s = NULL, m = 99999, n = 1 / 0 WHERE id = 1
;;
SELECT id, n, s, d, m FROM t ORDER BY id
;;
SELECT * FROM u ORDER BY id

## a table twice, and columns that are not grouped by
CREATE TABLE o (id INT PRIMARY KEY, n VARCHAR(20), p INT)
;;
INSERT INTO o VALUES (1, 'a', 2), (2, 'b', 3), (3, 'c', 1), (4, 'd', NULL), (5, 'e', 4)
;;
CREATE TABLE q (g INT, v INT)
;;
INSERT INTO q VALUES (1, 1), (1, 2), (2, 5), (2, 6), (2, 7)
== recorded
DELETE a, b FROM o a, o b WHERE a.p = b.id AND a.id > 4
;;
SELECT id FROM o
;;
DELETE a, b FROM o a JOIN o b ON a.p = b.id
;;
SELECT id FROM o
;;
SELECT g, v FROM q GROUP BY g
;;
SELECT g, v, MAX(v) FROM q GROUP BY g
