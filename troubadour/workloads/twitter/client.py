"""Twitter's transactions as a client's statements. Does not know how the arguments were drawn."""

from __future__ import annotations

from sql_semantics.products import PRODUCTS
from troubadour.workloads.texts import Client, Routines, integer

FOLLOWED = "SELECT followee FROM following WHERE follower = $1 AND active = 1 ORDER BY followee LIMIT 20"


def new_tweet(client: Client, user: int, tweet: int, data: str) -> None:
    """A tweet, which becomes its author's last."""
    client.write("INSERT INTO tweets (id, author, data) VALUES ($1, $2, $3)", tweet, user, data)
    client.write("UPDATE last_tweets SET tweet = $1 WHERE author = $2", tweet, user)


def follow(client: Client, source: int, target: int, active: int, since: int) -> None:
    """Follow, or follow no more: both directions are kept, and the number of those followed where it changes."""
    found = client.locked("SELECT active FROM following WHERE follower = $1 AND followee = $2", source, target)
    before = integer(found[0][0]) if found else 0
    for table, first, second in (("following", source, target), ("followers", target, source)):
        key = ("follower", "followee") if table == "following" else ("followee", "follower")
        insert = f"INSERT INTO {table} ({key[0]}, {key[1]}, since, active) VALUES ($1, $2, $3, $4)"
        if PRODUCTS[client.dialect].running.upserts_on_conflict:
            change = f" ON CONFLICT ({key[0]}, {key[1]}) DO UPDATE SET since = excluded.since, active = excluded.active"
        else:
            change = " ON DUPLICATE KEY UPDATE since = VALUES(since), active = VALUES(active)"
        client.write(insert + change, first, second, since, active)
    if before != active:
        client.write("UPDATE users SET follows = follows + $1 WHERE id = $2", active - before, source)


def show_follow(client: Client, user: int) -> None:
    """The first twenty who are followed."""
    client.rows(
        "SELECT f.followee, u.name, f.since FROM following f JOIN users u ON u.id = f.followee"
        " WHERE f.follower = $1 AND f.active = 1 ORDER BY f.followee LIMIT 20",
        user,
    )


def timeline(client: Client, user: int) -> None:
    """The last tweet of each of the first twenty who are followed, one by one."""
    for (followee,) in client.rows(FOLLOWED, user):
        client.rows(
            "SELECT t.author, t.id, t.data FROM last_tweets l JOIN tweets t ON t.id = l.tweet WHERE l.author = $1",
            followee,
        )


def show_tweets(client: Client, user: int) -> None:
    """A user's last ten."""
    client.rows("SELECT id, data FROM tweets WHERE author = $1 ORDER BY id DESC LIMIT 10", user)


ROUTINES = Routines(
    {
        "new_tweet": new_tweet,
        "follow": follow,
        "show_follow": show_follow,
        "timeline": timeline,
        "show_tweets": show_tweets,
    },
    rows={"show_follow", "timeline", "show_tweets"},
)
