"""docs/cli.md is what the commands say of themselves."""

from __future__ import annotations

from tests.docs.cli_reference import PAGE, reference


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run `make reference`"
