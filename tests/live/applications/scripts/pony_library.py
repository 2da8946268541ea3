"""Pony ORM on SQLite. `python pony_library.py setup|run URL`."""

import sys
from urllib.parse import urlsplit

from pony.orm import Database, Optional, PrimaryKey, Required, Set, commit, count, db_session, rollback, select

db = Database()


class Author(db.Entity):
    id = PrimaryKey(int, auto=True)
    name = Required(str, unique=True)
    books = Set("Book")


class Book(db.Entity):
    id = PrimaryKey(int, auto=True)
    title = Required(str)
    year = Optional(int)
    author = Required(Author)


db.bind(provider="sqlite", filename=urlsplit(sys.argv[2]).path, create_db=True)
db.generate_mapping(create_tables=sys.argv[1] == "setup")

if sys.argv[1] == "setup":
    with db_session:
        for n in range(3):
            Author(name=f"author {n}")
else:
    for n in range(12):
        with db_session:
            author = Author.get(name=f"author {n % 3}")
            Book(title=f"book {n}", year=2000 + n, author=author)
            commit()
            list(select(b for b in Book if b.year > 2005 and b.author.name == "author 1"))
            count(b for b in Book)
        with db_session:
            book = Book.select().order_by(Book.id).first()
            book.year += 1
            if n % 3 == 0:
                rollback()
