"""Tortoise ORM over psycopg. `python tortoise_shop.py setup|run URL`."""

import asyncio
import sys
from contextlib import suppress

from tortoise import Tortoise, fields
from tortoise.exceptions import IntegrityError
from tortoise.expressions import F
from tortoise.functions import Count
from tortoise.models import Model
from tortoise.transactions import in_transaction


class Team(Model):
    id = fields.IntField(primary_key=True)
    name = fields.CharField(max_length=40, unique=True)


class Player(Model):
    id = fields.IntField(primary_key=True)
    team = fields.ForeignKeyField("models.Team", related_name="players")
    score = fields.IntField(default=0)
    active = fields.BooleanField(default=True)


async def work(me):
    for n in range(8):
        team, _ = await Team.get_or_create(name=f"team {(me + n) % 3}")
        async with in_transaction():
            player = await Player.create(team=team, score=n)
            await Player.filter(id=player.id).update(score=F("score") + 1)
        with suppress(IntegrityError):
            await Team.create(name="team 0")
        await Player.filter(team__name="team 0", active=True).order_by("id").limit(5)
        await Team.annotate(size=Count("players")).values("name", "size")
        await player.refresh_from_db()
        player.active = False
        await player.save()


async def main():
    await Tortoise.init(db_url=sys.argv[2], modules={"models": ["__main__"]})
    if sys.argv[1] == "setup":
        await Tortoise.generate_schemas()
    else:
        await asyncio.gather(work(0), work(1))
    await Tortoise.close_connections()


asyncio.run(main())
