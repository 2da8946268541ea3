"""Random routines with loops, cursors, handlers and subqueries over the tables of `guarded_cases`, for forked runs.
Knows no expected result."""

from __future__ import annotations

import random

MYSQL = (
    """CREATE PROCEDURE p (IN x INT) BEGIN
         DECLARE n INT DEFAULT 0;
         WHILE n < 3 DO UPDATE t SET {assign} WHERE id = n; SET n = n + 1; END WHILE; {select} END""",
    """CREATE PROCEDURE p (IN x INT) BEGIN
         DECLARE k INT; DECLARE w INT; DECLARE done INT DEFAULT 0; DECLARE total INT DEFAULT 0;
         DECLARE c CURSOR FOR SELECT id, b FROM t WHERE {where} ORDER BY id;
         DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
         OPEN c;
         again: LOOP FETCH c INTO k, w; IF done = 1 THEN LEAVE again; END IF;
           SET total = total + 1; IF w > {n} THEN UPDATE u SET c = c + 1 WHERE tid = k; END IF; END LOOP;
         CLOSE c; SELECT total, x; END""",
    """CREATE PROCEDURE p (IN x INT) BEGIN
         IF EXISTS (SELECT 1 FROM t WHERE {where}) THEN UPDATE u SET c = {n}; ELSE DELETE FROM u WHERE id = x; END IF;
         {select} END""",
    """CREATE PROCEDURE p (IN x INT) BEGIN
         DECLARE v INT DEFAULT 5;
         SELECT b INTO v FROM t WHERE id = x;
         IF v IS NULL THEN SET v = (SELECT COUNT(*) FROM u); END IF;
         REPEAT SET v = v - 1; INSERT INTO u (id, tid, c) VALUES (40 + v, x, v); UNTIL v < {n} END REPEAT;
         {select} END""",
    """CREATE PROCEDURE p (IN x INT) BEGIN
         UPDATE t SET {assign} WHERE id IN (SELECT tid FROM u); {select} UPDATE u SET c = c + x WHERE c > {n}; END""",
)
POSTGRES = (
    """CREATE PROCEDURE p (x INT) LANGUAGE plpgsql AS $$ BEGIN
         FOR n IN 0..3 LOOP UPDATE t SET {assign} WHERE id = n; END LOOP; END $$""",
    """CREATE PROCEDURE p (x INT) LANGUAGE plpgsql AS $$ DECLARE r RECORD; BEGIN
         FOR r IN SELECT id, b FROM t WHERE {where} ORDER BY id LOOP
           IF r.b > {n} THEN UPDATE u SET c = c + 1 WHERE tid = r.id; ELSE EXIT; END IF; END LOOP; END $$""",
    """CREATE PROCEDURE p (x INT) LANGUAGE plpgsql AS $$ DECLARE v INT; BEGIN
         SELECT b INTO v FROM t WHERE id = x;
         IF NOT FOUND THEN INSERT INTO u VALUES (50, x, {n}); ELSIF v > {n} THEN DELETE FROM t WHERE {where};
         ELSE UPDATE t SET {assign} WHERE id = x; END IF; END $$""",
    """CREATE PROCEDURE p (x INT) LANGUAGE plpgsql AS $$ BEGIN
         UPDATE t SET b = b + x WHERE {where};
         BEGIN UPDATE t SET b = b * 20; EXCEPTION WHEN check_violation THEN UPDATE u SET c = {n}; END; END $$""",
    """CREATE PROCEDURE p (x INT) LANGUAGE plpgsql AS $$ DECLARE v INT := 0; BEGIN
         WHILE v < (SELECT COUNT(*) FROM t WHERE {where}) LOOP v := v + 1;
           INSERT INTO u (id, tid, c) VALUES (60 + v, v, x); END LOOP; END $$""",
    """CREATE PROCEDURE p (x INT) LANGUAGE plpgsql AS $$ DECLARE v INT := 5; BEGIN
         SELECT b INTO v FROM t WHERE id = x; UPDATE u SET c = COALESCE(v, 7) WHERE id = x;
         IF v > {n} THEN v := v - 1; UPDATE t SET {assign} WHERE b = v; END IF; END $$""",
    """CREATE PROCEDURE p (x INT) LANGUAGE SQL AS $$ UPDATE t SET b = x WHERE {where};
         DELETE FROM u WHERE c = {n} AND tid IN (SELECT id FROM t WHERE b = $1) $$""",
    """CREATE FUNCTION f (x INT) RETURNS INT LANGUAGE plpgsql AS $$ DECLARE v INT; BEGIN
         SELECT SUM(c) INTO v FROM u WHERE tid = x; RETURN COALESCE(v, {n}); END $$""",
)


def random_routine(rng: random.Random, dialect: str) -> tuple[str, str]:
    """The definition of a routine and a statement that calls it."""
    text = rng.choice(MYSQL if dialect == "mysql" else POSTGRES)
    parts = {
        "{assign}": rng.choice(("b = b + 1", "b = a", "b = 49", "a = x, b = 2")),
        "{where}": rng.choice(("a > 1", "b < 4", "id <> 2", "id IN (SELECT tid FROM u)", "a = b")),
        "{select}": rng.choice(("", "SELECT id, b FROM t WHERE b > 1;", "SELECT COUNT(*) FROM u;")),
        "{n}": str(rng.choice((0, 1, 2, 3))),
    }
    for name, part in parts.items():
        text = text.replace(name, part)
    argument = rng.choice((1, 2, 3))
    if "FUNCTION" in text:
        return text, rng.choice((f"SELECT f({argument})", "SELECT t.id, f(t.id) FROM t", "UPDATE t SET b = f(a)"))
    return text, f"CALL p({argument})"
