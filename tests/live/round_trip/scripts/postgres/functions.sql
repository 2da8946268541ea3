Functions that applications call.

## functions that give rows
CREATE TABLE f (id int PRIMARY KEY, info jsonb, j json, tags text[], ts timestamp, d date)
;;
INSERT INTO f VALUES (1, '{"b": 1, "aa": "x", "a": null}', '{"z": 1, "y": [1,2]}', '{a,b}', '2024-01-31', '2024-01-01'), (2, '["x", 2, {"k": true}]', '[1, "b"]', '{b}', '2024-02-01', '2024-02-03'), (3, NULL, NULL, NULL, NULL, NULL)
== recorded
SELECT f.id, x.key, x.value FROM f, jsonb_each_text(f.info) AS x (key, value) WHERE f.id = 1
;;
SELECT f.id, e FROM f, jsonb_array_elements(f.info) AS e WHERE f.id = 2
;;
SELECT f.id, e.value ->> 'k', n FROM f CROSS JOIN LATERAL jsonb_array_elements(f.info) WITH ORDINALITY AS e (value, n) WHERE f.id = 2
;;
SELECT id, jsonb_array_elements_text(info) FROM f WHERE id = 2
;;
SELECT id, jsonb_object_keys(info) AS k FROM f WHERE id = 1 ORDER BY 2
;;
SELECT * FROM json_each('{"z": 1, "y": [1, 2]}')
;;
SELECT * FROM f JOIN LATERAL json_array_elements_text(f.j) AS w ON true WHERE f.id = 2
;;
SELECT generate_series('2024-01-01'::date, '2024-01-03'::date, '1 day'::interval)::date AS day
;;
SELECT d FROM generate_series('2024-01-31'::timestamp, '2024-04-30', '1 month') AS d
;;
SELECT s::date, count(f.id) FROM generate_series('2024-01-31'::timestamp, '2024-02-02', interval '1 day') AS s LEFT JOIN f ON f.ts = s GROUP BY s ORDER BY s
;;
SELECT tag, count(*) FROM (SELECT unnest(tags) AS tag FROM f) x GROUP BY tag ORDER BY tag
;;
SELECT unnest(tags) AS tag, count(*) FROM f GROUP BY tag ORDER BY tag
;;
SELECT generate_series(1, id) FROM f ORDER BY id, 1
;;
SELECT * FROM generate_series(0.1, 1.0, 0.3)
;;
SELECT * FROM generate_series(3, 1, -1) WITH ORDINALITY
;;
SELECT t FROM string_to_table('a,b,,c', ',') t
;;
SELECT id, s FROM f, generate_subscripts(tags, 1) AS s
;;
-- fails
SELECT jsonb_array_elements(info) FROM f WHERE id = 1
;;
SELECT EXISTS (SELECT 1 FROM jsonb_array_elements_text(info) x WHERE x = 'x') FROM f WHERE id = 2
;;
SELECT id FROM f WHERE 'x' IN (SELECT jsonb_array_elements_text(f.info)) AND id = 2
;;
SELECT (SELECT string_agg(v, ',' ORDER BY v) FROM jsonb_array_elements_text(info) AS v) FROM f WHERE id = 2
;;
SELECT i, f.id FROM f, generate_series(f.d, f.d + 2, interval '1 day') AS i WHERE f.id = 1

## json by paths, rows as values, bytes, any order
CREATE TABLE f (id int PRIMARY KEY, info jsonb, j json, tags text[], ts timestamp, name text, b bytea)
;;
CREATE TABLE g (id int PRIMARY KEY, f_id int, note text)
;;
INSERT INTO f VALUES (1, '{"b": 1, "aa": {"x": ["p", "q"]}, "a": null}', '{"z": {"y": [1,"two"]}}', '{a,b}', '2024-01-31 10:00', 'ab cd_eF', '\x01ff'), (2, '["x", 2, {"k": true}]', '[1, "b"]', '{b}', '2024-02-01', 'logo', NULL), (3, NULL, NULL, NULL, NULL, NULL, NULL)
;;
INSERT INTO g VALUES (1, 1, 'n1'), (2, 1, NULL), (3, 2, 'n3')
== recorded
SELECT info #>> '{aa,x,1}', info #> '{aa,x}', info #>> '{2,k}', info #>> '{-1}', j #>> '{z,y,1}', j #> '{z}', j #>> '{0}', info #>> '{}', info #>> '{a}' FROM f ORDER BY id
;;
SELECT jsonb_set(info, '{b}', '2'), jsonb_set(info, '{aa,x,0}', '"r"'), jsonb_set(info, '{new}', '[1]', true), jsonb_set(info, '{new}', '[1]', false), info #- '{aa,x}' FROM f WHERE id = 1
;;
SELECT jsonb_set(info, '{2,k}', 'false'), jsonb_set(info, '{-1}', '9'), jsonb_set(info, '{7}', '7'), jsonb_set(info, '{-7}', '7'), info #- '{1}', jsonb_set(info, ARRAY['0'], to_jsonb(name)) FROM f WHERE id = 2
;;
UPDATE f SET info = jsonb_set(info, '{b}', '5'::jsonb) WHERE id = 1 RETURNING info
;;
SELECT id, info ?| array['a','zz'], info ?& '{a,b}' FROM f ORDER BY id
;;
-- fails
SELECT jsonb_set('1'::jsonb, '{a}', '1')
;;
SELECT f.id, row_to_json(x.*) AS x FROM f LEFT JOIN LATERAL (SELECT g.note, g.id FROM g WHERE g.f_id = f.id ORDER BY g.id LIMIT 1) AS x ON TRUE ORDER BY f.id
;;
SELECT f.id, row_to_json(g.*) AS g, to_jsonb(g) FROM f LEFT JOIN g ON g.f_id = f.id ORDER BY f.id, g.id
;;
SELECT f.id, json_agg(g.*) AS g FROM f LEFT JOIN g ON g.f_id = f.id GROUP BY f.id ORDER BY f.id
;;
SELECT date(ts), float8(id), text(id), int8('7'), initcap(name) FROM f ORDER BY id
;;
SELECT encode(b, 'hex'), encode(sha256('abc'::bytea), 'base64'), decode('01fF', 'hex') FROM f WHERE id = 1
;;
SELECT name FROM f ORDER BY random()
;;
SELECT name FROM f WHERE id < 3 ORDER BY random() LIMIT 1
;;
SELECT name FROM f WHERE name SIMILAR TO '(lo|ab)%%' ORDER BY id
;;
SELECT id FROM f WHERE id = ANY(ARRAY(SELECT f_id FROM g)) ORDER BY id
;;
SELECT id, ARRAY(SELECT g.id FROM g WHERE g.f_id = f.id ORDER BY g.id DESC) FROM f ORDER BY id
;;
SELECT date(ts) AS d, count(*) FROM f GROUP BY d ORDER BY d
;;
SELECT id FROM f WHERE id <> ALL (ARRAY(SELECT f_id FROM g))
