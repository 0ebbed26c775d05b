"""`turnlog doctor`."""

from __future__ import annotations

import typer

from turnlog.cli.app import app
from turnlog.cli.checkup import Level, checks
from turnlog.cli.command import Run, command
from turnlog.cli.exit_codes import FOUND_WRONG

__all__: list[str] = []

_STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


@command(app)
def doctor(run: Run) -> None:
    """Check the installation, the broker and the namespace, one by one; changes nothing.

    Exits with 1 where a check fails. With --json each is an object: check, level (ok, warn, fail),
    found, hint.

    Example: turnlog doctor
    """
    failed = False
    for check in checks(run.env, run.namespace, lambda: run.client):
        failed |= check.level is Level.FAIL
        if run.out.as_json:
            run.out.json(
                {
                    "check": check.name,
                    "level": check.level.value,
                    "found": check.found,
                    "hint": check.hint,
                }
            )
            continue
        hint = f" -> {check.hint}" if check.hint else ""
        text = f"{check.level.value:<5} {check.name}: {check.found}{hint}"
        run.out.line(text, style=_STYLES[check.level])
    if failed:
        raise typer.Exit(FOUND_WRONG)
