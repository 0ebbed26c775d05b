"""Run the benchmarks, all or the one whose name is given: `python -m bench.run [NAME]`.

Prints one `bar` line a figure: name, value, unit, needed, `ok` or `short`. A figure below its bar
is no failure of the run; a benchmark that can't run is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench import (
    acknowledge,
    append,
    import_folder,
    messages,
    open_log,
    record_size,
    restore_file,
)
from bench.report import head

_BENCHES: dict[str, Callable[[], bool]] = {
    "append": append.run,
    "restore-file": restore_file.run,
    "messages": messages.run,
    "record-size": record_size.run,
    "acknowledge": acknowledge.run,
    "open-log": open_log.run,
    "import-folder": import_folder.run,
}


def main(arguments: list[str]) -> int:
    """Run what is asked for; 2 for a name that is none."""
    names = arguments or list(_BENCHES)
    unknown = [name for name in names if name not in _BENCHES]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(_BENCHES)}", file=sys.stderr)
        return 2
    print(head(), flush=True)
    for name in names:
        _BENCHES[name]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
