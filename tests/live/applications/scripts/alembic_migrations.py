"""alembic: a table is made, filled, changed, and taken back. `python alembic_migrations.py setup|run URL`."""

import sys

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

engine = sa.create_engine(sys.argv[2])


def step(change):
    with engine.begin() as connection:
        change(Operations(MigrationContext.configure(connection)), connection)


def first(op, connection):
    op.create_table(
        "users",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(40), nullable=False),
    )
    op.create_index("ix_users_name", "users", ["name"], unique=True)


def second(op, connection):
    connection.execute(sa.text("INSERT INTO users (id, name) VALUES (1, 'ann'), (2, 'bob')"))
    op.add_column("users", sa.Column("age", sa.Integer, server_default="18", nullable=False))


def third(op, connection):
    connection.execute(sa.text("UPDATE users SET age = age + 1 WHERE name = 'bob'"))
    op.alter_column("users", "name", new_column_name="full_name")


def fourth(op, connection):
    assert connection.execute(sa.text("SELECT age FROM users WHERE full_name = 'bob'")).scalar() == 19
    op.drop_index("ix_users_name", "users")
    op.drop_column("users", "age")


if sys.argv[1] == "run":
    for change in (first, second, third, fourth):
        step(change)
    with engine.connect() as connection:
        assert len(connection.execute(sa.text("SELECT id, full_name FROM users ORDER BY id")).all()) == 2
engine.dispose()
