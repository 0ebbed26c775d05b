"""The inbox: its fold, and the changes that are planned on it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Any, Literal, cast, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernel.log_builder import LogBuilder, any_logs, message_of
from turnlog.events.admit import admit
from turnlog.events.errors import BadShape, BadSplice
from turnlog.events.rows import event_row
from turnlog.events.vocabulary import Registry
from turnlog.kernel.inbox import Inbox, InboxFold, PendingMessage, Target, inbox
from turnlog.kernel.inbox_plan import (
    InboxPlan,
    plan_append,
    plan_claim,
    plan_clear,
    plan_prepend,
    plan_remove,
    plan_replace,
    plan_splice,
)
from turnlog.kernel.log import Log


def _message(id: str) -> dict[str, Any]:
    return message_of(f"text of {id}", id=id)


def _ids(messages: Sequence[PendingMessage]) -> list[str]:
    return [message.id for message in messages]


def _lists(found: Inbox) -> tuple[list[str], list[str]]:
    return _ids(found.next_turn), _ids(found.next_step)


def _filled(**header: Any) -> LogBuilder:
    """A log whose inbox holds a, b, c for the next turn and x, y for the next step."""
    builder = LogBuilder(**header)
    builder.splice("next-turn", 0, 0, map(_message, "abc"))
    builder.splice("next-step", 0, 0, map(_message, "xy"))
    return builder


def _logged(plan: InboxPlan) -> list[Any]:
    """The data of a plan's drafts, messages shortened to their ids."""
    return [
        {**draft.data, "inserted": [message["id"] for message in draft.data["inserted"]]}
        for draft in plan.drafts
    ]


# --- the fold ------------------------------------------------------------------------------------


def test_splices_insert_and_remove_in_their_own_list() -> None:
    builder = _filled()
    builder.splice("next-turn", 1, 2, [_message("d")])
    builder.splice("next-step", 2, 0, [_message("b")])
    assert _lists(inbox(builder.log())) == (["a", "d"], ["x", "y", "b"])


def test_an_inbox_can_not_be_changed_by_what_it_returns() -> None:
    builder = _filled()
    found = inbox(builder.log())
    first, frozen = found.next_turn[0], cast(Any, found)
    first.value["content"].clear()
    assert first.value == _message("a")
    assert (first.seq, repr(first)) == (0, "PendingMessage(id='a', seq=0)")
    assert found.next_step[0].seq == 1
    with pytest.raises(AttributeError):
        frozen.next_turn = ()


def test_what_was_inherited_waits_in_the_parent_alone() -> None:
    assert _lists(inbox(_filled(seedLength=2).log())) == ([], [])
    assert _lists(inbox(_filled(seedLength=1).log())) == ([], ["x", "y"])
    assert _lists(inbox(_filled(seedLength=0).log())) == (["a", "b", "c"], ["x", "y"])


def test_a_splice_of_the_seed_that_fits_no_list_is_not_ours() -> None:
    builder = LogBuilder(seedLength=1)
    builder.splice("next-turn", 9)
    builder.splice("next-turn", 0, 0, [_message("a")])
    assert _lists(inbox(builder.log())) == (["a"], [])


