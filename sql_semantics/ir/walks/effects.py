"""What running a statement may do beyond answering: write, call routines. Does not know how it is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sql_semantics.ir.definitions import EXISTING, ChangeIndex, ChangeTables, CreateTable, DropTable
from sql_semantics.ir.expressions import Expr, Invoke
from sql_semantics.ir.programs import Loop, RangeLoop, RowLoop
from sql_semantics.ir.queries import BaseTable, FunctionScan, Identified, Query, Select, Source, order_expression
from sql_semantics.ir.reach import Reach
from sql_semantics.ir.routines import Routine
from sql_semantics.ir.schema import Catalog, Fired, Table, Trigger
from sql_semantics.ir.statements import (
    Call,
    Delete,
    Insert,
    JoinedWrite,
    Merge,
    Procedure,
    Release,
    RollbackTo,
    Savepoint,
    Statement,
    Together,
    Truncate,
    Update,
    Write,
)
from sql_semantics.ir.walks.nesting import expressions_of, nested
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.ir.walks.traverse import columns_read, has_free, has_subquery
from sql_semantics.view import Acting


def routines_in(node: object) -> Iterator[Routine]:
    """The user-defined functions that a statement or expression calls in its expressions, subqueries included."""
    for part in walk_parts(node):
        if isinstance(part, Invoke | FunctionScan):
            yield part.routine


def comes_apart(statement: Statement, catalog: Catalog) -> bool:
    """Whether it is a CALL that may run more than one statement which looks at tables or writes: outside a transaction
    each of these is one by itself in MySQL."""
    return isinstance(statement, Call) and _accesses(statement, catalog, frozenset()) > 1


def _accesses(statement: Statement, catalog: Catalog, callers: frozenset[str]) -> int:
    """How often a statement of a routine may look at tables; 2 stands for more."""
    inner = () if isinstance(statement, Together) else tuple(nested(statement))
    if isinstance(statement, Call) and (procedure := catalog.procedures.get(statement.procedure)) is not None:
        if procedure.name in callers:
            return 2
        inner, callers = procedure.body, callers | {procedure.name}
        catalog = catalog if procedure.routine is None else procedure.routine.catalog
    if not inner:
        return int(bool(touched_tables(statement, catalog)))
    found = sum(map(_looks_at_tables, expressions_of(statement)))
    found += sum(_accesses(each, catalog, callers) for each in inner)
    return 2 * found if isinstance(statement, Loop | RangeLoop | RowLoop) else found


def _looks_at_tables(expression: Expr) -> bool:
    return any(isinstance(part, BaseTable | Identified | Invoke | FunctionScan) for part in walk_parts(expression))


def acting_of(query: Query) -> Acting:
    """Whether a query locks the rows that it reads: all of it, none, or parts."""
    locking = {part.locking for part in walk_parts(query) if isinstance(part, Select)}
    return "reads" if True not in locking else "locks" if locking == {True} else "mixed"


def within(acting: Acting, caller: Acting | None) -> Acting:
    """What an execution does that began in a function which `caller` calls (None: in none). MySQL has it lock what it
    reads where the calling statement is no SELECT, a locking one neither (tried on MariaDB 10.11)."""
    if caller is None or acting not in ("reads", "evaluates"):
        return acting
    return "reads" if caller in ("reads", "locks", "mixed") else "acts"


def writing_of(write: Write) -> Acting:
    """Whether a write locks what it reads, for certain."""
    plain = isinstance(write, Insert) and write.query is not None and acting_of(write.query) == "reads"
    return "inserts" if plain else "acts"


def looks_once(statement: Statement, catalog: Catalog) -> bool:
    """Whether each execution in a statement that writes or locks, those in routines that it calls too, refers to one
    table and to that once: it comes by each row only once."""
    inner = _in_routines(statement, catalog)
    return all(references(each) <= 1 for each in (statement, *inner) if _acts(each))


def looks_again(statement: Statement, catalog: Catalog) -> bool:
    """Whether what an execution that writes or locks does to a row may hang on an older version of that row than the
    one that it takes, where conditions are tested again on the newest one: by subqueries and outer joins, which are not
    looked into again, by the order in which rows are found, or by their number."""
    inner = _in_routines(statement, catalog)
    return any(_hangs_on_what_was_found(part) for each in (statement, *inner) for part in _acting(each))


def _acting(statement: object) -> Iterator[Select | Write]:
    if isinstance(statement, Write) and writing_of(statement) == "acts":
        yield statement
    for part in walk_parts(statement):
        if isinstance(part, Select) and part.locking:
            yield part


def found_by(statement: Statement, catalog: Catalog) -> Iterator[tuple[str, frozenset[int] | None]]:
    """The tables of whose rows an execution in a statement writes or locks those that it finds, with the columns of the
    indexes by which it may look for them: the one that has the rows, and those of a column that it looks at (None: it
    may be any column, as an index of the table is not known)."""
    for each in (statement, *_in_routines(statement, catalog)):
        for part in _acting(each):
            match part:
                case Update(table=name) | Delete(table=name):
                    read = [part.where, *(key.expression for key in part.order)]
                    yield name, _indexed(catalog, name, _columns(read))
                case Select(sources=(Source(relation=BaseTable(name)),)) if part.where is None:
                    yield name, _indexed(catalog, name, None)
                case Select(sources=(Source(relation=BaseTable(name)),)):
                    keys = part.order if part.groups is None else ()
                    order = [order_expression(key, part.outputs) for key in keys]
                    yield name, _indexed(catalog, name, _columns([part.where, *order, *(part.groups or ())]))


def looked_up_once(statement: Statement, catalog: Catalog) -> dict[str, bool]:
    """The tables of which a statement's plain queries may look rows up by a unique key beside the clustered one, so
    that InnoDB takes the first row that has it for the only one. True where it may rely on that otherwise, too: in
    DISTINCT, groups, subqueries, and what is not followed so far."""
    if isinstance(statement, Write):
        return {}
    found: dict[str, bool] = {}
    for each in executions(statement, catalog):
        for name in {part.name for part in walk_parts(each) if isinstance(part, BaseTable | Identified)}:
            table = catalog.tables.get(name)
            keys = () if table is None else [key.columns for key in table.keys if key.columns != table.clustered]
            if keys and not (isinstance(each, Select) and _only_lists(each, frozenset().union(*keys))):
                found[name] = found.get(name, False) or each is not statement or not _only_joins(each)
    return found


def _only_lists(select: Select, key: frozenset[int]) -> bool:
    """Whether a query goes through one table without looking at some columns but to show them."""
    plain = not (select.distinct or select.groups or has_subquery(select)) and len(select.sources) == 1
    if not plain or not isinstance(select.sources[0].relation, BaseTable):
        return False
    looked_at = [select.where, *(order_expression(order, select.outputs) for order in select.order)]
    return key.isdisjoint(_columns(looked_at))


def _only_joins(statement: Statement) -> bool:
    """Whether a query joins tables, and shows or counts what it finds."""
    if not isinstance(statement, Select) or statement.distinct or statement.groups or has_subquery(statement):
        return False
    return all(isinstance(source.relation, BaseTable) for source in statement.sources)


def _columns(expressions: Iterable[Expr | None]) -> frozenset[int]:
    return frozenset().union(*(columns_read(each) for each in expressions if each is not None))


def _indexed(catalog: Catalog, name: str, looked_at: frozenset[int] | None) -> frozenset[int] | None:
    """The columns of the indexes by which InnoDB may come to rows of a table of which some columns are looked at (None:
    all). A constraint that is not modelled, or an index that is made or lost in the log, may be any index."""
    table = catalog.tables[name]
    places = {column.name: place for place, column in enumerate(table.columns)}
    named = {column for index in table.indexes for column in index}
    if table.loose or not named <= places.keys() or any("INDEX" in text.upper() for text in catalog.changes):
        return None
    indexes = [frozenset(key.columns) for key in table.keys]
    indexes += [frozenset(key.columns) for key in table.foreign_keys]
    indexes += [frozenset(places[column] for column in index) for index in table.indexes]
    wide = [_with_bases(table, index) for index in indexes]
    used = [index for index in wide if looked_at is None or index & looked_at]
    return _with_bases(table, frozenset(table.clustered)).union(*used)


def _with_bases(table: Table, columns: frozenset[int]) -> frozenset[int]:
    """Columns with those that generated ones among them are computed from."""
    generated = [table.columns[place].generated for place in columns]
    return columns | _columns(generated)


def columns_set(statement: Statement, catalog: Catalog) -> Iterator[tuple[str, frozenset[int]]]:
    """The tables of which a statement may update rows, with the columns that it sets."""
    for each in executions(statement, catalog):
        for table, action, columns in _row_changes(each, catalog):
            if action == "update" and columns is not None:
                every = sets_others(table, catalog)
                yield table, frozenset(range(len(catalog.tables[table].columns))) if every else columns


def columns_moved(statement: Statement, catalog: Catalog) -> Iterator[tuple[str, frozenset[int]]]:
    """The tables of which a statement may move rows in an index, with the columns that it sets: all of those of a row
    that it replaces."""
    yield from columns_set(statement, catalog)
    for each in executions(statement, catalog):
        if isinstance(each, Insert) and each.conflict is not None and each.conflict.action == "replace":
            yield each.table, frozenset(range(len(catalog.tables[each.table].columns)))


def _hangs_on_what_was_found(acting: Select | Write) -> bool:
    if isinstance(acting, Merge) or has_subquery(acting):
        return True
    if isinstance(acting, Select) and (acting.order or acting.limit is not None or acting.offset is not None):
        return True
    return any(isinstance(part, Source) and part.kind in ("left", "right", "full") for part in walk_parts(acting))


def _acts(statement: object) -> bool:
    if isinstance(statement, Query):
        return acting_of(statement) != "reads"
    return not isinstance(statement, Write) or writing_of(statement) == "acts"


def references(statement: object) -> int:
    """How many references to tables it has, its own target included."""
    references = sum(isinstance(part, BaseTable | Identified) for part in walk_parts(statement))
    writes = nested(statement) if isinstance(statement, Together) else (statement,)
    return references + sum(isinstance(write, Update | Delete) for write in writes)


def meets_twice(statement: Statement, catalog: Catalog) -> bool:
    """Whether a statement, or one in a routine that it calls, both writes or locks rows of a table and reads that
    table, or one tied to it by a foreign key, by itself: it may then meet one row in two versions."""
    inner = _in_routines(statement, catalog)
    return any(_meets_twice(each, catalog) for each in (statement, *inner))


def _meets_twice(statement: object, catalog: Catalog) -> bool:
    read: list[str] = []
    acted: list[str] = []
    for part in walk_parts(statement):
        match part:
            case BaseTable(name) | Identified(name):
                read.append(name)
            case Insert() | Update() | Delete():
                acted.append(part.table)
            case Merge(table=table):
                acted.append(table)
            case JoinedWrite():
                acted += [target.table for target in part.targets]
            case Select() if part.locking:
                acted += [s.relation.name for s in part.sources if isinstance(s.relation, BaseTable)]
    own = 0 if isinstance(statement, Insert | Update | Delete | Together) else 1
    for name in acted:
        tied = [child.name for child, _ in catalog.references_to(name)]
        tied += [key.parent for key in catalog.tables[name].foreign_keys] if name in catalog.tables else []
        if read.count(name) > own or any(other in read for other in tied):
            return True
    return False


def _in_routines(statement: Statement, catalog: Catalog) -> Iterator[Statement]:
    """The statements of all routines that a statement may run, each that is an execution of its own by itself."""
    return (each for routine in reached([statement], catalog) for inner in routine.body for each in _executions(inner))


def executions(statement: Statement, catalog: Catalog) -> Iterator[Statement]:
    """The statement, its parts, and those of the routines that it may run."""
    for each in (statement, *_in_routines(statement, catalog)):
        yield each
        yield from nested(each)


def _executions(statement: Statement) -> Iterator[Statement]:
    """The statements inside a control statement, and it itself where its own expressions lock rows; any other by
    itself."""
    inner = () if isinstance(statement, Together) else tuple(nested(statement))
    own = tuple(expressions_of(statement))
    if not inner or any(isinstance(part, Select) and part.locking for part in walk_parts(own)):
        yield statement
    for each in inner:
        yield from _executions(each)


def reached(statements: Iterable[Statement], catalog: Catalog) -> list[Procedure]:
    """Every routine that the statements call, and those that these call, each once."""
    found: dict[str, Procedure] = {}
    pending = [called(statement, catalog) for statement in statements]
    while pending:
        for procedure in pending.pop():
            if procedure.name not in found:
                found[procedure.name] = procedure
                inner = catalog if procedure.routine is None else procedure.routine.catalog
                pending += [called(statement, inner) for statement in procedure.body]
    return list(found.values())


def reached_by_calls(statement: Statement, catalog: Catalog) -> list[Procedure]:
    """Every routine that a statement's expressions call, and those that these reach; not what triggers run after it."""
    found = [routine.procedure for routine in routines_in(statement) if routine.procedure is not None]
    return [*found, *reached([inner for procedure in found for inner in procedure.body], catalog)]


