"""A Maven repository on this machine."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from turnlog.broker.lock import Jar, Lock


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def mirrored(root: Path, jar: Jar) -> Path:
    """Where a repository has a jar."""
    folder = root / jar.group.replace(".", "/") / jar.artifact / jar.version
    return folder / f"{jar.artifact}-{jar.version}.jar"


@contextmanager
def serving(
    folder: Path, lock: Lock, jar_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Serve the lock's jars, and name the repository in jgo's settings; gives its root."""
    root = folder / "mirror"
    for jar in lock.jars:
        place = mirrored(root, jar)
        place.parent.mkdir(parents=True)
        shutil.copy(jar_cache / jar.file_name, place)
    handler = functools.partial(_Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        settings = folder / "jgo.conf"
        address = f"http://127.0.0.1:{server.server_address[1]}"
        settings.write_text(f"[repositories]\nhere = {address}\n", "utf-8")
        monkeypatch.setenv("JGO_CONFIG_FILE", str(settings))
        yield root
        server.shutdown()
        thread.join()
