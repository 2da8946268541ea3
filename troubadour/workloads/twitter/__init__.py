"""The Twitter benchmark with the mix of the paper (§8; that of Cobra and Viper): NewTweet 20, Follow 40, Timeline 10,
ShowFollow 10, ShowTweets 20. Does not know how it is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

from sql_semantics.records import dataclass
from troubadour.record import Draws, Logic
from troubadour.record.runs.workload import Rows
from troubadour.workloads.texts import DialectName, Drawn, Mode, Scripted
from troubadour.workloads.twitter.client import ROUTINES
from troubadour.workloads.zipf import zipf

_WORDS = ("ah", "bright", "cold", "dawn", "early", "fog", "grey", "hill", "in", "june")


@dataclass(frozen=True, slots=True)
class Twitter(Scripted):
    """A `troubadour.record.Workload` of `users`, with `tweets` each to begin with; the user that acts is drawn by
    Zipf's law with exponent 0.5, the user that is followed with exponent 1."""

    folder = Path(__file__).parent
    dialect: DialectName = "postgres"
    mode: Mode = "procedures"
    users: int = 1000
    tweets: int = 10
    seed: int = 0

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Their columns."""
        return {
            "users": ("id", "name", "info", "follows"),
            "tweets": ("id", "author", "data"),
            "last_tweets": ("author", "tweet"),
            "following": ("follower", "followee", "since", "active"),
            "followers": ("followee", "follower", "since", "active"),
        }

    def rows(self) -> Iterable[Rows]:
        """Users, their first tweets (ids from 1 up, in turns), and no followers."""
        random = Random(f"{self.seed}/twitter")
        users = range(1, self.users + 1)
        yield "users", self.tables["users"], [(user, f"user{user}", f"info of {user}", 0) for user in users]
        count = self.users * self.tweets
        tweets = [(n + 1, n % self.users + 1, _text(random)) for n in range(count)]
        yield "tweets", self.tables["tweets"], tweets
        if self.tweets:
            last = [(user, count - self.users + user) for user in users]
            yield "last_tweets", self.tables["last_tweets"], last

    def draw(self, random: Draws) -> Logic:
        """One transaction of the mix."""
        user = zipf(random, self.users, 0.5)
        kind = random.random() * 100
        if kind < 20:
            tweet = self.users * self.tweets + random.fresh()
            drawn: Drawn = ("new_tweet", user, tweet, _text(random))
        elif kind < 60:
            drawn = ("follow", user, zipf(random, self.users, 1.0), random.randint(0, 1), random.fresh())
        elif kind < 70:
            drawn = ("timeline", user)
        elif kind < 80:
            drawn = ("show_follow", user)
        else:
            drawn = ("show_tweets", user)
        return ROUTINES.logic(self.mode, self.dialect, drawn)


def _text(random: Random) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(random.randint(3, 18)))
