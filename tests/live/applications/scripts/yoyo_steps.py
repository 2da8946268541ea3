"""yoyo: migrations that are applied, rolled back and applied again. `python yoyo_steps.py setup|run URL`."""

import sys
from pathlib import Path

from yoyo import get_backend, read_migrations

folder = Path("migrations")
folder.mkdir(exist_ok=True)
for number in range(3):
    (folder / f"{number}.py").write_text(
        "from yoyo import step\n"
        "steps = [\n"
        f"    step('CREATE TABLE t{number} (id INT PRIMARY KEY, name VARCHAR(20))', 'DROP TABLE t{number}'),\n"
        f"    step(\"INSERT INTO t{number} VALUES (1, 'a')\", 'DELETE FROM t{number}'),\n"
        "]\n"
    )
backend = get_backend(sys.argv[2])
if sys.argv[1] == "run":
    migrations = read_migrations(str(folder))
    for _ in range(2):
        with backend.lock():
            backend.apply_migrations(backend.to_apply(migrations))
        with backend.lock():
            backend.rollback_migrations(backend.to_rollback(migrations))
