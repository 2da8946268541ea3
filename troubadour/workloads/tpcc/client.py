"""TPC-C's transactions as a client's statements (TPC-C 5.11, clauses 2.4 to 2.8). Does not know how the arguments were
drawn."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from troubadour.record import UserRollback
from troubadour.workloads.texts import Client, Routines, integer, number

_CUSTOMER = "c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
_CENT = Decimal("0.01")


def new_order(client: Client, w: int, d: int, c: int, lines: str, now: int) -> None:
    """An order of 5 to 15 lines; rolled back where an item does not exist."""
    ((w_tax,),) = client.rows("SELECT w_tax FROM warehouse WHERE w_id = $1", w)
    ((d_tax, found),) = client.locked("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2", w, d)
    order = integer(found)
    client.write("UPDATE district SET d_next_o_id = $1 WHERE d_w_id = $2 AND d_id = $3", order + 1, w, d)
    ((discount, _, _),) = client.rows(f"SELECT c_discount, c_last, c_credit FROM customer WHERE {_CUSTOMER}", w, d, c)
    wanted = lines_of(lines)
    local = int(all(supply == w for _, supply, _ in wanted))
    client.write(
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)"
        " VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)",
        *(w, d, order, c, now, len(wanted), local),
    )
    client.write("INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)", w, d, order)
    total = Decimal(0)
    for line, (item, supply, quantity) in enumerate(wanted, 1):
        total += _line(client, w, d, order, line, item, supply, quantity)
    # What the customer is told; nothing of it is stored.
    (total * (1 - number(discount)) * (1 + number(w_tax) + number(d_tax))).quantize(_CENT, ROUND_HALF_UP)


def lines_of(text: str) -> list[tuple[int, int, int]]:
    """Item, supplying warehouse and quantity of each line of an order."""
    lines = [text[start : start + 12] for start in range(0, len(text), 12)]
    return [(int(line[:6]), int(line[6:10]), int(line[10:])) for line in lines]


def _line(client: Client, w: int, d: int, order: int, line: int, item: int, supply: int, quantity: int) -> Decimal:
    prices = client.rows("SELECT i_price, i_name, i_data FROM item WHERE i_id = $1", item)
    if not prices:
        raise UserRollback("the item does not exist")
    ((stocked, info),) = client.locked(
        f"SELECT s_quantity, s_dist_{d:02} FROM stock WHERE s_w_id = $1 AND s_i_id = $2", supply, item
    )
    left = integer(stocked) - quantity
    client.write(
        "UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1,"
        " s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5",
        *(left if left >= 10 else left + 91, quantity, int(supply != w), supply, item),
    )
    amount = quantity * number(prices[0][0])
    client.write(
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,"
        " ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)",
        *(w, d, order, line, item, supply, quantity, amount, info),
    )
    return amount


def customer_by_name(client: Client, w: int, d: int, last: str) -> int:
    """The middle one, rounded up, of those with a last name, by first name."""
    found = client.rows(
        "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id", w, d, last
    )
    return integer(found[(len(found) - 1) // 2][0])


def payment(
    client: Client, w: int, d: int, c_w: int, c_d: int, c: int | None, last: str, amount: Decimal, now: int
) -> None:
    """A customer pays; one with bad credit has the payment noted."""
    client.write("UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2", amount, w)
    ((w_name,),) = client.rows("SELECT w_name FROM warehouse WHERE w_id = $1", w)
    client.write("UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3", amount, w, d)
    ((d_name,),) = client.rows("SELECT d_name FROM district WHERE d_w_id = $1 AND d_id = $2", w, d)
    if c is None:
        c = customer_by_name(client, c_w, c_d, last)
    ((balance, credit, data),) = client.locked(
        f"SELECT c_balance, c_credit, c_data FROM customer WHERE {_CUSTOMER}", c_w, c_d, c
    )
    changes = "c_balance = $4, c_ytd_payment = c_ytd_payment + $5, c_payment_cnt = c_payment_cnt + 1"
    values: tuple[object, ...] = (c_w, c_d, c, number(balance) - amount, amount)
    if credit == "BC":
        changes += ", c_data = $6"
        values += (f"{c} {c_d} {c_w} {d} {w} | {data}"[:500],)
    client.write(f"UPDATE customer SET {changes} WHERE {_CUSTOMER}", *values)
    client.write(
        "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        *(c, c_d, c_w, d, w, now, amount, f"{w_name}    {d_name}"),
    )


def order_status(client: Client, w: int, d: int, c: int | None, last: str) -> None:
    """A customer's last order and its lines."""
    if c is None:
        c = customer_by_name(client, w, d, last)
    client.rows(f"SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE {_CUSTOMER}", w, d, c)
    found = client.rows(
        "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3"
        " ORDER BY o_id DESC LIMIT 1",
        *(w, d, c),
    )
    if found:
        client.rows(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line"
            " WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 ORDER BY ol_number",
            *(w, d, found[0][0]),
        )


def delivery(client: Client, w: int, carrier: int, now: int) -> None:
    """The oldest order that is not delivered, of each district."""
    for (d,) in client.rows("SELECT d_id FROM district WHERE d_w_id = $1 ORDER BY d_id", w):
        found = client.locked(
            "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1", w, d
        )
        if not found:
            continue
        key = (w, d, found[0][0])
        client.write("DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3", *key)
        ((c,),) = client.rows("SELECT o_c_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3", *key)
        client.write(
            "UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3", *key, carrier
        )
        lines = "ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3"
        client.write(f"UPDATE order_line SET ol_delivery_d = $4 WHERE {lines}", *key, now)
        ((total,),) = client.rows(f"SELECT sum(ol_amount) FROM order_line WHERE {lines}", *key)
        client.write(
            f"UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 WHERE {_CUSTOMER}",
            *(w, d, c, total),
        )


def stock_level(client: Client, w: int, d: int, threshold: int) -> None:
    """How many items of the last twenty orders are short."""
    ((found,),) = client.rows("SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2", w, d)
    following = integer(found)
    client.rows(
        "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3"
        " AND ol_o_id >= $4 AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $5",
        *(w, d, following, following - 20, threshold),
    )


ROUTINES = Routines(
    {
        "new_order_tx": new_order,
        "payment_tx": payment,
        "order_status_tx": order_status,
        "delivery_tx": delivery,
        "stock_level_tx": stock_level,
    },
    rows={"order_status_tx", "stock_level_tx"},
    out={"new_order_tx": 2, "payment_tx": 1, "delivery_tx": 1},
    rolled_back=frozenset({"P0002", "45000"}),
)
