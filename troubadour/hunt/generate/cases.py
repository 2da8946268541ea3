"""Seeded random cases: transactions of several sessions over random tables, and the order of their statements.

Two flavours: *wide* draws from the whole grammar of statements, *hot* has plain statements that meet on the same few
rows. Does not know any engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.hunt.case import ALONE, BEGIN, END, STATEMENT, Case, Step
from troubadour.hunt.generate.definitions import Defined, Definitions, changes, is_routine
from troubadour.hunt.generate.fragment import Fragment, plain_library
from troubadour.hunt.generate.generator import Generator
from troubadour.hunt.generate.hot import Hot
from troubadour.hunt.generate.pieces import Piece, piece
from troubadour.hunt.generate.seldom import Seldom

ALONE_WIDE = "wide alone"
"""One session and many statements, nearly each a transaction by itself: for answers that are wrong by themselves.
In one of eight a table has many rows."""
FLAVOURS = (
    "wide", "hot", "wide", "hot skew", "hot wal", "wide", "hot impatient", "hot skew wal", "hot free", "hot changing",
    ALONE_WIDE,
)  # fmt: skip
EVERY = "hot every"
"""Of two sessions with a transaction each: it is run in every order of their statements."""
_TRIES = 20
"""Statements drawn for one that is modelled."""
_CHOICES = 3
"""Statements of which one is taken."""
_BEGIN = {"postgres": "BEGIN", "mysql": "START TRANSACTION", "sqlite": "BEGIN", "duckdb": "BEGIN TRANSACTION"}


def make(
    seed: int,
    dialect: str,
    level: str,
    sessions: int,
    disturbances: Sequence[str] = (),
    seldom: Seldom | None = None,
    library: Callable[[Sequence[str], Sequence[str]], SqlLibrary] | None = None,
) -> Case:
    """The case of a seed. `disturbances`: roles of steps that are no statements, of which some cases have some.
    `seldom`: what was drawn before; what a case is hangs on that, too. `library` is made of a schema and routines, and
    tells which statements are modelled."""
    random = Random(f"{seed}/{dialect}/{level}/{sessions}")
    flavour = _flavour(seed, sessions)
    is_wide, alone = "wide" in flavour, flavour == ALONE_WIDE
    plainness = random.choice((0, 0, 1, 2)) if is_wide else random.choice((1, 2, 2))
    many = alone and random.random() < 0.12
    generator, defined, fragment = _schema(random, dialect, plainness, many, library or plain_library(dialect))
    number = 1 if alone else min(sessions, 1 + seed % sessions) if is_wide else sessions
    hot = Hot(random, dialect, generator.tables)
    features = {flavour}
    wide = _modelled(random, generator, defined, fragment, seldom or Seldom(), features)
    used = _used(random, defined, features)

    def draw() -> Piece:
        return wide() if is_wide else used() or hot.statement()

    scripts: list[list[Step]] = []
    transaction = 0
    for session in range(number):
        script: list[Step] = []
        for _ in range(1 if flavour == EVERY else 24 if alone else random.randint(2, 6 if number > 1 else 12)):
            transaction += 1
            if alone and random.random() < 0.85:
                script += _by_itself(random, dialect, session, transaction, draw())
                continue
            skewed = "skew" in flavour or (flavour == EVERY and random.random() < 0.5)
            drawn = hot.skewed() if skewed else [draw() for _ in range(random.randint(2, 3))]
            script += _transaction(random, dialect, session, transaction, drawn)
        scripts.append(script)
    if "changing" in flavour:
        texts = changes(random, dialect, generator.tables)
        scripts.append([Step(number, transaction + n, ALONE, piece(text)) for n, text in enumerate(texts, 1)])
        transaction += len(texts)
    if flavour == EVERY or "free" in flavour:
        disturbances = ()
    steps = _disturbed(random, _merged(random, scripts), transaction, disturbances)
    extra = (*(generator.views if is_wide else ()), *defined.texts)
    features |= {" ".join(text.split()[: 3 if "UNIQUE" in text else 2]) for text in extra}
    return Case(level, tuple(generator.tables), extra, steps, seed, flavour, frozenset(features))


def _flavour(seed: int, sessions: int) -> str:
    if sessions == 1 and seed % 4:
        return ALONE_WIDE
    return EVERY if sessions == 2 and seed % 4 == 1 else FLAVOURS[seed % len(FLAVOURS)]


def _schema(
    random: Random,
    dialect: str,
    plainness: int,
    many: bool,
    library: Callable[[Sequence[str], Sequence[str]], SqlLibrary],
) -> tuple[Generator, Defined, Fragment]:
    """Tables that are modelled; plainer ones where the first are not. Definitions beside them only where they are."""
    while True:
        generator = Generator(random.randrange(1 << 30), dialect, plainness, wider=True, many=many)
        schema = [*(table.ddl() for table in generator.tables), *generator.views]
        defined = Definitions(random, dialect, generator.tables).drawn()
        for each in (defined, Defined((), ())):
            routines = [text for text in each.texts if is_routine(text)]
            try:
                beside = [text for text in each.texts if text not in routines]
                return generator, each, Fragment(library([*schema, *beside], routines))
            except Unsupported:
                continue
        plainness = 2 if plainness == 2 else plainness + 1


def _used(random: Random, defined: Defined, features: set[str]) -> Callable[[], Piece | None]:
    """Now and then a statement that needs what is defined."""

    def use() -> Piece | None:
        if not defined.uses or random.random() > 0.2:
            return None
        name, made = random.choice(defined.uses)
        features.add(name)
        return made()

    return use


def _modelled(
    random: Random, generator: Generator, defined: Defined, fragment: Fragment, seldom: Seldom, features: set[str]
) -> Callable[[], Piece]:
    """From the whole grammar, as far as it is modelled; of several the one with the seldomest construct."""
    use = _used(random, defined, features)

    def draw() -> Piece:
        if (made := use()) is not None:
            return made
        for _ in range(_TRIES):
            chosen = seldom.pick(random, [generator.statement() for _ in range(_CHOICES)])
            if fragment.has(str(chosen.piece)):
                break
        features.update(chosen.features)
        return chosen.piece

    return draw


def _transaction(random: Random, dialect: str, session: int, number: int, drawn: Sequence[Piece]) -> list[Step]:
    def step(role: str, text: Piece) -> Step:
        return Step(session, number, role, text)

    if random.random() < 0.2:
        return _by_itself(random, dialect, session, number, drawn[0])
    begin = _BEGIN[dialect]
    if dialect == "sqlite" and random.random() < 0.3:
        begin += random.choice((" IMMEDIATE", " EXCLUSIVE", " DEFERRED"))
    made = [step(BEGIN, piece(begin))]
    points = 0
    for text in drawn:
        if dialect != "duckdb" and random.random() < 0.06:
            points += 1
            made.append(step(STATEMENT, piece(f"SAVEPOINT p{points}")))
        made.append(step(STATEMENT, text))
        if points and random.random() < 0.4:
            made.append(step(STATEMENT, piece(f"ROLLBACK TO SAVEPOINT p{points}")))
    made.append(step(END, piece("COMMIT" if random.random() < 0.88 else "ROLLBACK")))
    return made


def _by_itself(random: Random, dialect: str, session: int, number: int, text: Piece) -> list[Step]:
    """A statement that is a transaction. A CALL of MariaDB is several, which are not judged, so that nearly each is
    drawn with BEGIN and COMMIT."""
    if dialect != "mysql" or not str(text).startswith("CALL") or random.random() < 0.02:
        return [Step(session, number, ALONE, text)]
    texts = ((BEGIN, piece(_BEGIN[dialect])), (STATEMENT, text), (END, piece("COMMIT")))
    return [Step(session, number, role, each) for role, each in texts]


def _disturbed(random: Random, steps: tuple[Step, ...], last: int, disturbances: Sequence[str]) -> tuple[Step, ...]:
    """With something between them that is no statement, in one case of three."""
    if not disturbances or random.random() > 0.34:
        return steps
    found = list(steps)
    for number in range(random.choice((1, 1, 2))):
        role = random.choice(disturbances)
        step = Step(random.choice(steps).session, last + 1 + number, role, piece(f"-- {role}"))
        found.insert(random.randrange(1, len(found)), step)
    return tuple(found)


def _merged(random: Random, scripts: list[list[Step]]) -> tuple[Step, ...]:
    """One order of all steps: a session goes on for a while, then another one."""
    left = [script for script in scripts if script]
    merged: list[Step] = []
    while left:
        script = random.choice(left)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            if script:
                merged.append(script.pop(0))
        if not script:
            left.remove(script)
    return tuple(merged)
