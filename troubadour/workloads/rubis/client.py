"""RUBiS's transactions as a client's statements. Does not know how the arguments were drawn."""

from __future__ import annotations

from decimal import Decimal

from troubadour.workloads.texts import Client, Routines, integer


def register_user(client: Client, user: int, first: str, last: str, nick: str, region: str, created: int) -> None:
    """A user and a rating, unless the nickname is taken."""
    found = client.rows("SELECT id FROM regions WHERE name = $1", region)
    if not found or client.rows("SELECT id FROM users WHERE nickname = $1", nick):
        return
    if client.rows("SELECT nickname FROM users WHERE id = $1", user):
        return
    client.write(
        "INSERT INTO users (id, first_name, last_name, nickname, password, email, balance, created, region)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        *(user, first, last, nick, f"password{user}", f"{nick}@rubis.com", user * Decimal("2241215.1241"), created),
        found[0][0],
    )
    client.write("INSERT INTO ratings (user_id, rating) VALUES ($1, $2)", user, user % 5)


def register_item(
    client: Client, item: int, seller: int, name: str, price: Decimal, quantity: int, step: int, category: int
) -> None:
    """An item of a seller who exists."""
    found = client.rows("SELECT nickname FROM users WHERE id = $1", seller)
    if found:
        client.write(
            "INSERT INTO items (id, name, description, initial_price, quantity, reserve_price, buy_now, nb_of_bids,"
            " max_bid, seller, category) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 10, $8, $9)",
            *(item, name, f"by {found[0][0]}", price, quantity, price + step, price, seller, category),
        )


def store_buy_now(client: Client, purchase: int, buyer: int, item: int, quantity: int) -> None:
    """Take from an item's stock what was read, minus what is bought; stock may be negative."""
    found = client.locked("SELECT quantity FROM items WHERE id = $1", item)
    if found:
        client.write("UPDATE items SET quantity = $1 WHERE id = $2", integer(found[0][0]) - quantity, item)
        client.write(
            "INSERT INTO buy_now (id, buyer, item, qty) VALUES ($1, $2, $3, $4)", purchase, buyer, item, quantity
        )


def store_comment(client: Client, comment: int, source: int, target: int, item: int, text: str) -> None:
    """A comment, and the rating that it gives, set without having been read."""
    client.write(
        "INSERT INTO comments (id, from_user, to_user, item, rating, comment) VALUES ($1, $2, $3, $4, $5, $6)",
        *(comment, source, target, item, comment % 5, text),
    )
    if client.rows("SELECT nickname FROM users WHERE id = $1", target):
        client.write("UPDATE ratings SET rating = $1 WHERE user_id = $2", comment % 5, target)


def random_browse(client: Client, category: int, first: int, *chosen: int) -> None:
    """Twelve items of a category with their sellers' ratings, then five items and three ratings: `chosen`."""
    client.rows(
        "SELECT i.id, i.name, i.buy_now, i.quantity, r.rating FROM items i LEFT JOIN ratings r ON r.user_id = i.seller"
        " WHERE i.category = $1 AND i.id >= $2 ORDER BY i.id LIMIT 12",
        category,
        first,
    )
    client.rows(
        "SELECT id, name, buy_now, quantity FROM items WHERE id IN ($1, $2, $3, $4, $5) ORDER BY id", *chosen[:5]
    )
    client.rows("SELECT user_id, rating FROM ratings WHERE user_id IN ($1, $2, $3) ORDER BY user_id", *chosen[5:])


ROUTINES = Routines(
    {
        "register_user": register_user,
        "register_item": register_item,
        "store_buy_now": store_buy_now,
        "store_comment": store_comment,
        "random_browse": random_browse,
    },
    rows={"register_user", "register_item", "store_buy_now", "random_browse"},
)
