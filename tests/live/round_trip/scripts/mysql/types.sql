
## numbers
CREATE TABLE n (id INT PRIMARY KEY, a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d BIGINT UNSIGNED, e DECIMAL(20,6), f FLOAT, g DOUBLE, h BOOLEAN, i BIT(4), j INT ZEROFILL, k DECIMAL(5,0), l DOUBLE(8,2))
;;
INSERT INTO n VALUES (1, -128, 65535, 8388607, 18446744073709551615, 12345.678901, 1.5, 2.25, TRUE, b'101', 42, 99999, 1.25)
== recorded
SELECT a, b, c, d, e, f, g, h FROM n
;;
SELECT i, j, k, l FROM n
;;
UPDATE n SET d = d - 1, e = e * 2, h = NOT h WHERE id = 1
;;
SELECT d, e, h, k FROM n WHERE id = 1
## texts and bytes
CREATE TABLE x (id INT PRIMARY KEY, a CHAR(5), b VARCHAR(10), c TINYTEXT, d MEDIUMTEXT, e BINARY(4), f VARBINARY(8), g BLOB, h ENUM('small','big'), i SET('a','b'), j JSON)
;;
INSERT INTO x VALUES (1, 'ab ', 'cd ', 'e', 'f', 'gh', 'ij', 'kl', 'big', 'a,b', '{"k": 1}')
== recorded
SELECT id, a, b, c, d FROM x
;;
SELECT e, f, g, h, i, j FROM x
;;
UPDATE x SET b = concat(b, 'x'), h = 'small' WHERE id = 1
;;
SELECT b FROM x
;;
INSERT INTO x (id, b) VALUES (2, 'long')
;;
SELECT count(*) FROM x WHERE b LIKE 'l%'
## moments
CREATE TABLE m (id INT PRIMARY KEY, d DATE, t TIME, dt DATETIME(3), ts TIMESTAMP NULL, y YEAR)
;;
INSERT INTO m VALUES (1, '2024-02-29', '100:00:00', '2024-01-02 03:04:05.678', '2024-01-02 03:04:05', 2024), (2, '1000-01-01', '-838:59:59', '9999-12-31 23:59:59.999', NULL, 1901)
== recorded
SELECT id, d, dt, ts FROM m
;;
SELECT t FROM m WHERE id = 1
;;
SELECT y FROM m
;;
UPDATE m SET t = '838:59:59' WHERE id = 2
;;
SELECT id, t FROM m
;;
SELECT id FROM m WHERE d > '2000-01-01'
## dates without months
CREATE TABLE z (id INT PRIMARY KEY, d DATE, dt DATETIME, n INT)
;;
INSERT INTO z VALUES (1, '0000-00-00', '0000-00-00 00:00:00', 5), (2, '2024-01-01', '2024-01-01 00:00:00', 6)
== recorded
SELECT n FROM z
;;
SELECT id, d FROM z
;;
UPDATE z SET n = n + 1
;;
SELECT n FROM z WHERE id = 1
;;
UPDATE z SET d = '2024-00-10' WHERE id = 2
;;
SELECT id, d, n FROM z WHERE id = 2
## enums
CREATE TABLE t (id int PRIMARY KEY, s ENUM('new','paid','Sent') NOT NULL, u ENUM('x','new','pad') DEFAULT 'x', name varchar(10), n int) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
;;
INSERT INTO t VALUES (1,'new','x','ann',1),(2,'paid','new','new',2),(3,'Sent',NULL,'cid',3),(4,'new','new','PAID',4)
== recorded
SELECT * FROM t ORDER BY s, id
;;
SELECT id FROM t ORDER BY s DESC, id
;;
SELECT id FROM t WHERE s = 'PAID'
;;
SELECT id FROM t WHERE s IN ('paid','new') ORDER BY id
;;
SELECT id FROM t WHERE s = u
;;
SELECT id FROM t WHERE s = name
;;
SELECT id FROM t WHERE s < 'p'
;;
SELECT id FROM t WHERE s <> 'new' AND u IS NULL
;;
SELECT id FROM t WHERE s BETWEEN 'a' AND 'o'
;;
SELECT s, COUNT(*) FROM t GROUP BY s
;;
SELECT DISTINCT s FROM t ORDER BY s
;;
INSERT INTO t (id) VALUES (5)
;;
INSERT INTO t (id, s) VALUES (7, 'PAID'), (8, 'sent')
;;
UPDATE t SET s = 'zz' WHERE id = 99
;;
UPDATE t SET s = 'paid' WHERE s = 'new'
;;
UPDATE t SET s = name WHERE id = 4
;;
UPDATE t SET name = s
;;
UPDATE t SET s = CASE WHEN id > 2 THEN 'paid' ELSE s END
;;
UPDATE t SET s = IF(id > 2, 'paid', 'new')
;;
DELETE FROM t WHERE s = 'new'
;;
SELECT CONCAT(s, '!'), UPPER(s), LENGTH(s), COALESCE(u, 'none'), IFNULL(u, '-') FROM t
;;
SELECT COUNT(DISTINCT s), SUM(s = 'paid') FROM t
;;
SELECT SUM(CASE WHEN s = 'paid' THEN n ELSE 0 END) FROM t
;;
SELECT CASE s WHEN 'paid' THEN 1 ELSE 0 END FROM t
;;
SELECT id FROM t WHERE s LIKE 'p%'
;;
SELECT GROUP_CONCAT(id ORDER BY s, id) FROM t
;;
SELECT a.id, b.id FROM t a JOIN t b ON a.s = b.s AND a.id < b.id
;;
SELECT a.id, s FROM t a JOIN t b USING (s) ORDER BY s, a.id
;;
SELECT id FROM t WHERE s IN (SELECT u FROM t)
;;
SELECT id, ROW_NUMBER() OVER (PARTITION BY s ORDER BY id) FROM t
;;
SELECT s FROM (SELECT DISTINCT s FROM t) x ORDER BY s
;;
-- params ["paid"]
SELECT id FROM t WHERE s = %s
;;
-- params ["paid", 1]
UPDATE t SET s = %s WHERE id = %s
;;
INSERT INTO t (id, s) VALUES (1, 'paid') ON DUPLICATE KEY UPDATE s = VALUES(s)
;;
REPLACE INTO t (id, s, u) VALUES (1, 'Sent', 'pad')
;;
SELECT id FROM t WHERE (s, u) = ('new', 'x')
;;
SELECT id FROM t WHERE NOT (s <=> u)
;;
SELECT id FROM t WHERE s = ''
;;
INSERT INTO t (id, s, u) SELECT id + 10, s, 'new' FROM t
