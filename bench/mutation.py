"""Mutants of the kernel, each against its tests: `python -m bench.mutation [MODULE[:LINE] ...]`.

Prints a line a module, then every survivor as a diff. Exits with 1 where the tests fail without any
mutant, or there is none; survivors are for a person to judge: docs/mutation.md.

The tests are collected once. For each mutant a fork swaps the code of the changed function and runs
the tests that reach its lines, the quickest first, until one fails. A change outside of functions
is imported in a fork of a process that has not imported the kernel. No mutant is written to a file.
"""

from __future__ import annotations

import difflib
import gc
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from tempfile import TemporaryFile
from types import CodeType, FunctionType
from typing import NamedTuple

import coverage
import pytest
from hypothesis import Phase, settings

from bench.mutants import Mutant, mutants_of

__all__ = ["main"]

_KERNEL = Path("schemas/turnlog/kernel").resolve()
_PACKAGE = "turnlog.kernel"
_TESTS = [*sorted(map(str, Path("tests/kernel").glob("test_*.py"))), "tests/laws/test_laws.py"]
_PYTEST = ["-x", "-q", "-s", "-p", "no:cacheprovider", "--tb=native"]
_PYTEST += ["-p", "no:tests.broker.plugin", "-p", "no:tests.conformance.options"]
_PYTEST += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is imported before
_SLOWER = 3
"""A test hangs that takes `_GRACE_S` and so many times what it took without a mutant.

All in CPU time: a busy machine hangs nothing.
"""
_GRACE_S = 2.0
_ANEW_S = 120.0
_MEMORY_BYTES = 3 << 30
_FATES = {0: "survived", 1: "killed", 2: "hung", 3: "unreached"}
_SURVIVED, _KILLED, _HUNG, _UNREACHED = _FATES


class _Baseline(NamedTuple):
    """The tests that reach a line of a file, and how long each takes without a mutant."""

    reached: dict[tuple[str, int], set[str]]
    seconds: dict[str, float]


class _Profile:
    """Every run draws the same examples, and none is shrunk: that it failed is enough."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        phases = (Phase.explicit, Phase.generate)
        usual = settings.default
        settings.register_profile("mutation", usual, derandomize=True, database=None, phases=phases)
        settings.load_profile("mutation")


class _Swapped(_Profile):
    """In place of pytest's loop: the tests without a mutant, then those of each mutant in a fork.

    `done` hears of each mutant's fate, in order.
    """

    def __init__(self, mutants: Sequence[Mutant], done: Callable[[Mutant, int], None]) -> None:
        self._mutants = mutants
        self._done = done
        self.failed = False

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed("the tests can't be collected")
        baseline = self._unchanged(session.items)
        if self.failed:
            raise session.Failed("a test fails without a mutant")
        live = _live_functions()
        items = sorted(session.items, key=lambda item: baseline.seconds[item.nodeid])
        gc.freeze()
        for mutant in self._mutants:
            lines = {mutant.head, *range(mutant.first, mutant.last + 1)}
            file = str(_path(mutant.module))
            reaching = set[str]().union(*(baseline.reached[file, line] for line in lines))
            chosen = [item for item in items if item.nodeid in reaching]
            chosen.sort(key=lambda item: f"test_{mutant.module}" not in item.nodeid)
            attempt = partial(self._try, mutant, chosen, live, baseline)
            self._done(mutant, _forked(attempt) if chosen else _UNREACHED)
        return True

    def _unchanged(self, items: Iterable[pytest.Item]) -> _Baseline:
        reached: dict[tuple[str, int], set[str]] = defaultdict(set)
        seconds: dict[str, float] = {}
        cover = coverage.Coverage(data_file=None, config_file=False, include=[f"{_KERNEL}/*"])
        cover.start()
        for item in items:
            cover.switch_context(item.nodeid)
            begun = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            seconds[item.nodeid] = time.process_time() - begun
        cover.stop()
        data = cover.get_data()
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                reached[file, line].update(tests)
        return _Baseline(reached, seconds)

    def _try(
        self,
        mutant: Mutant,
        items: Iterable[pytest.Item],
        live: dict[tuple[str, str], list[FunctionType]],
        baseline: _Baseline,
    ) -> int:
        _quiet()
        code = _compiled(mutant.source(), _path(mutant.module))
        functions = live[f"{_PACKAGE}.{mutant.module}", mutant.function or ""]
        new = _code_of(code, mutant.function or "")
        if not functions or new is None:
            return _UNREACHED
        for function in functions:
            function.__code__ = new
        for item in items:
            seconds = _GRACE_S + _SLOWER * baseline.seconds[item.nodeid]
            signal.setitimer(signal.ITIMER_PROF, seconds)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            if self.failed:
                return _KILLED
        return _SURVIVED


class _Anew(MetaPathFinder):
    """Imports one module of the kernel with a mutant in it."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = f"{_PACKAGE}.{mutant.module}"
        self._path = _path(mutant.module)
        self._source = mutant.source()

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Source(fullname, str(self._path))
        loader.source = self._source
        return spec_from_file_location(fullname, self._path, loader=loader)