def called(statement: Statement, catalog: Catalog) -> list[Procedure]:
    """The routines that a statement calls itself, by triggers too."""
    routines = [*routines_in(statement), *(trigger.routine for trigger in triggers_of(statement, catalog))]
    found = [routine.procedure for routine in routines if routine.procedure is not None]
    if isinstance(statement, Call) and statement.procedure in catalog.procedures:
        found.append(catalog.procedures[statement.procedure])
    for inner in nested(statement):
        found += called(inner, catalog)
    return found


def triggers_of(statement: Statement, catalog: Catalog) -> list[Trigger]:
    """The triggers that are run by what a statement writes itself, or by what foreign keys do about that; not by
    statements inside it."""
    if not catalog.triggers:
        return []
    found: dict[str, Trigger] = {}
    for name, action, columns in _row_changes(statement, catalog):
        for trigger in catalog.triggers.get(name, ()):
            sets = action != "update" or trigger.columns is None or columns is None or trigger.columns & columns
            if action in trigger.events and sets:
                found[trigger.construct] = trigger
    return list(found.values())


def changed_tables(statement: Statement, catalog: Catalog) -> frozenset[str]:
    """The tables with rows that a statement writes itself, or by what foreign keys do about that."""
    return frozenset(name for name, _, _ in _row_changes(statement, catalog))


