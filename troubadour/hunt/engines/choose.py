"""An engine by the name that the user gives it: ``postgres``, ``mariadb``, ``sqlite``, ``duckdb``, ``turso``, each also
with ``@`` and a version, for which an environment is made once.

Does not know what is done with an engine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from troubadour.hunt.engines.protocol import Engine, EngineError

NAMES = ("postgres", "mariadb", "sqlite", "duckdb", "turso")
_ALIASES = {"postgresql": "postgres", "mysql": "mariadb", "pysqlite3": "sqlite", "pyturso": "turso"}
_PACKAGES = {"sqlite": "pysqlite3-binary", "duckdb": "duckdb", "turso": "pyturso"}
_PRODUCTS = {"sqlite": "pysqlite3", "duckdb": "duckdb", "turso": "turso"}
"""What the worker calls them where an environment was made."""
_DEBIAN = Path("/usr/lib/postgresql")


def engine_named(name: str) -> Engine:
    """Start it. Raises EngineError for a name that is none, and where it cannot be had."""
    product, _, version = name.partition("@")
    product = _ALIASES.get(product.lower(), product.lower())
    if product not in NAMES:
        raise EngineError(f"{name!r} is none of {', '.join(NAMES)}, each also with @VERSION")
    if product == "postgres":
        return _postgres(name, version)
    if product == "mariadb":
        from troubadour.hunt.engines.mariadb import MariaDB

        if version:
            raise EngineError(f"{name}: the MariaDB that is installed is the only one that can be started")
        return MariaDB(name)

    from troubadour.hunt.engines.embedded import Embedded

    if version or product == "turso":
        return Embedded(name, _PRODUCTS[product], str(environment(_PACKAGES[product], version)))
    return Embedded(name, product)


def engine_at(dsn: str) -> Engine:
    """The server that a connection string leads to; its database must have no tables. Raises EngineError."""
    if dsn.startswith(("mysql://", "mariadb://")):
        from troubadour.hunt.engines.mariadb import MariaDB

        return MariaDB("the server", "mysql://" + dsn.partition("://")[2])
    from troubadour.hunt.engines.postgres import Postgres

    return Postgres("the server", dsn)


def _postgres(name: str, version: str) -> Engine:
    from troubadour.hunt.engines.postgres import Postgres

    if not version:
        return Postgres(name)
    if os.sep in version:
        return Postgres(name, programs=Path(version))
    programs = _DEBIAN / version / "bin"
    if (programs / "initdb").exists():
        return Postgres(name, programs=programs)
    if version == "16":  # the wheel of pgserver brings it
        return Postgres(name, programs=_programs_in(environment("pgserver", "")))
    raise EngineError(f"{name}: no PostgreSQL {version} in {_DEBIAN}; give the folder of its programs behind @")


def _programs_in(python: Path) -> Path:
    found = sorted(python.parents[1].glob("lib/python*/site-packages/pgserver/pginstall/bin"))
    if not found:
        raise EngineError("the wheel of pgserver has no programs")
    return found[0]


def environment(package: str, version: str) -> Path:
    """The interpreter of an environment that has a package, made where there is none yet. Raises EngineError."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "troubadour" / "hunt"
    if version and not re.fullmatch(r"[0-9A-Za-z.+!-]+", version):
        raise EngineError(f"{version!r} is no version")
    folder = cache / f"{package}-{version or 'newest'}-py{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    wanted = f"{package}=={version}" if version else package
    try:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        command = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
            wanted,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineError(f"no environment for {wanted}: {error}") from error
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        lines = done.stderr.strip().splitlines() or ["pip failed"]
        raise EngineError(f"no environment for {wanted}: {lines[-1]}")
    (folder / "complete").touch()
    return python
