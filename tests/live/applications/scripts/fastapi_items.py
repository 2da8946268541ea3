"""FastAPI over SQLAlchemy's asyncio. `python fastapi_items.py setup|run URL`."""

import asyncio
import sys

import httpx
from fastapi import FastAPI, HTTPException
from sqlalchemy import String, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    stock: Mapped[int] = mapped_column(default=0)


engine = create_async_engine(sys.argv[2])
sessions = async_sessionmaker(engine, expire_on_commit=False)
app = FastAPI()


@app.post("/items/{name}")
async def create(name: str):
    async with sessions() as session:
        session.add(Item(name=name))
        try:
            await session.commit()
        except IntegrityError as error:
            raise HTTPException(409) from error
    return {"name": name}


@app.post("/items/{name}/take")
async def take(name: str):
    async with sessions() as session, session.begin():
        item = (await session.scalars(select(Item).where(Item.name == name).with_for_update())).one_or_none()
        if item is None:
            raise HTTPException(404)
        item.stock -= 1
        return {"stock": item.stock}


@app.get("/items")
async def items():
    async with sessions() as session:
        return [item.name for item in await session.scalars(select(Item).order_by(Item.name))]


async def setup():
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    await engine.dispose()


async def client(me):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://shop") as browser:
        for n in range(10):
            await browser.post(f"/items/item-{(me + n) % 5}")
            await browser.post(f"/items/item-{n % 5}/take")
            assert (await browser.get("/items")).status_code == 200


async def run():
    await asyncio.gather(client(0), client(1), client(2))
    await engine.dispose()


asyncio.run({"setup": setup, "run": run}[sys.argv[1]]())