class _Source(SourceFileLoader):
    source = ""

    def get_code(self, _fullname: str) -> CodeType:
        return _compiled(self.source, Path(self.path))


def _try_anew(mutant: Mutant | None) -> int:
    _quiet()
    signal.setitimer(signal.ITIMER_PROF, _ANEW_S)
    if mutant is not None:
        sys.meta_path.insert(0, _Anew(mutant))
    near = [] if mutant is None else _near(mutant.module)
    for tests in (near, [name for name in _TESTS if name not in near]):
        if tests and pytest.main([*_PYTEST, *tests], plugins=[_Profile()]):
            return _KILLED
    return _SURVIVED


def _near(module: str) -> list[str]:
    """Name the tests of a module and of those that import it: most likely to see its mutants."""
    users = [path.stem for path in _KERNEL.glob("*.py") if f"from .{module} " in path.read_text()]
    names = {f"test_{name}.py" for name in (module, *users)}
    return [
        test
        for test in _TESTS
        if Path(test).name in names or f"kernel.{module} import" in Path(test).read_text()
    ]


def _forked(attempt: Callable[[], int]) -> int:
    """Give what the attempt returns in a child; a child that dies has killed its mutant."""
    pid = os.fork()
    if not pid:
        fate = _KILLED
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            fate = attempt()
        except BaseException:  # noqa: BLE001 (whatever it is, the child must not go on)
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(fate)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return _HUNG if os.WTERMSIG(status) == signal.SIGPROF else _KILLED
    return os.WEXITSTATUS(status)


def _fates(mutants: Sequence[Mutant]) -> list[int]:
    """Give each mutant's fate, and print it at once if it is a survivor.

    The kernel is never imported in this process.
    """
    with TemporaryFile(buffering=0) as fates:

        def done(mutant: Mutant, fate: int) -> None:
            fates.write(bytes([fate]))
            if fate in (_SURVIVED, _UNREACHED):
                print(f"\n{_FATES[fate]} {_diff(mutant)}", flush=True)

        swapped = [mutant for mutant in mutants if mutant.function is not None]
        plugin = _Swapped(swapped, done)
        if swapped and _forked(lambda: pytest.main([*_PYTEST, *_TESTS], plugins=[plugin])):
            raise SystemExit("the tests fail without a mutant")
        anew = [mutant for mutant in mutants if mutant.function is None]
        if anew and _forked(partial(_try_anew, None)) != _SURVIVED:
            raise SystemExit("the tests fail without a mutant")
        for mutant in anew:
            done(mutant, _forked(partial(_try_anew, mutant)))
        fates.seek(0)
        return [*fates.read()]


def _live_functions() -> dict[tuple[str, str], list[FunctionType]]:
    found: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType:
            found[thing.__module__, thing.__qualname__].append(thing)
    return found


def _code_of(code: CodeType, function: str) -> CodeType | None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_qualname == function:
                return inner
            if function.startswith(f"{inner.co_qualname}."):
                return _code_of(inner, function)
    return None


def _compiled(source: str, path: Path) -> CodeType:
    return compile(source, str(path), "exec", dont_inherit=True)


def _path(module: str) -> Path:
    return _KERNEL / f"{module}.py"


def _quiet() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def _diff(mutant: Mutant) -> str:
    old = _path(mutant.module).read_text(encoding="utf-8").splitlines()
    lines = [*difflib.unified_diff(old, mutant.source().splitlines(), lineterm="", n=1)][2:]
    place = f"{mutant.module}:{mutant.head} in {mutant.function or 'the module'}"
    return "\n".join([place, *lines])


def _asked(argument: str) -> list[Mutant]:
    module, _, line = argument.partition(":")
    mutants = mutants_of(_path(module))
    return [mutant for mutant in mutants if not line or mutant.head == int(line)]


def main(arguments: list[str]) -> int:
    """Run the mutants of every module, or of those that are named, each or in one line of it."""
    asked = arguments or sorted(path.stem for path in _KERNEL.glob("[!_]*.py"))
    mutants = [mutant for argument in asked for mutant in _asked(argument)]
    mutants.sort(key=lambda mutant: mutant.function is None)
    # Loaded here, so that no fork pays for them.
    for name in (
        "confluent_kafka",
        "fastavro",
        "msgspec",
        "orjson",
        "zstandard",
        "hypothesis.strategies",
    ):
        import_module(name)
    begun = time.monotonic()
    fates = _fates(mutants)
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for mutant, fate in zip(mutants, fates, strict=True):
        counts[mutant.module][fate] += 1
    columns = (_KILLED, _HUNG, _SURVIVED, _UNREACHED)
    rows = [("module", "mutants", *(_FATES[fate] for fate in columns)), ("---",) * 6]
    for module, count in [*sorted(counts.items()), ("all", Counter(fates))]:
        rows.append((module, str(count.total()), *(str(count[fate]) for fate in columns)))
    print("\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    print(f"# {time.monotonic() - begun:.0f} s", flush=True)
    return 0 if mutants else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
