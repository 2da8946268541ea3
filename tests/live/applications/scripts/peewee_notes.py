"""peewee. `python peewee_notes.py setup|run URL`."""

import sys
from threading import Thread

from peewee import BooleanField, CharField, ForeignKeyField, IntegerField, IntegrityError, Model, fn
from playhouse.db_url import connect

database = connect(sys.argv[2])


class Base(Model):
    class Meta:
        database = database


class Person(Base):
    name = CharField(unique=True)
    score = IntegerField(default=0)


class Note(Base):
    person = ForeignKeyField(Person, backref="notes")
    text = CharField()
    read = BooleanField(default=False)


def setup():
    database.create_tables([Person, Note])
    Person.insert_many([{"name": f"person {n}"} for n in range(4)]).execute()


def work(me):
    database.connect(reuse_if_open=True)
    for n in range(8):
        with database.atomic():
            person = Person.get(Person.name == f"person {(me + n) % 4}")
            Note.create(person=person, text=f"note {n}")
            Person.update(score=Person.score + 1).where(Person.id == person.id).execute()
        try:
            with database.atomic():
                Person.create(name="person 1")
        except IntegrityError:
            pass
        list(Note.select().where(Note.read == False).order_by(Note.id).limit(5))  # noqa: E712
        list(Person.select(Person.name, fn.COUNT(Note.id).alias("n")).join(Note).group_by(Person.name))
        Note.update(read=True).where(Note.text == f"note {n}").execute()
    Note.delete().where(Note.read == True).execute()  # noqa: E712
    database.close()


def run():
    threads = [Thread(target=work, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


{"setup": setup, "run": run}[sys.argv[1]]()