def sets_others(table: str, catalog: Catalog) -> bool:
    """Whether an update of a table may set other columns than it names, as a trigger before it may."""
    return any(trigger.before and "update" in trigger.events for trigger in catalog.triggers.get(table, ()))


def reach_of_trigger(trigger: Trigger, catalog: Catalog) -> Reach:
    """What a trigger may change that is run, with those that are not run and what they do."""
    body = () if trigger.routine.procedure is None else trigger.routine.procedure.body
    written = written_tables(body, catalog)
    reach = Reach(rows=frozenset(name for name, _ in written), harmless=True)
    for name, event in sorted(written):
        for fired in catalog.tables[name].fires:
            reach = reach | fired.reach if fired.event == event else reach
    return reach


def _row_changes(statement: Statement, catalog: Catalog) -> Iterator[tuple[str, str, frozenset[int] | None]]:
    """Table, action and, of an update, the columns that are set, of what a statement may do to rows and foreign keys
    about that."""
    pending = list(_own_changes(statement))
    seen = set(pending)
    while pending:
        change = pending.pop()
        yield change
        for child, key in catalog.references_to(change[0]) if change[1] in ("update", "delete") else ():
            acts = {"delete": key.on_delete, "update": key.on_update}[change[1]]
            if acts in ("no action", "restrict"):
                continue
            deletes = change[1] == "delete" and acts == "cascade"
            further = (child.name, "delete", None) if deletes else (child.name, "update", frozenset(key.columns))
            if further not in seen:
                seen.add(further)
                pending.append(further)


