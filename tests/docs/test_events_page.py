"""docs/events.md is true: its examples are appended, and its tables are tried field by field."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.docs.markdown import Section, code_in, page, sections
from turnlog.events import (
    CORE_TYPES,
    KNOWN_TYPES,
    SURFACE_TYPES,
    BadSessionId,
    BadShape,
    Draft,
    NotLossless,
    Registry,
    Replace,
    RestoreRefused,
    SurfaceRefused,
    UnregisteredType,
    admit,
)
from turnlog.events.event import ENVELOPE_KEYS
from turnlog.events.vocabulary import LEGACY_TYPES, PACKED_TYPES
from turnlog.kernel import repair
from turnlog.session import MemoryStore, Session

PAGE = sections(page("docs/events.md"))
OVERVIEW = PAGE["Overview"].table("type", "on the Surface", "Message", "says")
ORDER = [code_in(row["type"])[0] for row in OVERVIEW]
FIELDS = ("field", "type", "required", "says")
FORMS = ("form", "may have", "says")


class Kind(NamedTuple):
    """Values that a type of the tables takes, and values that it does not."""

    right: list[Any]
    wrong: list[Any]


KINDS = {
    "seq": Kind([0, 3, 2**53 - 1], [-1, "1", True, None, 2**53, 1.5]),
    "string": Kind(["", "x"], [5, None, []]),
    "name": Kind(["x"], ["", 5, None]),
    "path": Kind(["/w"], ["w", "", 5, None]),
    "object": Kind([{}], [[], "x", None]),
    "list": Kind([[]], [{}, "x", None]),
    "any": Kind([None, 5, {}], []),
}


def example(title: str) -> Any:
    """The first JSON example of a section."""
    return json.loads(PAGE[title].blocks[0].text)


def admit_data(type: str) -> Callable[[Any], object]:
    surface = "append" if type in SURFACE_TYPES else None
    return lambda data: admit(Draft(type, data, surface), 0, 0, Registry())


def admit_request_header(header: Any) -> object:
    return admit_data("request/header")({"header": header, "reason": "initial"})


# What a field table or a table of forms is tried with, by the section it stands in.
CHECKS: dict[str, Callable[[Any], object]] = {
    **{name: admit_data(name) for name in ORDER},
    "Request header": admit_request_header,
    "Session header": lambda value: Session.create(value.get("id"), None, value),
}


def at(value: Any, path: list[str | int]) -> Any:
    for key in path:
        value = value[key]
    return value


def changed(value: Any, path: list[str | int], new: Any) -> Any:
    value = copy.deepcopy(value)
    at(value, path[:-1])[path[-1]] = new
    return value


def without(value: Any, path: list[str | int]) -> Any:
    value = copy.deepcopy(value)
    del at(value, path[:-1])[path[-1]]
    return value


def path_of(field: str) -> list[str | int]:
    """`a[0].b` as the keys that lead there."""
    return [int(part) if part.isdigit() else part for part in re.findall(r"\w+", field)]


def object_keys(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[list[str | int]]:
    """The paths of all keys of objects in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield [*path, key]
            yield from object_keys(inner, (*path, key))


def kind_of(cell: str) -> Kind:
    if cell in KINDS:
        return KINDS[cell]
    written = [json.loads(code) for code in code_in(cell)]
    assert written, f"{cell}: no type of the page"
    if cell.startswith("object such as"):
        (whole,) = written
        return Kind([whole], [without(whole, path) for path in object_keys(whole)] + ["x"])
    return Kind(written, ["no such", None, 5, False])


def refused(check: Callable[[Any], object], value: Any) -> bool:
    try:
        check(value)
    except (BadShape, NotLossless, BadSessionId, RestoreRefused):
        return True
    return False


BOUND = {
    ("tool/result", "message.source.callId"),  # the block names it, too
    ("tool/result", "message.content"),  # exactly one block
}


class Field(NamedTuple):
    section: Section
    path: list[str | int]
    kind: Kind
    required: bool


def fields() -> Iterator[Any]:
    for section in PAGE.values():
        for row in section.table(*FIELDS):
            (name,) = code_in(row["field"])
            assert row["required"] in ("yes", "no"), (section.title, name)
            yield pytest.param(
                Field(section, path_of(name), kind_of(row["type"]), row["required"] == "yes"),
                id=f"{section.title} {name}",
            )


