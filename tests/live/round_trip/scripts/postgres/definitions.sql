What an application defines at each start, whether it is there or not.

## a schema made again
CREATE TYPE pair AS (a INT, b TEXT)
;;
CREATE TABLE events (id BIGSERIAL PRIMARY KEY, topic TEXT, body BYTEA)
;;
CREATE UNIQUE INDEX events_topic ON events (topic)
;;
CREATE FUNCTION put_event(t TEXT) RETURNS BIGINT LANGUAGE plpgsql AS $$ DECLARE n BIGINT; BEGIN INSERT INTO events (topic) VALUES (t) RETURNING id INTO n; RETURN n; END $$
== recorded
-- fails
CREATE TYPE pair AS (a INT, b TEXT)
;;
CREATE TABLE IF NOT EXISTS "events" (id BIGSERIAL PRIMARY KEY, topic TEXT, body BYTEA, extra INT) WITH (autovacuum_enabled = true, fillfactor = 70)
;;
CREATE UNIQUE INDEX IF NOT EXISTS events_topic ON events (topic ASC)
;;
CREATE OR REPLACE FUNCTION "put_event"("t" text) RETURNS int8 LANGUAGE plpgsql AS $body$ DECLARE n BIGINT; BEGIN INSERT INTO events (topic) VALUES (t) RETURNING id INTO n; RETURN n; END $body$
;;
CREATE SCHEMA IF NOT EXISTS more
;;
CREATE EXTENSION IF NOT EXISTS plpgsql
;;
BEGIN
;;
LOCK TABLE "events" IN EXCLUSIVE MODE
;;
SELECT put_event('one')
;;
COMMIT
;;
SELECT id, topic FROM events
;;
-- fails
INSERT INTO events (topic) VALUES ('one')

## a function made otherwise
CREATE FUNCTION more(a INT) RETURNS INT LANGUAGE sql AS $$ SELECT a + 1 $$
;;
CREATE TABLE kept (id INT PRIMARY KEY)
== recorded
SELECT more(1)
;;
CREATE OR REPLACE FUNCTION more(a INT) RETURNS INT LANGUAGE sql AS $$ SELECT a + 2 $$
;;
SELECT more(1)
;;
INSERT INTO kept VALUES (1)
;;
SELECT id FROM kept

## a function altered and dropped
CREATE FUNCTION more(a INT) RETURNS INT LANGUAGE sql AS $$ SELECT a + 1 $$
;;
CREATE TABLE kept (id INT PRIMARY KEY)
== recorded
ALTER FUNCTION more(INT) RETURNS NULL ON NULL INPUT
;;
SELECT more(NULL)
;;
DROP FUNCTION more(INT)
;;
-- fails
SELECT more(1)
;;
INSERT INTO kept VALUES (1)

## a trigger's function made otherwise
CREATE TABLE kept (id INT PRIMARY KEY, n INT)
;;
CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.n := 1; RETURN NEW; END $$
;;
CREATE TRIGGER counts BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION counted()
;;
CREATE TABLE others (id INT PRIMARY KEY)
== recorded
INSERT INTO kept (id) VALUES (1) RETURNING n
;;
CREATE OR REPLACE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.n := 2; RETURN NEW; END $$
;;
INSERT INTO kept (id) VALUES (2) RETURNING n
;;
INSERT INTO others VALUES (1)
;;
SELECT id FROM others

## a trigger made in the log
CREATE TABLE kept (id INT PRIMARY KEY, n INT)
;;
CREATE TABLE others (id INT PRIMARY KEY)
== recorded
CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO others VALUES (NEW.id); RETURN NEW; END $$
;;
SELECT count(*) FROM others
;;
CREATE TRIGGER counts AFTER INSERT ON kept FOR EACH ROW EXECUTE FUNCTION counted()
;;
INSERT INTO kept (id) VALUES (2)
;;
SELECT id FROM others
;;
DROP TRIGGER counts ON kept
;;
INSERT INTO kept (id) VALUES (3)
;;
SELECT id FROM others

## a new function
CREATE TABLE kept (id INT PRIMARY KEY, n INT)
== recorded
-- fails
SELECT twice(2)
;;
CREATE FUNCTION twice(a INT) RETURNS INT LANGUAGE sql AS $$ SELECT a * 2 $$
;;
SELECT twice(2)
;;
INSERT INTO kept VALUES (1, 2)
;;
SELECT n FROM kept