def _own_changes(statement: Statement) -> Iterator[tuple[str, str, frozenset[int] | None]]:
    match statement:
        case Insert(table=name, conflict=conflict):
            yield name, "insert", None
            if conflict is not None and conflict.action == "update":
                yield name, "update", frozenset(place for place, _ in conflict.assignments)
            elif conflict is not None and conflict.action == "replace":
                yield name, "delete", None
        case Update(table=name, assignments=assignments):
            yield name, "update", frozenset(place for place, _ in assignments)
        case Delete(table=name):
            yield name, "delete", None
        case JoinedWrite(targets=targets, deletes=deletes):
            for target in targets:
                columns = None if deletes else frozenset(place for place, _ in target.assignments)
                yield target.table, "delete" if deletes else "update", columns
        case Merge(table=name, whens=whens):
            for when in whens:
                columns = frozenset(place for place, _ in when.assignments) if when.action == "update" else None
                yield name, when.action, columns


def gives_up_keys(statement: Statement, catalog: Catalog) -> set[str]:
    """The tables with rows that a statement may delete, or give other unique keys: others may then have theirs."""
    found = {name for name, action in written_tables([statement], catalog) if action == "truncate"}
    for each in executions(statement, catalog):
        for name, action, columns in _row_changes(each, catalog):
            table = catalog.tables.get(name)
            keys = frozenset().union(*(() if table is None else (key.columns for key in table.keys)))
            sets = action == "update" and (
                columns is None or sets_others(name, catalog) or not keys.isdisjoint(columns)
            )
            if action == "delete" or sets:
                found.add(name)
    return found


