"""The statements of a script for mysqltest, MariaDB's and MySQL's own test driver (its manual, "mysqltest Language").

What hangs on the driver's variables, connections and files is left out. Does not know what a statement says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMANDS = frozenset(
    [
        "append_file",
        "assert",
        "cat_file",
        "change_user",
        "character_set",
        "chmod",
        "connect",
        "connection",
        "copy_file",
        "copy_files_wildcard",
        "dec",
        "delimiter",
        "die",
        "diff_files",
        "dirty_close",
        "disable_abort_on_error",
        "disable_connect_log",
        "disable_info",
        "disable_metadata",
        "disable_parsing",
        "disable_ps_protocol",
        "disable_query_log",
        "disable_reconnect",
        "disable_result_log",
        "disable_rpl_parse",
        "disable_warnings",
        "disable_view_protocol",
        "disable_cursor_protocol",
        "disable_ps2_protocol",
        "disable_column_names",
        "disconnect",
        "echo",
        "enable_abort_on_error",
        "enable_connect_log",
        "enable_info",
        "enable_metadata",
        "enable_parsing",
        "enable_ps_protocol",
        "enable_query_log",
        "enable_reconnect",
        "enable_result_log",
        "enable_rpl_parse",
        "enable_warnings",
        "enable_view_protocol",
        "enable_cursor_protocol",
        "enable_ps2_protocol",
        "enable_column_names",
        "end",
        "error",
        "eval",
        "eval_error",
        "evalp",
        "exec",
        "exec_in_background",
        "execw",
        "exit",
        "file_exists",
        "horizontal_results",
        "if",
        "inc",
        "let",
        "list_files",
        "lowercase_result",
        "mkdir",
        "move_file",
        "perl",
        "ping",
        "query_attributes",
        "query_get_value",
        "query_horizontal",
        "query_vertical",
        "real_sleep",
        "reap",
        "remove_file",
        "remove_files_wildcard",
        "replace_column",
        "replace_numeric_round",
        "replace_regex",
        "replace_result",
        "require",
        "reset_connection",
        "result_format",
        "rmdir",
        "save_master_pos",
        "send",
        "send_eval",
        "send_quit",
        "send_shutdown",
        "shutdown_server",
        "skip",
        "sleep",
        "sorted_result",
        "partially_sorted_result",
        "source",
        "start_timer",
        "sync_slave_with_master",
        "sync_with_master",
        "system",
        "vertical_results",
        "wait_for_slave_to_stop",
        "while",
        "write_file",
        "optimizer_trace",
    ]
)
_DELIMITER = re.compile(r"(?:--\s*)?delimiter\s+(\S.*)", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def statements(text: str) -> Iterator[str]:
    """Those that are sent as they are written."""
    delimiter, parts = ";", ""
    for line in text.splitlines():
        bare = line.strip()
        if not parts.strip():
            parts = ""
            found = _DELIMITER.fullmatch(bare)
            if found is not None:
                delimiter = found[1].removesuffix(delimiter).strip() or delimiter
                continue
            if not bare or bare.startswith(("#", "--", "}", "{")):
                continue
        parts += line + "\n"
        while (end := _end(parts, delimiter)) is not None:
            sql, parts = parts[:end].strip(), parts[end + len(delimiter) :]
            if sql and _is_sent(sql):
                yield sql
            if not parts.strip():
                parts = ""


def _is_sent(sql: str) -> bool:
    word = _WORD.match(sql)
    return word is not None and word[0].lower() not in _COMMANDS and "$" not in sql


def _end(text: str, delimiter: str) -> int | None:
    """Where the first statement ends: at a delimiter that stands in no quotes and in no comment."""
    place, quote = 0, ""
    while place < len(text):
        letter = text[place]
        if quote:
            if letter == "\\" and quote != "`":
                place += 1
            elif letter == quote:
                quote = ""
        elif text.startswith(delimiter, place):
            return place
        elif letter in "'\"`":
            quote = letter
        elif letter == "#" or text.startswith("-- ", place):
            place = text.find("\n", place)
            if place < 0:
                return None
        elif text.startswith("/*", place) and not text.startswith("/*!", place):
            place = text.find("*/", place) + 1
            if place < 1:
                return None
        place += 1
    return None
