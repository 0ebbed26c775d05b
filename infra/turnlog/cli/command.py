"""What every command has in common: where it runs, how it prints, how it ends."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from turnlog.broker import DEFAULT_NAMESPACE, ensure_topics
from turnlog.broker.bootstrap import CLUSTER_VARIABLE
from turnlog.events import TurnlogError
from turnlog.importers import FileSessions
from turnlog.log import KafkaReader, KafkaSettings, KafkaStore
from turnlog.session import SessionReader, SessionStore

from .client_config import read_client_config
from .cluster import check_topics, is_running, reach
from .demo_child import ChildFailed
from .exit_codes import INTERRUPTED, TERMINATED, exit_code
from .output import Output
from .safe_text import safe

__all__ = ["Run", "Terminated", "command", "exit_codes"]


class Terminated(BaseException):
    """SIGTERM: whoever holds something gives it up and lets this pass."""


class Run:
    """One run of a command: its output, and the way to its sessions."""

    def __init__(
        self,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        bootstrap: str | None = None,
        client_config: Path | None = None,
        source: Path | None = None,
        as_json: bool = False,
    ) -> None:
        self.namespace = namespace
        self.out = Output(as_json=as_json)
        self._bootstrap = bootstrap
        self.source = source
        self._client_config = client_config

    @property
    def env(self) -> Mapping[str, str]:
        """The environment, with the address that an option named in its place."""
        if self._bootstrap is None:
            return os.environ
        return {**os.environ, CLUSTER_VARIABLE: self._bootstrap}

    @property
    def client(self) -> dict[str, str]:
        """The further settings of Kafka's client. Raises BadClientConfig."""
        return {} if self._client_config is None else read_client_config(self._client_config)

    def settings(self, *, make_topics: bool = False) -> KafkaSettings:
        """Reach the cluster, or start the embedded broker; `make_topics` makes missing topics.

        Raises BrokerError, BadClientConfig, BadNamespace.
        """
        env, client = self.env, self.client
        if not is_running(env):
            self.out.note("starting the embedded Kafka; `turnlog up` keeps one running")
        bootstrap = reach(env, client=client)
        if make_topics:
            ensured = ensure_topics(bootstrap, self.namespace, client=client)
            for warning in ensured.warnings:
                self.out.note(f"warning: {warning}", style="yellow")
        else:
            check_topics(bootstrap, self.namespace, client)
        return KafkaSettings(bootstrap=bootstrap, namespace=self.namespace, client=client)

    @contextmanager
    def reader(self) -> Iterator[SessionReader]:
        """Read sessions, of the files that were named or else of Kafka; nothing is written.

        Raises BrokerError, DataError.
        """
        if self.source is not None:
            files = FileSessions(self.source)
            yield files
            for fault in files.faults:
                self.out.note(f"left out: {fault}", style="yellow")
            return
        with KafkaReader(self.settings()) as reader:
            yield reader

    @contextmanager
    def store(self) -> Iterator[SessionStore]:
        """Read and write sessions; makes missing topics. Raises BrokerError, DataError."""
        with KafkaStore(self.settings(make_topics=True)) as store:
            yield store


_SHARED: dict[str, Any] = {
    "namespace": (
        Annotated[
            str,
            typer.Option(
                "--namespace", "-n", envvar="TURNLOG_NAMESPACE", help="Whose topics to use."
            ),
        ],
        DEFAULT_NAMESPACE,
    ),
    "bootstrap": (
        Annotated[
            str | None,
            typer.Option(
                "--bootstrap",
                metavar="HOST:PORT",
                help=f"The Kafka to use, before {CLUSTER_VARIABLE}; by default the embedded one.",
            ),
        ],
        None,
    ),
    "client_config": (
        Annotated[
            Path | None,
            typer.Option(
                "--client-config",
                envvar="TURNLOG_CLIENT_CONFIG",
                help="A file of name=value lines for Kafka's client (librdkafka's names), as for "
                "TLS and SASL.",
            ),
        ],
        None,
    ),
    "source": (
        Annotated[
            Path | None,
            typer.Option(
                "--from", help="Read a session file, or a folder of them, instead of Kafka."
            ),
        ],
        None,
    ),
    "as_json": (
        Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")],
        False,
    ),
}


def command(
    app: typer.Typer, name: str | None = None, *, reads: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command: its first parameter, a Run, becomes the shared options.

    One that only `reads` sessions can read files too.

    A typed error ends the command with one line and the exit code of its kind.
    """

    def register(work: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(work, eval_str=True).parameters.values())[1:]
        shared = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=of)
            for key, (of, default) in _SHARED.items()
            if reads or key != "source"
        ]
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + shared

        @functools.wraps(work)
        def run(**arguments: Any) -> None:
            options = {each.name: arguments.pop(each.name) for each in shared}
            with exit_codes():
                work(Run(**options), **arguments)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        del run.__wrapped__
        app.command(name)(run)
        return run

    return register


@contextmanager
def exit_codes() -> Iterator[None]:
    """End a command with the exit code of its failure, said in one line."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Terminated:
        raise typer.Exit(TERMINATED) from None
    except ChildFailed as error:
        _complain(error)
        raise typer.Exit(error.exit_code) from None
    except TurnlogError as error:
        _complain(error)
        raise typer.Exit(exit_code(error)) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


def _complain(error: Exception) -> None:
    print(f"turnlog: {safe(str(error))}", file=sys.stderr)
