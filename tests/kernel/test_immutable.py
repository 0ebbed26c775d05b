"""What the kernel hands out can't be changed by who gets it."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import msgspec
import pytest

import turnlog.kernel
from turnlog.kernel import Restored


def _structs() -> list[type[msgspec.Struct]]:
    names = [module.name for module in iter_modules(turnlog.kernel.__path__, "turnlog.kernel.")]
    defined = [thing for name in names for thing in vars(import_module(name)).values()]
    structs = {
        thing.__name__: thing
        for thing in defined
        if isinstance(thing, type)
        and issubclass(thing, msgspec.Struct)
        and thing.__module__ in names
        and not thing.__name__.startswith("_")
    }
    return [structs[name] for name in sorted(structs)]


# Restored is given to one caller, to go on with.
@pytest.mark.parametrize("struct", [each for each in _structs() if each is not Restored])
def test_a_value_of_the_kernel_is_frozen(struct: type[msgspec.Struct]) -> None:
    assert struct.__struct_config__.frozen
