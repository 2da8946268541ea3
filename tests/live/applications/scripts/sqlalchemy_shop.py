"""SQLAlchemy's ORM: customers and orders. `python sqlalchemy_shop.py setup|run URL`."""

import sys
from datetime import datetime
from decimal import Decimal
from threading import Thread

from sqlalchemy import DateTime, ForeignKey, Numeric, String, create_engine, func, select, update
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    credit: Mapped[Decimal] = mapped_column(Numeric(12, 2), default=0)
    orders: Mapped[list["Order"]] = relationship(back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"))
    item: Mapped[str] = mapped_column(String(40))
    paid: Mapped[bool] = mapped_column(default=False)
    at: Mapped[datetime | None] = mapped_column(DateTime)
    customer: Mapped[Customer] = relationship(back_populates="orders")


engine = create_engine(sys.argv[2])


def setup():
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add_all([Customer(name=f"customer {n}", credit=100) for n in range(4)])


def work(me):
    for n in range(10):
        try:
            with Session(engine) as session, session.begin():
                customer = session.scalars(select(Customer).where(Customer.name == f"customer {(me + n) % 4}")).one()
                customer.orders.append(Order(item=f"item {n}", at=datetime(2024, 1, 1 + n)))
                customer.credit -= 1
            with Session(engine) as session, session.begin():
                session.execute(update(Customer).values(credit=Customer.credit + 2).where(Customer.id == 1 + n % 4))
                try:
                    with session.begin_nested():
                        session.add(Customer(name="customer 1"))
                        session.flush()
                except IntegrityError:
                    pass
            with Session(engine) as session:
                found = session.scalars(select(Customer).options(selectinload(Customer.orders)).order_by(Customer.id))
                [len(customer.orders) for customer in found]
                session.execute(
                    select(Customer.name, func.count(Order.id)).join(Customer.orders).group_by(Customer.name)
                ).all()
            with Session(engine) as session, session.begin():
                order = session.scalars(select(Order).where(Order.paid.is_(False)).limit(1).with_for_update()).first()
                if order is not None and n % 3 == 0:
                    session.delete(order)
                elif order is not None:
                    order.paid = True
        except OperationalError:
            pass


def run():
    threads = [Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.dispose()


{"setup": setup, "run": run}[sys.argv[1]]()
