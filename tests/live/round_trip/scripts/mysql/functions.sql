Functions that applications call.

## json, days and lists
CREATE TABLE t (id int PRIMARY KEY, doc longtext, d date, m datetime, name varchar(20))
;;
INSERT INTO t VALUES (1, '{"size": "L", "n": 5, "in": {"x": [1, "two", null]}, "a b": true}', '2024-01-31', '2024-02-29 10:00:00', 'cap'), (2, '[1, {"k":  "v"}]', '2023-12-25', '2023-12-31 23:59:59', 'mug'), (3, 'no json', NULL, NULL, NULL), (4, NULL, NULL, NULL, 'note')
== recorded
SELECT id, JSON_EXTRACT(doc, '$.size'), JSON_UNQUOTE(JSON_EXTRACT(doc, '$.size')), JSON_EXTRACT(doc, '$.in'), JSON_EXTRACT(doc, '$.in.x[1]'), JSON_EXTRACT(doc, '$[1]'), JSON_EXTRACT(doc, '$[0]'), JSON_EXTRACT(doc, '$."a b"') FROM t ORDER BY id
;;
SELECT id, JSON_VALUE(doc, '$.size'), JSON_VALUE(doc, '$.n'), JSON_VALUE(doc, '$.in'), JSON_VALUE(doc, '$.in.x[2]'), JSON_VALUE(doc, '$[1].k'), JSON_VALUE(doc, '$."a b"'), JSON_VALID(doc) FROM t ORDER BY id
;;
SELECT id, DAYNAME(d), MONTHNAME(m), DAYNAME(m), CRC32(name), FIND_IN_SET(name, 'mug,cap,,x'), FIND_IN_SET('', 'a,,b'), FIND_IN_SET('a', '') FROM t ORDER BY id
;;
SELECT id FROM t WHERE FIND_IN_SET(name, 'mug,note') > 0 ORDER BY id
;;
UPDATE t SET name = JSON_VALUE(doc, '$.size') WHERE id = 1
;;
SELECT id, name FROM t WHERE JSON_VALUE(doc, '$.n') = '5'

## texts of another collation than the connection's
CREATE TABLE users (id int PRIMARY KEY, login varchar(60) NOT NULL, note text, UNIQUE KEY (login)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
;;
CREATE TABLE posts (id int PRIMARY KEY, title varchar(60), at datetime) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
;;
INSERT INTO users VALUES (1, 'Admin', 'A'), (2, 'ann', 'b'), (3, 'Bob', 'B')
;;
INSERT INTO posts VALUES (1, 'Hello', '2024-01-02'), (2, 'hello', '2024-02-02')
== recorded
SELECT * FROM users WHERE login = 'ADMIN'
;;
SELECT id FROM users WHERE login LIKE 'A%' ORDER BY id
;;
SELECT COUNT(*) FROM users WHERE note IN ('B', 'x')
;;
SELECT a.id, b.id FROM posts a JOIN posts b ON a.title = b.title AND a.id < b.id
;;
SELECT DATE_FORMAT(at, '%Y-%m') AS m, COUNT(*) FROM posts GROUP BY m ORDER BY m
;;
-- fails
INSERT INTO users VALUES (4, 'ANN', NULL)
;;
UPDATE users SET note = 'z' WHERE login = 'bOB'

## patterns, places and parts
CREATE TABLE t (id int PRIMARY KEY, name varchar(20), doc longtext, at datetime, ts timestamp NULL, d date, n int, dc decimal(8,2), s ENUM('new','paid')) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci
;;
INSERT INTO t VALUES (1,'Ann','{"a": [1,2,"x"], "b": "x"}','2024-01-02 15:04:05','2024-01-02 03:04:05','2024-12-30',1,1.5,'new'),(2,'bob','[1, -5, "A"]','2023-02-22','2024-01-02 23:04:05','2024-01-01',2,2,'paid'),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL)
== recorded
SELECT id FROM t WHERE name REGEXP '^(ann|bo+b)$'
;;
SELECT id FROM t WHERE name REGEXP '^[a-b]+' AND id > 1
;;
-- params ["^A"]
SELECT id FROM t WHERE name REGEXP %s
;;
SELECT id FROM t ORDER BY FIELD(id, 3, 1, 2)
;;
SELECT FIELD(name,'BOB','ann'), FIELD(id,3,'1'), FIELD(id,NULL,2), FIELD(name, NULL,'bob'), FIELD(id, 1.0, 2.0), FIELD(dc, 2, 1.50) FROM t
;;
SELECT FIELD(NULL, 1, 2) FROM t
;;
SELECT id FROM t WHERE id IN (1,2) ORDER BY FIELD(id, 2, 1) LIMIT 1
;;
SELECT UNIX_TIMESTAMP(at), UNIX_TIMESTAMP(d), UNIX_TIMESTAMP(ts) FROM t
;;
SELECT id FROM t WHERE UNIX_TIMESTAMP(at) > 1700000000
;;
SELECT DATE_FORMAT(at,'%M %b %W %a %w %h %I %l %p %r %x %v %T'), DATE_FORMAT(d,'%M %b %W %a %w %h %I %l %p %r %x %v') FROM t
;;
SELECT DATE_FORMAT(at, '%x-%v') AS w, COUNT(*) FROM t GROUP BY w
;;
SELECT JSON_CONTAINS(doc,'1'), JSON_CONTAINS(doc,'"x"','$.b'), JSON_CONTAINS(doc,'"x"','$.a'), JSON_CONTAINS(doc,'2', '$.a'), JSON_CONTAINS(doc,'"x"','$.zz'), JSON_CONTAINS(doc, '"a"') FROM t
;;
SELECT id FROM t WHERE JSON_CONTAINS(doc, '-5')
;;
SELECT id FROM t WHERE (name REGEXP 'a') = 1
;;
SELECT name REGEXP '^a', name REGEXP 'n{2}$', name REGEXP 'N', name NOT REGEXP 'b.b', NOT name REGEXP 'x', name REGEXP '\\\\w+$' FROM t
;;
SELECT UNIX_TIMESTAMP(at), UNIX_TIMESTAMP(d) FROM t
;;
DELETE FROM t WHERE name REGEXP '^x'
;;
SELECT DAYNAME(d), MONTHNAME(at) FROM t