def writes_itself(statement: Statement) -> bool:
    """Whether a statement writes by itself, not by what it calls."""
    if isinstance(statement, Write | CreateTable | DropTable | ChangeTables | Savepoint | RollbackTo | Release):
        return True
    return any(writes_itself(inner) for inner in nested(statement))


NOT_STRICT = "a value that is stored in place of an error, as sql_mode is not strict"


def can_write(statement: Statement, catalog: Catalog) -> bool:
    """Whether an execution of the statement can write, looking into routines and control flow."""
    if writes_itself(statement):
        return True
    return any(writes_itself(item) for procedure in reached([statement], catalog) for item in procedure.body)


def routine_writes(routine: Routine) -> bool:
    """Whether a call can write."""
    procedure = routine.procedure
    return procedure is None or any(can_write(statement, routine.catalog) for statement in procedure.body)


def draws(statement: Statement, catalog: Catalog) -> bool:
    """Whether running a statement draws a value that the DBMS chooses, in a routine, too."""
    return has_free(statement) or any(has_free(procedure.body) for procedure in reached([statement], catalog))


def answers_once(expr: Expr) -> bool:
    """Whether an expression holds calls of stable functions which give the same answer wherever a statement evaluates
    it, and nothing else that looks into tables. What the DBMS chooses where it has several ways is seen at run time."""
    called_there = list(routines_in(expr))
    return bool(called_there) and not has_subquery(expr) and all(map(_answers_once, called_there))


def _answers_once(routine: Routine) -> bool:
    procedure = routine.procedure
    if procedure is None:
        return False
    all_reached = [procedure, *reached(procedure.body, routine.catalog)]
    return all(
        inner.routine is not None and inner.routine.signature.stable and not has_free(inner.body)
        for inner in all_reached
    )


