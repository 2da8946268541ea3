"""Pictures of seven reports in docs/pictures, from a headless Chromium: ``python -m benchmarks.anomalies.screenshots``.

`pngquant` makes them small where it is installed. Does not know what is on a page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
_TROUBADOUR = [sys.executable, "-c", "from troubadour.cli.main import main; main()"]
_DARK = "--blink-settings=preferredColorScheme=0"
_WIDE, _NARROW = 1400, 400
_PAGES = {
    "write-skew": (["--isolation", "serializable", "logs/anomalies/write-skew.jsonl"], (_WIDE, 2200), []),
    "long-fork-dark": (["--isolation", "snapshot", "logs/anomalies/long-fork.jsonl"], (_WIDE, 2500), [_DARK]),
    "postgres-read-committed": (
        ["--isolation", "snapshot", "--order", "recorded", "logs/anomalous/postgres-read-committed.jsonl.gz"],
        (_WIDE, 2900),
        [],
    ),
    "correct": (
        ["--isolation", "postgres:repeatable-read", "logs/contended/postgres-snapshot-10.jsonl.gz"],
        (_WIDE, 2300),
        [],
    ),
    "undecided": (
        ["--isolation", "read-committed", "logs/regress/2026-11-23-violation-beside-an-unmodelled-probe.jsonl"],
        (_WIDE, 1500),
        [],
    ),
    "narrow": (["--isolation", "snapshot", "logs/anomalies/lost-update.jsonl"], (_NARROW, 3000), []),
    "narrow-dark": (
        ["--isolation", "postgres:read-committed", "logs/anomalies/intermediate-read.jsonl"],
        (_NARROW, 2900),
        [_DARK],
    ),
}
"""What is audited, the size of the window, options of the browser."""


def shoot(browser: str, page: Path, picture: Path, size: tuple[int, int], options: list[str]) -> None:
    """Make a picture of a page."""
    window = f"--window-size={size[0]},{size[1]}"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", window]
    profile = f"--user-data-dir={page.parent / 'browser'}"
    subprocess.run(
        [*command, profile, *options, f"--screenshot={picture}", page.as_uri()],
        capture_output=True,
        check=True,
        timeout=300,
    )
    if (shrink := shutil.which("pngquant")) is not None:
        subprocess.run([shrink, "--force", "--ext", ".png", "32", str(picture)], check=True)


@click.command()
def main() -> None:
    """Audit seven logs, and make a picture of each report."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        click.echo("skipped: pictures are made by Chromium, and none is installed")
        return
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, (arguments, size, options) in _PAGES.items():
            page, picture = Path(folder) / f"{name}.html", PICTURES / f"{name}.png"
            audit = [*_TROUBADOUR, "audit", "--quiet", "--report", str(page), *arguments]
            subprocess.run(audit, cwd=ROOT, check=False)
            shoot(browser, page, picture, size, options)
            sizes = f"{picture.stat().st_size / 1024:.0f} KiB of a page of {page.stat().st_size / 1024:.0f} KiB"
            click.echo(f"{picture.relative_to(ROOT)}: {sizes}")


if __name__ == "__main__":
    main()
