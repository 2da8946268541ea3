"""langgraph's checkpoints: threads that are saved and read again. `python langgraph_threads.py setup|run URL`."""

import sys

from langgraph.checkpoint.base import empty_checkpoint

URL = sys.argv[2]
if URL.startswith("sqlite"):
    import sqlite3

    from langgraph.checkpoint.sqlite import SqliteSaver

    saver = SqliteSaver(sqlite3.connect(URL.removeprefix("sqlite://"), check_same_thread=False))
else:
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    saver = PostgresSaver(psycopg.connect(URL, autocommit=True, prepare_threshold=0, row_factory=dict_row))
saver.setup()
for thread in range(3 if sys.argv[1] == "run" else 0):
    config = {"configurable": {"thread_id": f"t{thread}", "checkpoint_ns": ""}}
    for step in range(3):
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"count": step, "notes": [f"n{step}"]}
        checkpoint["channel_versions"] = {"count": step + 1, "notes": step + 1}
        versions = checkpoint["channel_versions"]
        config = saver.put(config, checkpoint, {"source": "loop", "step": step, "writes": {}}, versions)
        saver.put_writes(config, [("count", step + 1), ("notes", "more")], f"task{step}")
    found = saver.get_tuple({"configurable": {"thread_id": f"t{thread}", "checkpoint_ns": ""}})
    assert found.checkpoint["channel_values"]["count"] == 2
    assert len(list(saver.list({"configurable": {"thread_id": f"t{thread}"}}))) == 3
if sys.argv[1] == "run":
    assert len(list(saver.list(None, filter={"step": 1}))) == 3
    saver.delete_thread("t0")
    assert saver.get_tuple({"configurable": {"thread_id": "t0"}}) is None
