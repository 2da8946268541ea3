"""Where two versions of a product answer otherwise. Does not know which of them is right."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from troubadour.hunt.schedule import Ran


def disagreement(one: Ran, other: Ran) -> tuple[str, str] | None:
    """What is said of the first statement that the two answered otherwise, and the statement; None where there is
    none. Rows are compared without their order, errors by whether there is one."""
    if one.died is not None or other.died is not None:
        return None
    for line, same in zip(one.lines, other.lines, strict=False):
        for statement, again in zip(line["statements"], same["statements"], strict=False):
            if statement["sql"] != again["sql"]:
                return None  # they went apart before, in what is not compared
            if _answer(statement) != _answer(again):
                told = f"{one.header['dbms']}: {_text(statement)}; {other.header['dbms']}: {_text(again)}"
                return told, str(statement["sql"])
        if line["status"] != same["status"]:
            told = f"{one.header['dbms']}: {line['status']}; {other.header['dbms']}: {same['status']}"
            return told, str(line["statements"][-1]["sql"])
    return None


def _answer(statement: dict[str, Any]) -> object:
    if "error" in statement:
        return "error"
    rows = Counter(json.dumps(row) for row in statement.get("result", {}).get("rows", ()))
    return rows, statement.get("affected")


def _text(statement: dict[str, Any]) -> str:
    if "error" in statement:
        return f"error {statement['error']['sqlstate']}"
    if "result" not in statement:
        return f"{statement.get('affected')} rows affected"
    return json.dumps(statement["result"]["rows"], ensure_ascii=False)[:200]
