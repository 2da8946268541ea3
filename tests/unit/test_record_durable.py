"""With `durable` an intent is on the disk when `append` returns, and one call goes there for all threads that wait."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from troubadour.record.core.journal import Journal


def journal(folder: Path) -> Journal:
    path = folder / "log.jsonl"
    path.write_text('{"format":"troubadour-log","version":1,"dialect":"sqlite","schema":[]}\n')
    return Journal(path, "", durable=True)


def test_an_intent_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(os, "fdatasync", calls.append)
    log = journal(tmp_path)
    log.append((0, 1, b"SELECT 1"))
    assert len(calls) == 1
    log.durable = False
    log.append((0, 2, b"SELECT 2"))
    assert len(calls) == 1
    log.close()


def test_one_call_is_for_all_that_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, go_on = threading.Event(), threading.Event()
    calls: list[int] = []

    def slow(file: int) -> None:
        calls.append(file)
        under_way.set()
        go_on.wait(30)

    monkeypatch.setattr(os, "fdatasync", slow)
    log = journal(tmp_path)
    threads = [threading.Thread(target=log.append, args=((0, n, b"SELECT 1"),)) for n in range(9)]
    threads[0].start()
    assert under_way.wait(30)
    for thread in threads[1:]:
        thread.start()
    while log._frames < len(threads):  # all are written, and wait for the disk
        threading.Event().wait(0.01)
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(calls) == 2
    log.durable = False
    log.close()
