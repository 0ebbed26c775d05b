"""Read an events topic and judge it, by docs/format.md alone: nothing here is turnlog's.

    python outside.py BOOTSTRAP NAMESPACE PARTITIONS

Of third parties it takes Kafka's client and zstandard; verdicts come from the verifier of the
standard library. Prints one JSON object. `sessions` holds the tokens of each as a list of
[seq, token], `sizes` the number of its events, `forks` [parent, boundary] of those that are forks
(a child's log begins with the parent's), `commits` [first, end) of each commit of events,
`owners` [first seq, writer] of each open or claim, `strangers` the releases that the owner did not
write, `reasons` the number of claims by reason, stale ones too, and `verdicts` counts.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cluster.outside import events, records
from tests.verifier.standard_verifier import decode, judge


def token(data: Any) -> str | None:
    """The text that one event has and no other."""
    found = data.get("token", data.get("chunk", {}).get("text"))
    return found if isinstance(found, str) else None


def body_of(commit: dict[str, Any]) -> Any:
    """The body of an open or a claim."""
    body = commit["body"]
    if commit["content_encoding"] == b"zstd":
        import zstandard

        body = zstandard.ZstdDecompressor().decompress(body)
    return json.loads(body)


def main(bootstrap: str, namespace: str, partitions: int) -> None:
    heads, stopped = dict[str, Any](), set[str]()
    verdicts, reasons = Counter[str](), Counter[str]()
    sessions, sizes = dict[str, list[tuple[int, str]]](), dict[str, int]()
    forks, commits = dict[str, Any](), dict[str, list[tuple[int, int]]]()
    owners, strangers = dict[str, list[tuple[int, str]]](), list[str]()
    for _, key, value in records(bootstrap, f"{namespace}.events.0", partitions):
        verdict, id = judge(namespace, heads, stopped, key, value)
        verdicts[verdict] += 1
        if verdict not in ("accepted", "stale") or id is None or value is None:
            continue
        commit = decode(value)
        kind = commit["kind"]
        if kind == b"claim":
            reasons[body_of(commit)["reason"]] += 1
        if verdict == "stale":
            continue
        if kind in (b"open", b"claim"):
            owners.setdefault(id, []).append((commit["first_seq"], commit["writer"].decode()))
        elif commit["writer"].decode() not in ("", owners[id][-1][1]):
            strangers.append(f"{id} at {commit['first_seq']}")
        if kind == b"open":
            sessions[id], sizes[id], commits[id] = [], 0, []
            fork = body_of(commit).get("fork")
            if fork is not None:
                forks[id] = [fork["session"], fork["seq"]]
        elif kind == b"events":
            commits[id].append((sizes[id], sizes[id] + commit["event_count"]))
            for seq, _, data in events(commit):
                sizes[id] += 1
                if (text := token(data)) is not None:
                    sessions[id].append((seq, text))
    found = {
        "sessions": sessions,
        "sizes": sizes,
        "forks": forks,
        "commits": commits,
        "owners": owners,
        "strangers": strangers,
        "reasons": reasons,
        "verdicts": verdicts,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
