"""Texts of logs and verdicts for rich: without what would steer a terminal. Does not know where they stand."""

from __future__ import annotations

from rich.text import Text

from troubadour.model.visible import visible


def plain(text: str, style: str = "") -> Text:
    """A text in one style."""
    return Text(visible(text), style)