@pytest.mark.parametrize("field", list(fields()))
def test_a_field_is_required_and_of_its_type_as_the_table_says(field: Field) -> None:
    check, value = CHECKS[field.section.title], example(field.section.title)
    check(value)
    if field.required:
        assert refused(check, without(value, field.path))
    else:
        with pytest.raises((KeyError, IndexError)):
            at(value, field.path)  # the example is minimal
    for right in field.kind.right:
        if not is_bound(field):
            check(changed(value, field.path, right))
    for wrong in field.kind.wrong:
        assert refused(check, changed(value, field.path, wrong)), wrong


def is_bound(field: Field) -> bool:
    """Whether other fields ask something of this one, so that it can't be changed alone."""
    is_filled = field.required and field.kind is KINDS["object"]
    return is_filled or (field.section.title, ".".join(map(str, field.path))) in BOUND


class Form(NamedTuple):
    place: list[str | int]
    value: Any
    optional: dict[str, Any]
    section: str


def forms() -> Iterator[Any]:
    """Each form, with the section whose example has its place."""
    places = {
        "assistant/chunk": ("assistant/chunk", path_of("chunk")),
        "turn/end": ("turn/end", path_of("reason")),
        "Blocks": ("user/message", path_of("content[0]")),
    }
    for title, section in PAGE.items():
        for number, row in enumerate(section.table(*FORMS)):
            (written,) = code_in(row["form"])
            value = json.loads(written)
            optional: dict[str, Any] = {}
            for code in code_in(row["may have"]):
                optional |= json.loads(code)
            owner, place = places[title]
            name = value.get("type") or value["kind"]
            yield pytest.param(Form(place, value, optional, owner), id=f"{title} {number} {name}")


@pytest.mark.parametrize("form", list(forms()))
def test_a_form_has_all_that_it_must_and_nothing_that_it_need_not(form: Form) -> None:
    check, value = CHECKS[form.section], example(form.section)
    check(changed(value, form.place, form.value))
    check(changed(value, form.place, {**form.value, **form.optional}))
    for path in object_keys(form.value):
        assert refused(check, changed(value, form.place, without(form.value, path))), path


def test_the_causes_of_an_abort_are_those_that_the_page_names() -> None:
    rows = PAGE["turn/end"].table(*FORMS)
    causes = next(code_in(row["says"]) for row in rows if "someone stopped it" in row["says"])
    for cause in causes:
        reason = {"kind": "aborted", "reason": {"kind": cause}}
        CHECKS["turn/end"]({"turn": 1, "reason": reason})
    assert causes == ["user", "parent", "disposed", "legacy"]
    assert refused(
        CHECKS["turn/end"], {"turn": 1, "reason": {"kind": "aborted", "reason": {"kind": "other"}}}
    )


# --- the catalogue as a whole --------------------------------------------------------------------


def test_the_page_lists_exactly_the_core_types_and_a_section_for_each() -> None:
    assert len(ORDER) == len(set(ORDER))
    assert set(ORDER) == CORE_TYPES
    assert [title for title in PAGE if "/" in title] == ORDER


def test_the_page_lists_exactly_the_known_types_beyond_the_core() -> None:
    text = page("docs/events.md")
    (paragraph,) = (line for line in text.splitlines() if line.startswith("`agent-preset/"))
    assert code_in(paragraph) == sorted(KNOWN_TYPES - CORE_TYPES)


def test_the_page_names_exactly_the_types_that_are_never_legal() -> None:
    (named,) = re.findall(r"Never legal: (.*)\.$", page("docs/events.md"), re.MULTILINE)
    assert set(code_in(named)) == PACKED_TYPES | LEGACY_TYPES
    for name in code_in(named):
        assert refused(admit_data(name), {})


def test_the_envelope_is_what_append_stores_and_has_no_further_key() -> None:
    stored = example("The envelope")
    rows = PAGE["The envelope"].table("field", "type", "stored", "says")
    named = {code_in(row["field"])[0]: row["stored"] for row in rows}
    assert named.keys() | {"surfaceOp", "sourceEventSeqs"} == ENVELOPE_KEYS
    assert {name for name, when in named.items() if when == "always"} == stored.keys()
    header = example("Session header")
    with MemoryStore() as store, store.create("s1") as session:
        event = session.append(stored["type"], stored["data"], time_ms=stored["time"])
        assert event.to_json() == stored
    Session.from_restore("s1", [{**stored, "ignorable": True}], header)
    for wrong in ({**stored, "more": 1}, *(without(stored, [key]) for key in stored)):
        with pytest.raises(RestoreRefused):
            Session.from_restore("s1", [wrong], header)


