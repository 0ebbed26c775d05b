"""`turnlog lineage`."""

from __future__ import annotations

from turnlog.cli.app import app
from turnlog.cli.arguments import SessionId
from turnlog.cli.command import Run, command
from turnlog.kernel import trace_session

__all__: list[str] = []


@command(app, reads=True)
def lineage(run: Run, session: SessionId) -> None:
    """Show the family of a session: its ancestors, itself, and all that was forked of it.

    With --json one object: target, ancestors (from the parent outward), descendants (nested: id,
    descendants), complete, and root or unresolvedParentId.

    Example: turnlog lineage SESSION
    """
    with run.reader() as reader:
        infos = {info.id: info for info in reader.sessions()}
    family = trace_session((info.header for info in infos.values()), session)
    if run.out.as_json:
        run.out.json(family.to_json())
        return
    if family.unresolved_parent_id is not None:
        run.out.line(f"{family.unresolved_parent_id}  (not there)", style="yellow")
    above = list(reversed(family.ancestors))
    shown = [(depth, id) for depth, id in enumerate(above)]
    shown.append((len(above), session))
    shown += [(len(above) + each.depth, each.id) for each in family.descendants]
    for depth, id in shown:
        info = infos[id]
        inherited = info.header.seed_length
        seed = "" if inherited is None else f", the first {inherited} inherited"
        text = f"{'  ' * depth}{id}  {info.next_seq} events{seed}  {info.title or ''}".rstrip()
        run.out.line(text, style="bold" if id == session else "", cut=True)
