"""Hash-consed terms that fold on construction (paper §5.3, §5.4 *smp* and *ITE*).

Three kinds of things: `Guard`, a Boolean over opaque atoms and comparisons; `Term`, a non-null scalar over unknowns;
`Cases`, a scalar that is one of several leaves under exclusive guards. Nothing here knows what an atom means or which
solver will see it.
"""

from sql_semantics.terms.evaluation import Assignment, evaluate, evaluate_guard
from sql_semantics.terms.guards import FALSE, TRUE, Guard, atom, conj, disj, metered, neg
from sql_semantics.terms.numbers import Leaf, Term, TermLeaf, add, compare, if_then_else, mul, negate, sub, unknown
from sql_semantics.terms.scalars import (
    CaseBound,
    Cases,
    Scalar,
    choose,
    compact,
    is_concrete,
    ite,
    items_of,
    lift,
    same,
)
from sql_semantics.terms.untold import compared_either_way, either_way

__all__ = [
    "FALSE",
    "TRUE",
    "Assignment",
    "CaseBound",
    "Cases",
    "Guard",
    "Leaf",
    "Scalar",
    "Term",
    "TermLeaf",
    "add",
    "atom",
    "choose",
    "compact",
    "compare",
    "compared_either_way",
    "conj",
    "disj",
    "either_way",
    "evaluate",
    "evaluate_guard",
    "if_then_else",
    "is_concrete",
    "ite",
    "items_of",
    "lift",
    "metered",
    "mul",
    "neg",
    "negate",
    "same",
    "sub",
    "unknown",
]
