"""A small ORM application, which does not know that it is recorded."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlalchemy import Engine, ForeignKey, Numeric, String, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(40))
    credit: Mapped[Decimal] = mapped_column(Numeric(12, 2))
    orders: Mapped[list[Order]] = relationship(back_populates="customer")


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"))
    item: Mapped[str] = mapped_column(String(40))
    customer: Mapped[Customer] = relationship(back_populates="orders")


def sell(engine: Engine) -> list[Any]:
    """Customers, orders, an error in a savepoint, a rollback, a statement under autocommit."""
    seen: list[Any] = []
    with Session(engine) as session:
        session.add_all([Customer(id=n, name=f"customer {n}", credit=Decimal(10 * n)) for n in range(3, 6)])
        session.commit()
    with Session(engine) as session:
        customer = session.scalars(select(Customer).where(Customer.name == "customer 3")).one()
        customer.orders.append(Order(id=1, item="ü"))
        session.flush()
        try:
            with session.begin_nested():
                session.execute(insert(Order).values(id=1, item="again", customer_id=3))
        except IntegrityError:
            seen.append("refused")
        seen += [order.item for order in session.scalars(select(Order))]
        session.commit()
    with Session(engine) as session:
        session.execute(update(Customer).values(credit=Customer.credit + 1).where(Customer.id < 5))
        session.rollback()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(update(Customer).values(credit=1).where(Customer.id == 5))
        seen.append(connection.execute(select(Customer.credit).where(Customer.id == 5)).scalar())
    return seen
