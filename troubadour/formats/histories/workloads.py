"""What the operations of Jepsen's workloads do, as operations of an object log: list-append, rw-register, long fork,
bank, counter, set, compare-and-set register and mutex.

The workload is told by the names of the operations and the shape of their values. Does not know files, processes or
times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.formats.histories.imported import Json, brief, scalar

Ops = list[list[Any]]


class Refused(Exception):
    """An operation that the workload does not have. `number` is its event, None where it is the whole history's."""

    def __init__(self, text: str, number: int | None = None) -> None:
        super().__init__(text)
        self.number = number


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a client. `asked` is the invocation's value, `answered` the completion's where `told`."""

    number: int
    function: str | None
    status: str
    asked: Any
    answered: Any
    told: bool

    @property
    def value(self) -> Any:
        """What is known of it."""
        return self.answered if self.told else self.asked

    def refuse(self, text: str) -> Refused:
        """An error about this operation."""
        return Refused(text, self.number)


@dataclass(frozen=True, slots=True)
class Workload:
    """`header` has the objects and their initial values; `ops` gives an operation's, and raises Refused."""

    name: str
    header: Json
    ops: Callable[[Operation], Ops]
    notes: tuple[str, ...] = field(default=())


def workload_of(operations: Sequence[Operation]) -> Workload:
    """Raises Refused where no workload has these operations."""
    functions = {operation.function for operation in operations}
    if all(_is_transaction(operation) for operation in operations):
        return _transactions(operations)
    for name, (needs, make) in _BY_FUNCTIONS.items():
        if functions <= needs | {"read"} and (functions & needs or name == "bank"):
            found = make(operations)
            if found is not None:
                return found
    shown = ", ".join(sorted(str(function) for function in functions))
    raise Refused(
        f"no workload that is known has the operations {shown}: transactions of append, w and r, bank, counter, set, "
        "compare-and-set register and mutex are"
    )


# --- transactions of micro-operations -------------------------------------------------------------------------------


def _is_transaction(operation: Operation) -> bool:
    return _are_micro(operation.asked if operation.asked is not None else operation.answered)


def _are_micro(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(one, (list, tuple)) and len(one) in (2, 3) and one[0] in ("append", "w", "r") for one in value
    )


def _transactions(operations: Iterable[Operation]) -> Workload:
    kinds: set[str] = set()
    lists = False
    for operation in operations:
        for one in operation.value if _are_micro(operation.value) else ():
            kinds.add(str(one[0]))
            lists |= one[0] == "r" and len(one) == 3 and isinstance(one[2], (list, tuple))
    if {"append", "w"} <= kinds:
        raise Refused("append and w in one history: a key is a list or a register")
    if "append" in kinds or ("w" not in kinds and lists):
        return Workload("list-append", {"objects": {"l": "list"}}, _micro_ops("l", lists=True))
    return Workload("rw-register", {"objects": {"kv": "register"}}, _micro_ops("kv", lists=False))


def _micro_ops(table: str, *, lists: bool) -> Callable[[Operation], Ops]:
    def ops(operation: Operation) -> Ops:
        asked, answered = operation.asked or (), operation.value or ()
        if not _are_micro(answered):
            raise operation.refuse(f"no operations of append, w and r: {brief(answered)}")
        if asked and len(asked) != len(answered):
            raise operation.refuse("the completion has other operations than the invocation")
        return [_micro(operation, table, one, lists) for one in answered]

    return ops


def _micro(operation: Operation, table: str, one: Sequence[Any], lists: bool) -> list[Any]:
    kind, key = str(one[0]), one[1]
    if kind != "r":
        if len(one) != 3:
            raise operation.refuse(f"{kind} without its value: {brief(one)}")
        return [kind, table, scalar(key), scalar(one[2])]
    if not operation.told:
        return ["r", table, scalar(key)]
    if len(one) != 3:
        raise operation.refuse(f"an :ok read without its value: {brief(one)}")
    value = one[2]
    if lists:
        if value is not None and not isinstance(value, (list, tuple)):
            raise operation.refuse(f"a list was read as {brief(value)}")
        return ["r", table, scalar(key), [scalar(each) for each in value or ()]]
    if isinstance(value, (list, tuple)):
        raise operation.refuse(f"a register was read as {brief(value)}")
    return ["r", table, scalar(key), None if value is None else scalar(value)]


# --- bank -----------------------------------------------------------------------------------------------------------


def _bank(operations: Sequence[Operation]) -> Workload | None:
    if not all(
        operation.function == "transfer" or operation.value is None or isinstance(operation.value, Mapping)
        for operation in operations
    ):
        return None
    accounts: dict[int | str, None] = {}
    for operation in operations:
        if operation.function == "transfer":
            value = operation.value
            if not isinstance(value, Mapping) or not {"from", "to", "amount"} <= set(value):
                raise operation.refuse(f"a transfer without :from, :to and :amount: {brief(value)}")
            accounts.update({_account(value["from"]): None, _account(value["to"]): None})
        elif operation.told:
            accounts.update(dict.fromkeys(map(_account, operation.value or ())))

    def ops(operation: Operation) -> Ops:
        value = operation.value
        if operation.function == "transfer":
            amount = _integer(operation, value["amount"])
            moved = [(_account(value["from"]), -amount), (_account(value["to"]), amount)]
            return [["inc", "accounts", account, change] for account, change in moved]
        if not operation.told:
            return [["r", "accounts", account] for account in accounts]
        balances = {_account(account): balance for account, balance in (value or {}).items()}
        return [["r", "accounts", each, _integer(operation, balance)] for each, balance in balances.items()]

    notes = ("what the accounts held at first is not told by the history: any balances",)
    return Workload("bank", {"objects": {"accounts": "counter"}, "initial": {"accounts": "unknown"}}, ops, notes)


