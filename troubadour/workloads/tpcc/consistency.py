"""The consistency conditions of TPC-C 5.11, clause 3.3.2, as queries that count what breaks them; they always hold.

The eleventh holds for the first rows of a full database only, and is left out. Does not know which server is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

_DISTRICTS = "SELECT count(*) FROM district WHERE "
_PER_DISTRICT = "(SELECT {} FROM {} WHERE {}_w_id = d_w_id AND {}_d_id = d_id)"
_DELIVERED = (
    "(SELECT coalesce(sum(ol_amount), 0) FROM orders, order_line WHERE o_w_id = c_w_id AND o_d_id = c_d_id"
    " AND o_c_id = c_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_delivery_d IS NOT NULL)"
)
CONDITIONS: Mapping[str, str] = {
    "3.3.2.1": "SELECT count(*) FROM warehouse WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)",
    "3.3.2.2, orders": _DISTRICTS + "d_next_o_id - 1 <> " + _PER_DISTRICT.format("max(o_id)", "orders", "o", "o"),
    "3.3.2.2, new orders": _DISTRICTS
    + "d_next_o_id - 1 <> "
    + _PER_DISTRICT.format("max(no_o_id)", "new_order", "no", "no"),
    "3.3.2.3": _DISTRICTS
    + _PER_DISTRICT.format("max(no_o_id) - min(no_o_id) + 1 - count(*)", "new_order", "no", "no")
    + " <> 0",
    "3.3.2.4": _DISTRICTS
    + _PER_DISTRICT.format("sum(o_ol_cnt)", "orders", "o", "o")
    + " <> "
    + _PER_DISTRICT.format("count(*)", "order_line", "ol", "ol"),
    "3.3.2.5": "SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id "
    "AND no_o_id = o_id WHERE (o_carrier_id IS NULL AND no_o_id IS NULL)"
    " OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)",
    "3.3.2.6": "SELECT count(*) FROM orders WHERE o_ol_cnt <> (SELECT count(*) FROM order_line"
    " WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id)",
    "3.3.2.7": "SELECT count(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id"
    " WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL)"
    " OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)",
    "3.3.2.8": "SELECT count(*) FROM warehouse WHERE w_ytd <> (SELECT sum(h_amount) FROM history WHERE h_w_id = w_id)",
    "3.3.2.9": _DISTRICTS + "d_ytd <> " + _PER_DISTRICT.format("sum(h_amount)", "history", "h", "h"),
    "3.3.2.10": "SELECT count(*) FROM customer WHERE c_balance <> "
    + _DELIVERED
    + " - (SELECT coalesce(sum(h_amount), 0) FROM history"
    " WHERE h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id)",
    "3.3.2.12": "SELECT count(*) FROM customer WHERE c_balance + c_ytd_payment <> " + _DELIVERED,
}
"""Each counts warehouses, districts, customers, orders or lines; where a side is of no rows (a district without new
orders) the condition says nothing, as the comparison with NULL does."""


class _Cursor(Protocol):
    def execute(self, sql: Any, /) -> object: ...

    def fetchall(self) -> Any: ...


def violated(cursor: _Cursor) -> dict[str, int]:
    """The conditions that do not hold, each with how many rows break it."""
    broken = {}
    for clause, sql in CONDITIONS.items():
        cursor.execute(sql)
        ((count,),) = cursor.fetchall()
        if count:
            broken[clause] = count
    return broken
