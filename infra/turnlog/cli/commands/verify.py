"""`turnlog verify`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from turnlog.cli.app import app
from turnlog.cli.command import Run, command
from turnlog.cli.exit_codes import FOUND_WRONG
from turnlog.cli.output import Output
from turnlog.cli.proof import Proof, prove_files, prove_partitions

__all__: list[str] = []


@command(app, reads=True)
def verify(
    run: Run,
    session: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="One session; without, all.")
    ] = None,
    partition: Annotated[
        int | None, typer.Option(min=0, help="One partition; without, all.")
    ] = None,
) -> None:
    """Prove by the records alone that the log is whole: ledger, hash chain, events, rules.

    Exits with 1 where something is wrong. What a chain without a key can't show is said. Of files
    only events and rules are checked: a file has no chain. With --json one object a session:
    session, ok, events, commits, head, released, stop, breaches, fork; and one object of the whole
    last: ok, records, verdicts, findings, unproven, unseen.

    Example: turnlog verify
    """
    if run.source is not None:
        proof = prove_files(run.source, session)
    else:
        proof = prove_partitions(run.settings(), session, partition, run.out)
    if not _show(run.out, proof):
        raise typer.Exit(FOUND_WRONG)


def _show(out: Output, proof: Proof) -> bool:
    """Print what was found; gives whether all is well."""
    for found in proof.sessions:
        if out.as_json:
            out.json(found.value())
        elif not found.ok:
            out.line(f"{found.session_id}: {found.text()}", style="red")
    if out.as_json:
        out.json(proof.value())
        return proof.ok
    for line in _faults(proof):
        out.line(line, style="red")
    verdicts = ", ".join(f"{count} {kind}" for kind, count in proof.verdicts.items() if count)
    out.line(f"{len(proof.sessions)} sessions, {proof.event_count} events; records: {verdicts}")
    out.line("all is well" if proof.ok else "something is wrong", style="bold")
    out.line("Not shown by this, for the chain has no key:" if proof.unseen else "")
    for line in proof.unseen:
        out.line(f"- {line}")
    return proof.ok


def _faults(proof: Proof) -> Iterator[str]:
    yield from proof.findings
    for id in proof.unproven:
        yield f"{id}: records, and no open that counts"
