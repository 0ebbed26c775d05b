"""Pure folds over the session event log: state, Surface, Messages, and every view of them."""

from .attempts import (
    attempts,
    request_at,
)
from .breach import (
    Breach,
)
from .documents import (
    Document,
    documents,
)
from .fork import (
    LAST_CLOSED_TURN,
    ForkPlan,
    child_header,
    plan_fork,
)
from .inbox import (
    Inbox,
    InboxFold,
    PendingMessage,
    inbox,
)
from .invariants import (
    InvariantFold,
    InvariantState,
    breaches,
    invariants,
)
from .late import (
    late_result,
)
from .ledger import (
    Ledger,
    Verdict,
    VerdictKind,
)
from .lineage import (
    Lineage,
    trace_session,
)
from .log import (
    Log,
    RowLog,
)
from .messages import (
    Message,
    messages,
)
from .repair import (
    repair,
)
from .request import (
    Request,
    RequestFold,
    check_request,
    context_to_log,
    header_to_log,
    prefix_reusable,
)
from .request_header import (
    canonical,
    headers_equal,
)
from .restore import (
    Restored,
    check_known,
    restore,
)
from .state import (
    SessionState,
)
from .statistics import (
    Statistics,
    statistics,
)
from .stream import (
    stream_attempts,
)
from .stream_attempt import (
    StreamAttempt,
)
from .surface import (
    Surface,
    SurfaceChange,
    surface_of,
)
from .title import (
    title,
    todo,
)
from .tool_card import (
    ToolCard,
)
from .trace import (
    EventTrace,
    EventTraces,
    trace_event,
)
from .transcript import (
    Item,
    TranscriptFold,
    transcript,
)
from .transcript_items import (
    LineageMarker,
    MessageItem,
    ReplaceMarker,
    TurnEnd,
)
from .view_check import (
    view_breaches,
)

__all__ = [
    "LAST_CLOSED_TURN",
    "Breach",
    "Document",
    "EventTrace",
    "EventTraces",
    "ForkPlan",
    "Inbox",
    "InboxFold",
    "InvariantFold",
    "InvariantState",
    "Item",
    "Ledger",
    "Lineage",
    "LineageMarker",
    "Log",
    "Message",
    "MessageItem",
    "PendingMessage",
    "ReplaceMarker",
    "Request",
    "RequestFold",
    "Restored",
    "RowLog",
    "SessionState",
    "Statistics",
    "StreamAttempt",
    "Surface",
    "SurfaceChange",
    "ToolCard",
    "TranscriptFold",
    "TurnEnd",
    "Verdict",
    "VerdictKind",
    "attempts",
    "breaches",
    "canonical",
    "check_known",
    "check_request",
    "child_header",
    "context_to_log",
    "documents",
    "header_to_log",
    "headers_equal",
    "inbox",
    "invariants",
    "late_result",
    "messages",
    "plan_fork",
    "prefix_reusable",
    "repair",
    "request_at",
    "restore",
    "statistics",
    "stream_attempts",
    "surface_of",
    "title",
    "todo",
    "trace_event",
    "trace_session",
    "transcript",
    "view_breaches",
]