def written_tables(statements: Iterable[Statement], catalog: Catalog) -> set[tuple[str, str]]:
    """The tables with what executions of the statements may do to their rows (insert, update, delete, truncate): by
    themselves, by the routines that they call, and by the actions of foreign keys."""
    found: set[tuple[str, str]] = set()
    moved: set[tuple[str, str]] = set()
    pending = list(statements)
    pending += [item for procedure in reached(pending, catalog) for item in procedure.body]
    while pending:
        statement = pending.pop()
        pending += nested(statement)
        match statement:
            case Insert(table=name, conflict=conflict):
                found.add((name, "insert"))
                if conflict is not None and conflict.action in ("update", "replace"):
                    found.update(((name, "update"), (name, "delete")))
            case Update(table=name):
                found.add((name, "update"))
            case Delete(table=name):
                found.add((name, "delete"))
            case JoinedWrite(targets=targets, deletes=deletes):
                found.update((target.table, "delete" if deletes else "update") for target in targets)
            case Merge(table=name, whens=whens):
                found.update((name, when.action) for when in whens if when.action != "nothing")
            case Truncate(tables=names):
                found.update((name, "truncate") for name in names)
            case ChangeTables(moves=moves):
                # what goes because its table is another from there on takes nothing along
                moved.update((move.target, "insert") for move in moves if move.target is not None)
                moved.update((move.source, "delete") for move in moves if move.source is not None)
                if any(move.target in catalog.transient or move.source in catalog.transient for move in moves):
                    moved |= {(EXISTING, "insert"), (EXISTING, "delete")}
    open_ = [name for name, action in found if action in ("update", "delete")]
    while open_:
        for child, key in catalog.references_to(open_.pop()):
            if key.acts and (child.name, "cascade") not in found:
                found.update((child.name, action) for action in ("update", "delete", "cascade"))
                open_.append(child.name)
    return moved | {(name, action) for name, action in found if action != "cascade"}


def touched_tables(statement: Statement, catalog: Catalog) -> frozenset[str]:
    """The tables that running a statement looks at or writes to: those that it names, by itself and in the routines
    that it calls, and those that the foreign keys of what it writes to lead to."""
    statements = [statement, *(item for procedure in reached([statement], catalog) for item in procedure.body)]
    found: set[str] = set()
    for part in walk_parts(tuple(statements)):
        match part:
            case BaseTable(name) | Identified(name):
                found.add(name)
            case CreateTable(table=name, reads=reads):
                found |= {name, EXISTING, *(other for other, _ in reads)}
            case DropTable(tables=tables, dependents=dependents):
                found |= {name for name, _ in (*tables, *(each for group in dependents for each in group))}
                found.add(EXISTING)
            case ChangeIndex(table=table, reads=others):
                found |= {name for name in (table, *others) if name is not None}
    for name in {name for name, _ in written_tables(statements, catalog)}:
        found.add(name)
        stored = catalog.tables.get(name)
        found |= set() if stored is None else {key.parent for key in stored.foreign_keys}
        found |= {child.name for child, _ in catalog.references_to(name)}
    return frozenset(found)


def changes_of(statement: Statement, catalog: Catalog) -> Reach:
    """What running a statement that is modelled may change."""
    defined = {name for part in walk_parts(statement) for name in _defined(part)}
    if defined:
        return Reach(rows=frozenset(defined | {EXISTING}), defines=True)
    written = written_tables([statement], catalog)
    alone = isinstance(statement, Update) and {name for name, _ in written} == {statement.table}
    if isinstance(statement, Update) and alone and not sets_others(statement.table, catalog):
        table = catalog.tables[statement.table]
        names = {table.columns[place].name for place, _ in statement.assignments}
        names |= {column.name for column in table.columns if column.generated is not None}
        return Reach(columns=frozenset((statement.table, name) for name in names))
    return Reach(rows=frozenset(name for name, _ in written))


def fired_by(statement: Statement, catalog: Catalog) -> list[Fired]:
    """The triggers that a statement may fire."""
    if not any(table.fires for table in catalog.tables.values()):
        return []
    written = sorted(written_tables([statement], catalog))
    return [fired for name, event in written for fired in catalog.tables[name].fires if fired.event == event]


def _defined(part: object) -> set[str]:
    match part:
        case CreateTable(table=name):
            return {name}
        case DropTable(tables=tables):
            return {name for name, _ in tables}
    return set()