@pytest.mark.parametrize(
    "data",
    [
        {"target": "next-turn", "start": 4, "inserted": []},
        {"target": "next-turn", "start": 2, "removedCount": 2, "inserted": []},
        {"target": "next-step", "start": 3, "inserted": []},
        {"target": "next-turn", "start": -1, "inserted": []},
        {"target": "next-turn", "start": 0.5, "inserted": []},
        {"target": "next-turn", "start": "0", "inserted": []},
        {"target": "next-turn", "start": True, "inserted": []},
        {"target": "next-turn", "inserted": []},
        {"target": "next-turn", "start": 0, "removedCount": -1, "inserted": []},
        {"target": "next-turn", "start": 0, "removedCount": None, "inserted": []},
        {"target": "later", "start": 0, "inserted": []},
        {"start": 0, "inserted": []},
        {"target": "next-turn", "start": 0},
        {"target": "next-turn", "start": 0, "inserted": {}},
        {"target": "next-turn", "start": 0, "inserted": ["d"]},
        {"target": "next-turn", "start": 0, "inserted": [{"id": 5}]},
        {"target": "next-turn", "start": 0, "inserted": [_message("a")]},
        {"target": "next-step", "start": 0, "inserted": [_message("a")]},
        {"target": "next-turn", "start": 0, "inserted": [_message("x")]},
        {"target": "next-turn", "start": 0, "inserted": [_message("d"), _message("d")]},
        {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": [_message("b")]},
        [],
        None,
    ],
    ids=str,
)
def test_a_splice_that_does_not_fit_is_named_and_changes_nothing(data: Any) -> None:
    builder = _filled()
    seq = builder.add("agent/inbox/spliced", data)
    with pytest.raises(BadSplice) as caught:
        inbox(builder.log())
    assert caught.value.seq == seq
    fold = InboxFold(None)
    *before, last = builder.events()
    for event in before:
        fold.fold(event)
    with pytest.raises(BadSplice):
        fold.fold(last)
    assert _lists(fold.inbox) == (["a", "b", "c"], ["x", "y"])


def test_an_id_may_come_back_once_its_message_is_gone() -> None:
    builder = _filled()
    builder.splice("next-turn", 0, 2, [_message("b"), _message("a")])
    builder.splice("next-step", 0, 2)
    builder.splice("next-turn", cast(int, 0.0), 0, [_message("x")])
    assert _lists(inbox(builder.log())) == (["x", "b", "a", "c"], [])


@settings(max_examples=60)
@given(any_logs())
def test_the_fold_of_each_prefix_is_that_of_the_log_up_to_there(log: Log) -> None:
    fold = InboxFold(log.header.seed_length)
    plain = tuple(event_row(event.to_json()) for event in log.events())
    for end, event in enumerate(log.events(), 1):
        fold.fold(event)
        for scratch in (inbox(log.prefix(end)), inbox(Log(log.header, plain[:end]))):
            for target in get_args(Target):
                assert [(m.id, m.seq, m.value) for m in fold.inbox.waiting(target)] == [
                    (m.id, m.seq, m.value) for m in scratch.waiting(target)
                ]


# --- planned changes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "removed", "splice", "taken"),
    [
        (1, 1, (1, 1), "b"),
        (-1, 1, (2, 1), "c"),
        (-9, 1, (0, 1), "a"),
        (2, 9, (2, 1), "c"),
        (9, 3, (3, 0), ""),
        (0, -3, (0, 0), ""),
        (1.7, 1.9, (1, 1), "b"),
        (-1.5, 0, (2, 0), ""),
        (-inf, inf, (0, 3), "abc"),
    ],
)
def test_a_splice_is_clamped_to_the_list(
    start: float, removed: float, splice: tuple[int, int], taken: str
) -> None:
    found = inbox(_filled().log())
    plan = plan_splice(found, "next-turn", start, removed, [_message("d")])
    first, count = splice
    expected: dict[str, Any] = {"target": "next-turn", "start": first, "inserted": ["d"]}
    if count:
        expected |= {"removedCount": count, "outcome": "canceled"}
    assert _logged(plan) == [expected]
    assert _ids(plan.messages) == list(taken)


def test_an_empty_change_logs_nothing() -> None:
    found = inbox(_filled().log())
    plans = [
        plan_splice(found, "next-turn", 0),
        plan_splice(found, "next-turn", 5, 2),
        plan_remove(found, "z"),
        plan_replace(found, "z", _message("q")),
        plan_clear(Inbox()),
        plan_claim(Inbox(), "next-turn"),
        plan_claim(Inbox(), "next-step"),
    ]
    assert plans == [InboxPlan()] * len(plans)


