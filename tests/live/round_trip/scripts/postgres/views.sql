
## writes through a view of some rows and columns
CREATE TABLE topics (id serial PRIMARY KEY, title text NOT NULL, views int DEFAULT 7, note text, gone boolean NOT NULL DEFAULT false, CHECK (views < 100))
;;
CREATE VIEW recent AS SELECT id, title, views FROM topics WHERE NOT gone
;;
INSERT INTO topics (title, gone) VALUES ('a', false), ('b', true), ('c', false)
== recorded
UPDATE recent SET title = 'A' WHERE id = 1
;;
UPDATE recent SET title = 'B' WHERE id = 2
;;
UPDATE recent AS r SET views = r.views + 1 WHERE title IN ('A', 'c') RETURNING *
;;
INSERT INTO recent (title) VALUES ('d') RETURNING id, views
;;
INSERT INTO recent VALUES (10, 'e', 3), (11, 'f', NULL)
;;
INSERT INTO recent SELECT id + 100, title, views FROM topics WHERE id > 5 RETURNING recent.*
;;
DELETE FROM recent WHERE title = 'b'
;;
DELETE FROM recent WHERE title = 'c' RETURNING id, recent.title
;;
-- fails
UPDATE recent SET note = 'x'
;;
-- fails
UPDATE recent SET title = 'x' WHERE gone
;;
-- fails
DELETE FROM recent RETURNING note
;;
-- fails
UPDATE recent SET views = 100
;;
-- fails
INSERT INTO recent (id) VALUES (50)
;;
-- fails
INSERT INTO recent VALUES (1, 'x', 3)
;;
-- fails
INSERT INTO recent VALUES (60, 'x', 3, 4)
;;
SELECT * FROM topics ORDER BY id
;;
UPDATE recent SET views = views + 1
;;
DELETE FROM recent
;;
SELECT * FROM topics ORDER BY id
## a view that renames and reorders
CREATE TABLE t (a int PRIMARY KEY, b text, c int GENERATED ALWAYS AS (a * 2) STORED, d numeric(6, 2) DEFAULT 1.5)
;;
CREATE VIEW v (amount, b, key) AS SELECT d, c, a FROM t WHERE a > 1 ORDER BY b
;;
INSERT INTO t (a, b) VALUES (1, 'one'), (2, 'two'), (3, 'three')
== recorded
INSERT INTO v (key, amount) VALUES (4, 2.345) RETURNING key, amount, b
;;
INSERT INTO v (amount, key) VALUES (DEFAULT, 0) RETURNING *
;;
UPDATE v SET amount = amount + b WHERE key >= 3 RETURNING old.amount, new.amount, v.b
;;
UPDATE v SET key = key + 10 WHERE b = 4
;;
DELETE FROM v WHERE key = 1
;;
-- fails
UPDATE v SET d = 1
;;
-- fails
UPDATE v SET b = 3
;;
BEGIN
;;
DELETE FROM v AS x WHERE x.amount < 3 RETURNING x.key
;;
ROLLBACK
;;
SELECT * FROM v ORDER BY key
;;
SELECT * FROM t ORDER BY a
## a view beside a trigger and a reference
CREATE TABLE parents (id int PRIMARY KEY, name text)
;;
CREATE TABLE children (id int PRIMARY KEY, parent int REFERENCES parents ON DELETE CASCADE, name text)
;;
CREATE VIEW named AS SELECT id, name FROM parents WHERE name IS NOT NULL
;;
CREATE VIEW kids AS SELECT parent, id FROM children
;;
INSERT INTO parents VALUES (1, 'a'), (2, NULL), (3, 'c')
;;
INSERT INTO children VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z')
== recorded
DELETE FROM named WHERE id < 3
;;
-- fails
INSERT INTO kids VALUES (9, 9)
;;
INSERT INTO kids (id, parent) VALUES (4, 3), (5, NULL)
;;
UPDATE kids SET parent = NULL WHERE id = 3
;;
SELECT * FROM children ORDER BY id
;;
SELECT * FROM parents ORDER BY id
## views that writes do something else through
CREATE TABLE t (a int PRIMARY KEY, b int)
;;
INSERT INTO t VALUES (1, 1), (2, 2)
;;
CREATE VIEW ruled AS SELECT a, b FROM t WHERE b > 0
;;
CREATE RULE r AS ON UPDATE TO ruled DO INSTEAD NOTHING
;;
CREATE VIEW fired AS SELECT a, b FROM t WHERE b > 0
;;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET b = 99 WHERE a = NEW.a; RETURN NEW; END $$
;;
CREATE TRIGGER g INSTEAD OF UPDATE ON fired FOR EACH ROW EXECUTE FUNCTION f()
;;
CREATE VIEW filling AS SELECT a, b FROM t WHERE b > 0
;;
ALTER VIEW filling ALTER COLUMN b SET DEFAULT 42
;;
CREATE VIEW checked AS SELECT a, b FROM t WHERE b > 0 WITH CHECK OPTION
;;
CREATE VIEW upon AS SELECT a, b FROM filling WHERE b < 50
== recorded
UPDATE ruled SET b = 5 WHERE a = 1
;;
UPDATE fired SET b = 5 WHERE a = 2
;;
INSERT INTO filling (a) VALUES (7)
;;
-- fails
UPDATE checked SET b = -1
;;
INSERT INTO upon (a) VALUES (8)
;;
SELECT * FROM ruled ORDER BY a
;;
SELECT * FROM t ORDER BY a
## a view that changes in the log
CREATE TABLE t (a int PRIMARY KEY, b int)
;;
CREATE VIEW v AS SELECT a, b FROM t WHERE b > 0
== recorded
INSERT INTO v (a) VALUES (7)
;;
ALTER VIEW v ALTER COLUMN b SET DEFAULT 42
;;
INSERT INTO v (a) VALUES (8)
;;
SELECT * FROM t ORDER BY a
