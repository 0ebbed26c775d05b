"""Every op that a file of recorded answers may ask, and the check that compares its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from . import ops_log, ops_session, ops_views
from .answers import Op

__all__ = ["OPS"]

OPS: Final[Mapping[str, Op]] = {
    "append": ops_session.check_append,
    "child": ops_session.check_child,
    "closers": ops_views.check_closers,
    "documents": ops_views.check_documents,
    "events": ops_log.check_event_count,
    "fork": ops_views.check_fork,
    "headers": ops_views.check_headers,
    "inbox": ops_views.check_inbox,
    "inboxCalls": ops_session.check_inbox_calls,
    "invariants": ops_views.check_invariants,
    "known": ops_log.check_known_types,
    "lineage": ops_views.check_lineage,
    "live": ops_log.check_live,
    "pack": ops_log.check_pack,
    "prefix": ops_log.check_prefix,
    "restore": ops_log.check_restore,
    "stats": ops_views.check_stats,
    "trace": ops_views.check_trace,
    "unpack": ops_log.check_unpack,
}