def test_append_and_prepend_put_a_message_at_the_ends() -> None:
    found = inbox(_filled().log())
    assert _logged(plan_append(found, "next-turn", _message("d"))) == [
        {"target": "next-turn", "start": 3, "inserted": ["d"]}
    ]
    assert _logged(plan_prepend(found, "next-step", _message("d"))) == [
        {"target": "next-step", "start": 0, "inserted": ["d"]}
    ]


def test_replace_and_remove_find_a_message_in_either_list() -> None:
    found = inbox(_filled().log())
    plan = plan_replace(found, "b", _message("d"))
    change = {"removedCount": 1, "outcome": "canceled"}
    assert _logged(plan) == [{"target": "next-turn", "start": 1, "inserted": ["d"], **change}]
    assert _ids(plan.messages) == ["b"]
    assert _ids(plan_remove(found, "a").messages) == ["a"]
    plan = plan_remove(found, "y")
    assert _logged(plan) == [{"target": "next-step", "start": 1, "inserted": [], **change}]
    assert _ids(plan.messages) == ["y"]


def test_a_message_may_replace_itself() -> None:
    found = inbox(_filled().log())
    for name in "abcxy":
        assert _ids(plan_replace(found, name, _message(name)).messages) == [name]


def test_clear_cancels_all_of_both_lists() -> None:
    plan = plan_clear(inbox(_filled().log()))
    assert _logged(plan) == [
        {"target": t, "start": 0, "removedCount": n, "inserted": [], "outcome": "canceled"}
        for t, n in (("next-step", 2), ("next-turn", 3))
    ]
    assert _ids(plan.messages) == ["x", "y", "a", "b", "c"]


def test_a_claim_for_a_turn_takes_what_is_due_and_cancels_nothing() -> None:
    plan = plan_claim(inbox(_filled().log()), "next-turn")
    assert _logged(plan) == [
        {"target": "next-step", "start": 0, "removedCount": 2, "inserted": []},
        {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []},
    ]
    assert _ids(plan.messages) == ["x", "y", "a"]
    assert [message.value for message in plan.messages] == [_message(name) for name in "xya"]


def test_a_claim_for_a_step_leaves_the_next_turn_alone() -> None:
    plan = plan_claim(inbox(_filled().log()), "next-step")
    assert _logged(plan) == [{"target": "next-step", "start": 0, "removedCount": 2, "inserted": []}]
    assert _ids(plan.messages) == ["x", "y"]


@pytest.mark.parametrize("id", ["a", "x"])
def test_a_message_that_is_pending_is_refused(id: str) -> None:
    found = inbox(_filled().log())
    for target in get_args(Target):
        with pytest.raises(BadShape, match="inserted: "):
            plan_append(found, target, _message(id))
        with pytest.raises(BadShape, match="inserted: "):
            plan_prepend(found, target, _message(id))
    with pytest.raises(BadShape, match="inserted: "):
        plan_replace(found, "b", _message(id))
    with pytest.raises(BadShape, match="inserted: ") as caught:
        plan_splice(found, "next-turn", 9, 0, [_message("q"), _message("q")])
    assert caught.value.found == "'q'"


@pytest.mark.parametrize(
    "message", [None, {}, {**_message("q"), "role": "assistant"}, "q"], ids=str
)
def test_what_is_no_user_message_is_refused(message: Any) -> None:
    with pytest.raises(BadShape, match=r"^inserted\[1\][.:]"):
        plan_splice(Inbox(), "next-turn", 0, 0, [_message("p"), message])


def test_an_unknown_target_is_refused() -> None:
    later: Any = "later"
    with pytest.raises(BadShape, match=r"^target: ") as caught:
        plan_splice(Inbox(), later, 0)
    assert caught.value.found == "'later'"
    with pytest.raises(BadShape, match=r"^target: ") as caught:
        plan_claim(Inbox(), later)
    assert caught.value.found == "'later'"


