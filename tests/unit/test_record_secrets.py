"""Passwords in statements are masked; what tables hold is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from troubadour.record.statements.secrets import masked


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE USER a WITH PASSWORD 'hunter2'",
        "ALTER ROLE a ENCRYPTED PASSWORD $x$hunter2$x$ VALID UNTIL '2030-01-01'",
        "CREATE USER 'a'@'%' IDENTIFIED BY 'hunter2'",
        "ALTER USER a IDENTIFIED WITH mysql_native_password BY 'hunter2' REPLACE 'hunter2'",
        "SET PASSWORD FOR 'a'@'localhost' = PASSWORD('hunter2')",
        "SET PASSWORD = 'hunter2'",
        "GRANT ALL ON x.* TO a IDENTIFIED BY PASSWORD '*hunter2'",
        "ALTER USER a IDENTIFIED VIA ed25519 USING PASSWORD('hunter2')",
        "CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='hunter2'",
        "CREATE SUBSCRIPTION s CONNECTION 'host=h password=hunter2 dbname=x' PUBLICATION p",
        "CREATE SUBSCRIPTION s CONNECTION 'host=h password=''hunter2'' dbname=x' PUBLICATION p",
        "CREATE USER MAPPING FOR a SERVER s OPTIONS (user 'u', password 'hunter2')",
        "SELECT * FROM dblink('postgresql://u:hunter2@h/x', 'SELECT 1') AS t(a int)",
        "SELECT dblink_connect('host=h user=u password=hunter2')",
        "CREATE SECRET s (TYPE s3, KEY_ID 'hunter2', SECRET 'hunter2')",
        "ATTACH 'postgres://u:hunter2@h/x' AS y",
        "/* why */ alter user a\n  password E'it\\'s hunter2'",
        "-- why\nALTER USER a PASSWORD 'it''s hunter2'",
        "PRAGMA key = 'hunter2'",
        "SELECT pgp_sym_encrypt('x', 'hunter2')",
        "UPDATE t SET a = pgp_sym_decrypt(b, 'hunter2', 'cipher-algo=aes256') WHERE id = 1",
        "INSERT INTO t VALUES (AES_ENCRYPT('x', \"hunter2\"))",
        "SELECT crypt('hunter2', gen_salt('bf'))",
        "COPY t FROM 's3://b' CREDENTIALS 'aws_access_key_id=a;aws_secret_access_key=hunter2'",
        "ATTACH 'x.db' AS x (ENCRYPTION_KEY 'hunter2')",
        "ATTACH DATABASE 'x.db' AS x KEY 'hunter2'",
        "SET s3_secret_access_key = 'hunter2'",
        "SET LOCAL app.jwt_secret TO 'hunter2'",
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN ALTER USER a PASSWORD 'hunter2'; END $$",
        "SELECT * FROM postgres_query('postgresql://u:hunter2@h/x', 'SELECT 1')",
    ],
)
def test_passwords_are_masked(sql: str) -> None:
    found = masked(sql)
    assert "hunter2" not in found
    assert "***" in found
    assert masked(found) == found


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE users SET password = 'hunter2' WHERE id = 1",
        "CREATE TABLE users (id INT PRIMARY KEY, password TEXT DEFAULT 'hunter2')",
        "INSERT INTO links VALUES ('https://u:hunter2@h/x')",
        "CREATE USER a",
        "INSERT INTO notes VALUES ('CREATE USER a IDENTIFIED BY ''hunter2''')",
        "SELECT * FROM users WHERE token = 'hunter2'",
        "INSERT INTO t (password, token) VALUES ('hunter2', 'x')",
        "WITH c AS (UPDATE users SET password = 'hunter2' RETURNING id) SELECT * FROM c",
        "SELECT set_config('app.user', 'hunter2', true)",
    ],
)
def test_data_stays(sql: str) -> None:
    assert masked(sql) == sql


def test_secrets_of_every_product() -> None:
    lines = (Path(__file__).parents[1] / "data" / "strangers-3" / "secrets.jsonl").read_text().splitlines()
    left = [sql for sql in (json.loads(line)["sql"] for line in lines) if "S3CR" in masked(sql)]
    assert left == ["UPDATE users SET password = 'S3CR' WHERE id=1"]
