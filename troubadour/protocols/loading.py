"""A protocol by the name that a user gives: a shipped one, or ``file.py:Class``. Does not know what is done with it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from troubadour.protocols import language
from troubadour.protocols.language import Model, Protocol, read_model
from troubadour.protocols.terms import ModelError

SHIPPED = {
    "s2pl": ("troubadour.protocols.models.s2pl", "S2PL"),
    "eiger-port-plus": ("troubadour.protocols.models.eiger_port_plus", "EigerPortPlus"),
    "eiger-port": ("troubadour.protocols.models.eiger_port", "EigerPort"),
    "tapir": ("troubadour.protocols.models.tapir", "Tapir"),
    "tapir-conference": ("troubadour.protocols.models.tapir", "TapirConference"),
}
"""The shipped protocols: module and class."""


def load_model(name: str) -> Model:
    """Raises ModelError where there is none or where its text cannot be used."""
    if name in SHIPPED:
        module, owner = SHIPPED[name]
        return read_model(getattr(importlib.import_module(module), owner))
    path, _, wanted = name.rpartition(":")
    if not path or not path.endswith(".py"):
        raise ModelError(f"unknown protocol {name!r}: known are {', '.join(SHIPPED)}, or file.py:Class")
    found = vars(_module(Path(path))).get(wanted)
    if not (isinstance(found, type) and issubclass(found, Protocol)):
        raise ModelError(f"{path} has no protocol {wanted!r}")
    return read_model(found)


def _module(path: Path) -> ModuleType:
    """The file, run with the language's names known to it."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror}") from error
    module = ModuleType("protocol_file")
    module.__file__ = str(path)
    vars(module).update({one: getattr(language, one) for one in language.__all__})
    # a class is asked for its source by way of its module
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, str(path), "exec"), vars(module))
    except ModelError:
        raise
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(f"{path}: {said}") from error
    return module