def test_a_planned_change_does_not_follow_the_callers_list() -> None:
    inserted = [_message("d")]
    plan = plan_splice(Inbox(), "next-turn", 0, 0, inserted)
    inserted.clear()
    assert _logged(plan) == [{"target": "next-turn", "start": 0, "inserted": ["d"]}]


_Call = Literal["splice", "append", "prepend", "replace", "remove", "clear", "claim"]


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(get_args(_Call)),
            st.sampled_from(get_args(Target)),
            st.integers(-4, 4),
            st.integers(-1, 3),
            st.integers(0, 9),
        ),
        max_size=12,
    )
)
def test_planned_changes_are_appended_and_fold_to_what_they_say(
    calls: list[tuple[_Call, Target, int, int, int]],
) -> None:
    builder = _filled()
    for call, target, start, removed, number in calls:
        found = inbox(builder.log())
        lists = {"next-turn": _ids(found.next_turn), "next-step": _ids(found.next_step)}
        before = {name: list(ids) for name, ids in lists.items()}
        new_id = f"m{number}"
        message = _message(new_id)
        pending = lists["next-turn"] + lists["next-step"]
        plan = InboxPlan()
        try:
            match call:
                case "splice":
                    plan = plan_splice(found, target, start, removed, [message])
                    at = max(0, len(lists[target]) + start) if start < 0 else start
                    lists[target][at : at + max(0, removed)] = [new_id]
                case "append":
                    plan = plan_append(found, target, message)
                    lists[target].append(new_id)
                case "prepend":
                    plan = plan_prepend(found, target, message)
                    lists[target].insert(0, new_id)
                case "replace":
                    plan = plan_replace(found, "b", message)
                    for ids in lists.values():
                        ids[:] = [new_id if old == "b" else old for old in ids]
                case "remove":
                    plan = plan_remove(found, new_id)
                    for ids in lists.values():
                        ids[:] = [old for old in ids if old != new_id]
                case "clear":
                    plan = plan_clear(found)
                    lists = {"next-turn": [], "next-step": []}
                case "claim":
                    plan = plan_claim(found, target)
                    lists["next-step"].clear()
                    if target == "next-turn":
                        del lists["next-turn"][:1]
        except BadShape:
            assert new_id in pending
            continue
        for draft in plan.drafts:
            event = admit(draft, len(builder), 0, Registry())
            builder.add(event.type, event.data)
        after = inbox(builder.log())
        assert _lists(after) == (lists["next-turn"], lists["next-step"])
        gone = [
            old
            for old in before["next-step"] + before["next-turn"]
            if old not in _pending_ids(after)
        ]
        taken = _ids(plan.messages)
        assert [old for old in taken if old not in _pending_ids(after)] == gone
        canceled = [draft.data for draft in plan.drafts if "outcome" in draft.data]
        assert bool(canceled) is (bool(taken) and call != "claim")
        assert bool(plan.drafts) is (lists != before or bool(taken))


def _pending_ids(found: Inbox) -> set[str]:
    return {message.id for message in found.next_turn + found.next_step}


def test_messages_to_insert_may_be_given_once_only() -> None:
    plan = plan_splice(Inbox(), "next-turn", 0, 0, (_message(id) for id in "ab"))
    assert [message["id"] for message in plan.drafts[0].data["inserted"]] == ["a", "b"]


@pytest.mark.parametrize("value", [nan, "x", "1", None, True, [0]])
@pytest.mark.parametrize("field", ["start", "removed"])
def test_a_place_or_count_that_is_no_number_is_refused(field: str, value: Any) -> None:
    with pytest.raises(BadShape) as refused:
        plan_splice(Inbox(), "next-turn", **({"start": 0} | {field: value}))
    assert refused.value.field == field


@pytest.mark.parametrize("inserted", [None, 7, "m", {"id": "m"}])
def test_what_holds_no_messages_is_not_inserted(inserted: Any) -> None:
    with pytest.raises(BadShape):
        plan_splice(Inbox(), "next-turn", 0, 0, inserted)