def append_example(session: Session, type: str) -> None:
    surface = "append" if type in SURFACE_TYPES else None
    session.append(type, example(type), surface=surface)


def test_the_examples_in_the_order_of_the_page_are_one_whole_session() -> None:
    with MemoryStore() as store, store.create("page", strict=True) as session:
        for name in ORDER:
            append_example(session, name)
        session.flush()
        assert session.next_seq == len(CORE_TYPES)
        assert session.breaches == ()
        assert repair(session.log) == []
        assert [message.role for message in session.messages()] == ["user", "assistant", "user"]
        session.request()


@pytest.mark.parametrize("row", OVERVIEW, ids=ORDER)
def test_a_type_takes_the_surface_operation_and_makes_the_message_that_the_page_says(
    row: dict[str, str],
) -> None:
    (name,) = code_in(row["type"])
    right = "append" if row["on the Surface"] == "yes" else None
    wrong = None if right else "append"
    with MemoryStore() as store, store.create("page") as session:
        with pytest.raises(SurfaceRefused):
            session.append(name, example(name), surface=wrong)
        event = session.append(name, example(name), surface=right)
        made = [message.value for message in session.messages()]
        expected = {
            "none": [],
            "`data`": [event.to_json()["data"]],
            "`data.message`": [event.to_json()["data"].get("message")],
        }
        assert made == expected[row["Message"]]


def test_an_answer_without_content_makes_no_message() -> None:
    data = changed(example("assistant/message"), path_of("message.content"), [])
    with MemoryStore() as store, store.create("page") as session:
        session.append("assistant/message", data, surface="append")
        assert session.messages() == []


def test_the_replace_takes_the_place_of_what_it_names() -> None:
    value = example("Surface fields")
    with MemoryStore() as store, store.create("page") as session:
        append_example(session, "user/message")
        append_example(session, "user/message")
        event = session.append(
            value["type"],
            value["data"],
            surface=value["surfaceOp"],
            sources=value["sourceEventSeqs"],
        )
        assert [message.seq for message in session.messages()] == [event.seq]
        assert event.surface == Replace(0, 1)
        stored = event.to_json()
        assert {key: stored[key] for key in value} == value


def test_every_surface_operation_of_the_page_is_one() -> None:
    rows = PAGE["Surface fields"].table("form", "says")
    operations = [json.loads(code_in(row["form"])[0]) for row in rows]
    assert operations == ["append", example("Surface fields")["surfaceOp"]]


def test_adapter_defaults_are_as_the_page_says() -> None:
    header = example("Request header")
    header["config"] |= {"reasoningEffort": "high", "maxTokens": 5}
    admit_request_header(
        {**header, "adapterDefaults": {"reasoningEffort": True, "maxTokens": True}}
    )
    for wrong in ({"stop": True}, {"maxTokens": False}, {"maxTokens": 5}):
        assert refused(admit_request_header, {**header, "adapterDefaults": wrong})
    del header["config"]["maxTokens"]
    assert refused(admit_request_header, {**header, "adapterDefaults": {"maxTokens": True}})


def test_a_whole_number_as_a_fraction_is_no_seq_for_append() -> None:
    for name in ("turn/start", "step/start", "tool/call", "agent/inbox/spliced"):
        whole = example(name)
        for path in object_keys(whole):
            if path[-1] in ("turn", "step", "start"):
                value = changed(whole, path, float(at(whole, path)))
                assert refused(CHECKS[name], value), (name, path)


def test_an_unregistered_type_is_refused_unless_it_is_ignorable() -> None:
    registry = Registry()
    with pytest.raises(UnregisteredType):
        admit(Draft("x/own", {}), 0, 0, registry)
    assert admit(Draft("x/own", {}, ignorable=True), 0, 0, registry).ignorable
    registry.register("x/own")
    assert not admit(Draft("x/own", {}), 0, 0, registry).ignorable
