"""Pictures of six reports in docs/pictures, from a headless Chromium: ``python -m benchmarks.anomalies.screenshots``.

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
_PAGES = {
    "write-skew": (["--isolation", "serializable", "logs/anomalies/write-skew.jsonl"], "1200,1600", []),
    "long-fork-dark": (["--isolation", "snapshot", "logs/anomalies/long-fork.jsonl"], "1200,2000", [_DARK]),
    "postgres-read-committed": (
        ["--isolation", "snapshot", "--order", "recorded", "logs/anomalous/postgres-read-committed.jsonl.gz"],
        "1200,2300",
        [],
    ),
    "lost-commits": (
        ["--isolation", "strict-snapshot", "logs/crashed/postgres-asynchronous-commit.jsonl.gz"],
        "1200,2100",
        [],
    ),
    "correct": (
        ["--isolation", "postgres:repeatable-read", "logs/contended/postgres-snapshot-10.jsonl.gz"],
        "1200,1900",
        [],
    ),
    "narrow": (["--isolation", "snapshot", "logs/anomalies/lost-update.jsonl"], "500,2000", []),
}
"""What is audited, the size of the window, options of the browser."""


def shoot(browser: str, page: Path, picture: Path, size: str, options: list[str]) -> None:
    """Make a picture of a page."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}"]
    subprocess.run(
        [*command, *options, f"--screenshot={picture}", page.as_uri()], capture_output=True, check=True, timeout=120
    )
    if (shrink := shutil.which("pngquant")) is not None:
        subprocess.run([shrink, "--force", "--ext", ".png", "32", str(picture)], check=True)


@click.command()
def main() -> None:
    """Audit six logs, and make a picture of each report."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise click.ClickException("no Chromium is installed")
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
