Triggers as applications have them.

## a check that waits for the commit
CREATE TABLE account (id INT PRIMARY KEY, currencies JSONB NOT NULL)
;;
CREATE TABLE leg (id INT PRIMARY KEY, tx INT NOT NULL, account INT NOT NULL REFERENCES account (id) DEFERRABLE INITIALLY DEFERRED, amount NUMERIC(10,2) NOT NULL)
;;
CREATE FUNCTION balanced() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r RECORD; BEGIN SELECT sum(amount) AS total INTO r FROM leg WHERE tx = NEW.tx HAVING sum(amount) <> 0; IF FOUND THEN RAISE EXCEPTION 'not balanced: %', r.total USING ERRCODE = 23514; END IF; RETURN NEW; END $$
;;
CREATE CONSTRAINT TRIGGER check_balanced AFTER INSERT OR UPDATE ON leg DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION balanced()
;;
INSERT INTO account VALUES (1, '["EUR"]'), (2, '["EUR", "USD"]')
== recorded
BEGIN
;;
INSERT INTO leg VALUES (1, 1, 1, 10)
;;
INSERT INTO leg VALUES (2, 1, 2, -10)
;;
COMMIT
;;
BEGIN
;;
INSERT INTO leg VALUES (3, 2, 1, 5)
;;
-- fails
COMMIT
;;
SELECT id, amount FROM leg ORDER BY id
;;
-- fails
INSERT INTO leg VALUES (4, 3, 1, 5)
;;
SELECT count(*) FROM leg
;;
BEGIN
;;
INSERT INTO leg VALUES (5, 4, 1, 5)
;;
-- fails
SET CONSTRAINTS ALL IMMEDIATE
;;
ROLLBACK
;;
SELECT count(*) FROM leg

## triggers that hang on how deep they are
CREATE TABLE node (id INT PRIMARY KEY, parent INT, kind TEXT, code TEXT, path TEXT)
;;
CREATE FUNCTION kind_of() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.parent::INT::BOOL THEN NEW.kind = (SELECT kind FROM node WHERE id = NEW.parent); END IF; RETURN NEW; END $$
;;
CREATE FUNCTION paths() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE node AS n SET path = (SELECT string_agg(m.code, '' ORDER BY m.id) FROM node m WHERE m.id <= n.id), kind = 'z' WHERE n.id >= NEW.id; RETURN NULL; END $$
;;
CREATE TRIGGER a_kind BEFORE INSERT OR UPDATE ON node FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION kind_of()
;;
CREATE TRIGGER b_paths AFTER INSERT OR UPDATE ON node FOR EACH ROW WHEN ((pg_trigger_depth() < 1)) EXECUTE FUNCTION paths()
;;
CREATE TABLE seen (id SERIAL PRIMARY KEY, what TEXT)
;;
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (what) VALUES (NEW.path); RETURN NULL; END $$
;;
CREATE TRIGGER c_noted AFTER UPDATE ON node FOR EACH ROW EXECUTE FUNCTION noted()
== recorded
INSERT INTO node (id, parent, kind, code) VALUES (1, NULL, 'x', 'a') RETURNING kind
;;
INSERT INTO node (id, parent, kind, code) VALUES (2, 1, 'y', 'b') RETURNING kind
;;
SELECT id, parent, kind, code, path FROM node ORDER BY id
;;
UPDATE node SET code = 'c' WHERE id = 2
;;
SELECT id, kind, code, path FROM node ORDER BY id
;;
SELECT what FROM seen ORDER BY id
