"""Passwords in statements are masked; what tables hold is not."""

from __future__ import annotations

import pytest

from troubadour.record.secrets import masked


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
    ],
)
def test_data_stays(sql: str) -> None:
    assert masked(sql) == sql
