
## numbers, texts, truth values, bytes
CREATE TABLE n (id INT PRIMARY KEY, a SMALLINT, b BIGINT, c NUMERIC(20,6), d NUMERIC, e REAL, f DOUBLE PRECISION, g BOOLEAN, h CHAR(5), i VARCHAR(10), j TEXT, k BYTEA, l UUID, m MONEY)
;;
INSERT INTO n VALUES (1, -32768, 9223372036854775807, 12345.678901, 1.50, 1.5, 2.25, TRUE, 'ab ', 'cd ', 'e', '\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 12.5)
== recorded
SELECT id, a, b, c, d, e, f, g, h, i, j, k, l FROM n
;;
SELECT m FROM n
;;
UPDATE n SET c = c * 2, g = NOT g, h = 'x', k = '\x01' WHERE id = 1
;;
SELECT c, g, h, k FROM n WHERE l = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
;;
SELECT sum(b), avg(a) FROM n
## moments and spans
CREATE TABLE m (id INT PRIMARY KEY, d DATE, t TIME, tz TIMETZ, ts TIMESTAMP(3), tstz TIMESTAMPTZ, i INTERVAL)
;;
INSERT INTO m VALUES (1, '2024-02-29', '12:34:56.789', '12:00+02', '2024-01-02 03:04:05.6789', '2024-01-02 03:04:05+02', '1 mon 2 days 03:04:05'), (2, 'infinity', '23:59', NULL, '-infinity', NULL, NULL)
== recorded
SELECT id, d, ts, tstz, i FROM m WHERE id = 1
;;
SELECT t, tz FROM m
;;
SELECT id FROM m WHERE d > '2024-01-01' ORDER BY id
;;
UPDATE m SET ts = ts + INTERVAL '1 day' WHERE id = 1
;;
SELECT ts FROM m WHERE id = 1
## json, arrays, ranges, networks, bits and the like
CREATE TABLE x (id INT PRIMARY KEY, a JSON, b JSONB, c INT[], d TEXT[][], e INT4RANGE, f INET, g CIDR, h MACADDR, i BIT(3), j BIT VARYING(5), k TSVECTOR, l POINT, n OID)
;;
INSERT INTO x VALUES (1, '{"a":1}', '{"b": [1, 2]}', '{1,NULL,3}', '{{a,b},{c,d}}', '[1,5)', '10.0.0.1/8', '10.0.0.0/8', '08:00:2b:01:02:03', B'101', B'11', 'a b', '(1,2)', 42)
== recorded
SELECT id, a, b, c FROM x
;;
SELECT d, e, f, g, h FROM x
;;
SELECT i, j, k, l, n FROM x
;;
UPDATE x SET b = b || '{"c": 3}', c = c || 4 WHERE id = 1
;;
SELECT b ->> 'c', c[1], id FROM x WHERE b @> '{"c": 3}'
;;
INSERT INTO x (id, f, j) VALUES (2, '::1', B'1')
;;
SELECT count(*) FROM x
## numerics of odd scales, domains, composites, enums
CREATE DOMAIN positive AS INT CHECK (VALUE > 0)
;;
CREATE TYPE pair AS (a INT, b TEXT)
;;
CREATE TABLE o (id INT PRIMARY KEY, a NUMERIC(5,-2), b NUMERIC(3,5), c positive, d pair, e pair[])
;;
INSERT INTO o VALUES (1, 12345, 0.00123, 7, '(1,x)', '{"(2,y)"}')
== recorded
SELECT id, c FROM o
;;
SELECT a, b, d, e FROM o
;;
-- fails
UPDATE o SET c = 0
;;
UPDATE o SET c = c + 1, d = ROW(3, 'z')
;;
SELECT c, (d).a FROM o
## inet columns beside rules
CREATE TABLE r (id INT PRIMARY KEY, ip INET, v INT)
;;
CREATE TABLE audit (v INT)
;;
CREATE RULE noted AS ON UPDATE TO r DO ALSO INSERT INTO audit VALUES (NEW.v)
;;
CREATE TABLE other (id INT PRIMARY KEY, v INT)
;;
INSERT INTO r VALUES (1, 'fe80::1', 5)
;;
INSERT INTO other VALUES (1, 2)
== recorded
SELECT v FROM other
;;
SELECT id, ip FROM r
;;
UPDATE r SET v = 6
;;
UPDATE other SET v = v + 1
;;
SELECT v FROM other
;;
SELECT count(*) FROM audit
