
## columns without a type
CREATE TABLE kv (key TEXT PRIMARY KEY, value)
;;
INSERT INTO kv VALUES ('a', 1), ('b', 'text'), ('c', 2.5), ('d', NULL)
== recorded
SELECT key, value FROM kv
;;
INSERT INTO kv VALUES ('e', '12'), ('f', 12), ('g', 3.0)
;;
-- params ["h", "12"]
INSERT INTO kv VALUES (?, ?)
;;
-- params ["i", 12]
INSERT OR REPLACE INTO kv (key, value) VALUES (?, ?)
;;
SELECT key FROM kv WHERE value = 12
;;
SELECT key FROM kv WHERE value = '12'
;;
UPDATE kv SET value = 'changed' WHERE key = 'a'
;;
SELECT value FROM kv WHERE key IN ('a', 'b')
;;
SELECT key, typeof(value) FROM kv
;;
SELECT key FROM kv WHERE value > 2 ORDER BY key
## keys without a type
CREATE TABLE seg (a, b, c INT, PRIMARY KEY (a, b))
;;
INSERT INTO seg VALUES (1, 'x', 1), ('1', 'x', 2)
== recorded
SELECT c FROM seg WHERE a = 1
;;
-- fails
INSERT INTO seg VALUES (1.0, 'x', 3)
;;
INSERT INTO seg VALUES (2, 'x', 3)
;;
INSERT INTO seg VALUES (2, 'x', 4) ON CONFLICT (a, b) DO UPDATE SET c = excluded.c
;;
SELECT a, b, c FROM seg
## types by the letters of their names
CREATE TABLE t (a UNSIGNED BIG INT, b DOUBLE PRECISION, c NVARCHAR(100), d DATETIME, e TINYINT, f NATIVE CHARACTER(70), g CLOB, h DECIMAL(10,5), i BOOLEAN, j INT8, k MEDIUMINT, l "char", m JSON, n UUID, o BIGINT UNSIGNED, p FLOATING POINT, q STRING, r MONEY, s VARYING CHARACTER(255))
;;
INSERT INTO t VALUES (1, 2, 'c', '2024-01-02 03:04:05', 5, 'f', 'g', 1.5, 1, 8, 9, 'l', '{"a":1}', 'a0ee-bc99', 15, 16, '17', 'eighteen', 's')
== recorded
SELECT * FROM t
;;
SELECT a, m, n, q, r FROM t WHERE q = 17
;;
UPDATE t SET q = '0012', r = 3.0, m = '[]', n = 'x', a = '5', b = 7, p = 3
;;
SELECT a, b, m, n, p, q, r FROM t
;;
-- params [3, "9"]
INSERT INTO t (a, q) VALUES (?, ?)
;;
SELECT q FROM t WHERE q > 10
;;
SELECT a FROM t WHERE n = 'x'
## values of other classes than their columns
CREATE TABLE o (id INTEGER PRIMARY KEY, i INTEGER, x TEXT, b BLOB, r REAL)
;;
INSERT INTO o VALUES (1, 'a text', 5, 'a text', 'none'), (2, 1.5, x'00ff', 7, x'01'), (3, 3, 'x', x'0102', 1.5)
== recorded
SELECT id FROM o WHERE id = 1
;;
SELECT id, i, x, b, r FROM o
;;
UPDATE o SET i = 4 WHERE id = 3
;;
SELECT id FROM o
## strict tables
CREATE TABLE s (id INTEGER PRIMARY KEY, a INT NOT NULL, b REAL, c TEXT, d BLOB, e ANY) STRICT
;;
INSERT INTO s VALUES (1, 2, 3, 'c', x'00', '4')
== recorded
SELECT id, a, b, c, d, e FROM s
;;
INSERT INTO s (a, b, c, e) VALUES ('5', 6, 7, '8'), (6.0, 1.5, 'x', 8)
;;
-- fails
INSERT INTO s (a) VALUES ('not a number')
;;
-- fails
INSERT INTO s (a) VALUES (1.5)
;;
SELECT id, a, b, c, e FROM s WHERE e = '4'
## generated columns, checks and defaults
CREATE TABLE g (id INTEGER PRIMARY KEY, price NUMERIC NOT NULL DEFAULT 10, qty INT CHECK (qty > 0), total GENERATED ALWAYS AS (price * qty) VIRTUAL, note TEXT DEFAULT ('none'))
;;
INSERT INTO g (price, qty) VALUES (2, 3)
== recorded
SELECT id, price, qty, total, note FROM g
;;
INSERT INTO g (qty) VALUES (4)
;;
-- fails
INSERT INTO g (qty) VALUES (-1)
;;
SELECT id, total FROM g
## full text search
CREATE VIRTUAL TABLE docs USING fts5(title, body)
;;
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT)
;;
INSERT INTO docs VALUES ('one', 'a text'), ('two', 'another')
;;
INSERT INTO notes VALUES (1, 'n')
== recorded
SELECT title FROM notes
;;
SELECT title FROM docs WHERE docs MATCH 'another'
;;
INSERT INTO docs VALUES ('three', 'words')
;;
UPDATE notes SET title = 'm' WHERE id = 1
;;
SELECT id, title FROM notes
## without rowid
CREATE TABLE w (a TEXT, b INT, c, PRIMARY KEY (a, b)) WITHOUT ROWID
;;
CREATE TABLE n (id INTEGER PRIMARY KEY, v INT)
;;
INSERT INTO w VALUES ('x', 1, 2)
;;
INSERT INTO n VALUES (1, 2)
== recorded
SELECT a, b, c FROM w
;;
SELECT v FROM n WHERE id = 1
;;
INSERT INTO w VALUES ('y', 1, 3)
;;
SELECT count(*) FROM w