def _account(name: object) -> int | str:
    """JSON has names of accounts as texts where a read lists them, and as numbers in transfers."""
    if isinstance(name, str) and name.lstrip("-").isdigit():
        return int(name)
    return scalar(name)


def _integer(operation: Operation, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise operation.refuse(f"no whole number: {brief(value)}")


# --- counter and set: `add` and `read` of one object ------------------------------------------------------------------


def _counter(operations: Sequence[Operation]) -> Workload | None:
    whole = all(
        operation.value is None or (isinstance(operation.value, int) and not isinstance(operation.value, bool))
        for operation in operations
    )
    adds = [operation.asked for operation in operations if operation.function != "read"]
    read = any(operation.function == "read" and operation.told for operation in operations)
    if not whole or not (read or len(set(adds)) < len(adds)):
        return None

    def ops(operation: Operation) -> Ops:
        if operation.function == "read":
            return [["r", "c", 0, _integer(operation, operation.value)]] if operation.told else [["r", "c", 0]]
        sign = -1 if operation.function in ("decr", "decrement") else 1
        return [["inc", "c", 0, sign * _integer(operation, operation.asked)]]

    return Workload("counter", {"objects": {"c": "counter"}}, ops)


def _set(operations: Sequence[Operation]) -> Workload | None:
    reads = [operation for operation in operations if operation.function == "read" and operation.told]
    if not all(operation.value is None or isinstance(operation.value, (list, tuple)) for operation in reads):
        return None

    def ops(operation: Operation) -> Ops:
        if operation.function == "add":
            return [["add", "s", 0, scalar(operation.asked)]]
        return [["r", "s", 0, [scalar(one) for one in operation.value or ()]]] if operation.told else [["r", "s", 0]]

    return Workload("set", {"objects": {"s": "set"}}, ops)


# --- registers with compare and set, and locks ------------------------------------------------------------------------


def _cas_register(operations: Sequence[Operation]) -> Workload | None:
    keyed = _is_keyed(operations)

    def ops(operation: Operation) -> Ops:
        key: int | str = 0
        asked, answered = operation.asked, operation.value
        if keyed:
            if not _is_pair(answered) or answered[0] != asked[0]:
                raise operation.refuse(f"no key and value: {brief(answered)}")
            key, asked, answered = scalar(asked[0]), asked[1], answered[1]
        if operation.function == "read":
            if not operation.told:
                return [["r", "kv", key]]
            if isinstance(answered, (list, tuple, Mapping)):
                raise operation.refuse(f"a register was read as {brief(answered)}")
            return [["r", "kv", key, None if answered is None else scalar(answered)]]
        if operation.function == "write":
            return [["w", "kv", key, scalar(asked)]]
        if not _is_pair(asked):
            raise operation.refuse(f"a cas is of an old and a new value, not {brief(asked)}")
        old, new = asked
        read = ["r", "kv", key, None if old is None else scalar(old)] if operation.told else ["r", "kv", key]
        return [read, ["w", "kv", key, scalar(new)]]

    notes = ("a compare-and-set of unknown outcome is taken to have written if it happened",)
    return Workload("compare-and-set register", {"objects": {"kv": "register"}}, ops, notes)


def _is_pair(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2


def _is_keyed(operations: Sequence[Operation]) -> bool:
    """Whether each operation is of one of several registers, as `jepsen.independent` has them: its value is a pair of
    the key and what it would be alone."""
    if not all(_is_pair(operation.asked) for operation in operations):
        return False
    reads = [operation.asked for operation in operations if operation.function == "read"]
    swaps = [operation.asked for operation in operations if operation.function == "cas"]
    told = all(value is None for _, value in reads) and all(_is_pair(value) for _, value in swaps)
    return told and bool(reads or swaps)


def _mutex(operations: Sequence[Operation]) -> Workload | None:
    def ops(operation: Operation) -> Ops:
        before, after = (0, 1) if operation.function == "acquire" else (1, 0)
        read = ["r", "lock", 0] if operation.status == "aborted" else ["r", "lock", 0, before]
        return [read, ["w", "lock", 0, after]]

    header = {"objects": {"lock": "register"}, "initial": {"lock": {"default": 0}}}
    return Workload("mutex", header, ops)


_BY_FUNCTIONS: Mapping[str, tuple[frozenset[str | None], Callable[[Sequence[Operation]], Workload | None]]] = {
    "bank": (frozenset({"transfer"}), _bank),
    "counter": (frozenset({"add", "increment", "decr", "decrement"}), _counter),
    "set": (frozenset({"add"}), _set),
    "compare-and-set register": (frozenset({"write", "cas"}), _cas_register),
    "mutex": (frozenset({"acquire", "release"}), _mutex),
}
