"""A short run of every fuzz target, and that the fuzzer finds what is there to find."""

from __future__ import annotations

from collections.abc import Hashable
from random import Random

import pytest

from tests.fuzz.mutate import Finding, Target, fuzz, mutate
from tests.fuzz.run import main
from tests.fuzz.targets import TARGETS

COUNT = 600


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_target_shows_no_fault(name: str) -> None:
    assert fuzz(TARGETS[name], seed=1, count=COUNT) == len(TARGETS[name].seeds) + COUNT


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_inputs_of_a_target_go_many_ways(name: str) -> None:
    seen: set[Hashable] = set()

    def run(data: bytes) -> Hashable:
        outcome = TARGETS[name].run(data)
        seen.add(outcome)
        return outcome

    fuzz(TARGETS[name]._replace(run=run), seed=2, count=300)
    assert len(seen) >= 10


def deep_fault(data: bytes) -> Hashable:
    """Has a fault that only a few steps in the right direction lead to."""
    depth = 0
    while depth < 3 and data[depth : depth + 1] == b"fuz"[depth : depth + 1]:
        depth += 1
    if depth == 3:
        raise LookupError("planted")
    return depth


def test_a_planted_fault_is_found_with_its_input() -> None:
    with pytest.raises(Finding) as found:
        fuzz(Target(deep_fault, [b"xxxx"], [b"z", b"u", b"f"]), seed=3, count=20_000)
    assert found.value.data.startswith(b"fuz")
    assert isinstance(found.value.__cause__, LookupError)
    assert found.value.data.hex() in str(found.value)


def test_the_same_seed_gives_the_same_inputs() -> None:
    def inputs(seed: int) -> list[bytes]:
        seen: list[bytes] = []
        target = Target(lambda data: seen.append(data) or len(data), [b"abc", b"123"], [b"t"])  # type: ignore[func-returns-value]
        fuzz(target, seed=seed, count=50)
        return seen

    assert inputs(4) == inputs(4)
    assert inputs(4) != inputs(5)


def test_a_mutation_keeps_an_input_small() -> None:
    random, data = Random(6), b"0123456789" * 1_900
    for _ in range(500):
        data = mutate(data, random, [b"token"], [data])
        assert len(data) <= 20_000


def test_the_command_runs_one_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seconds", "0", "--target", "fuzz_gate"]) == 0
    assert "fuzz_gate" in capsys.readouterr().out
