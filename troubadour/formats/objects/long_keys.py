"""The keys that the operations of a long log name, as they first come, without a look at each operation by itself.

Does not know what is done to them.
"""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

PART = 1 << 20
"""Operations that are looked at at once."""


def as_they_come(subjects: array[int], keys: array[int], objects: int) -> list[list[int]]:
    """The keys of each object, as codes, in the order in which each first comes; columns of all operations."""
    owner, column = np.frombuffer(subjects, np.uint16), np.frombuffer(keys, np.int64)
    if objects == 1:
        return [_of_one(column)]
    return [_of_one(column[owner == number]) for number in range(objects)]


def _of_one(column: npt.NDArray[np.int64]) -> list[int]:
    found = list[int]()
    if not len(column):
        return found
    least, most = int(column.min()), int(column.max())
    if most - least > 2 * len(column):
        codes, first = np.unique(column, return_index=True)
        found += codes[np.argsort(first)].tolist()
        return found
    came = np.zeros(most - least + 1, np.bool_)
    for begin in range(0, len(column), PART):
        part = column[begin : begin + PART] - least
        new, first = np.unique(part[~came[part]], return_index=True)
        came[new] = True
        found += (new[np.argsort(first)] + least).tolist()
    return found
