"""One report in every format: what people and programs get from the same data."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from kafkabal.errors import UsageError
from kafkabal.reporting.cell_formats import bars, show_value
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.report import Column, Fact, Metric, Report, Table, Tone, ValueKind, counted, known

USED = Metric("kafkabal_used_bytes", "Bytes used.")


def share_of(score: str) -> Metric:
    """A metric that two columns have in common."""
    return Metric("kafkabal_share", "Share.", {"score": score})


TABLE = Table(
    key="brokers",
    columns=(
        Column(key="broker", title="broker", values=[1, 2, 3], label=True),
        Column(key="rack", title="rack", values=["r0", None, 'a "rack"'], label=True),
        Column(
            key="used_bytes",
            title="used",
            kind=ValueKind.BYTES,
            values=[1024, None, 5 * 2**30],
            estimated=[False, False, True],
            metric=USED,
        ),
        Column(
            key="disk",
            title="disk",
            kind=ValueKind.FAIR,
            values=[0.5, None, 1.5],
            outside=[-1, 0, 1],
            metric=share_of("disk"),
        ),
        Column(key="leaders", title="", values=[1.0, 2.0, None], metric=share_of("leaders")),
        Column(key="bar", title=" ", kind=ValueKind.FAIR_BAR, values=[0.5, None, 1.5]),
        Column(key="offline", title="offline", kind=ValueKind.NUMBER, values=[0, 0, 0], quiet=True),
        Column(key="on", title="on", values=[["a", "b"], [], True]),
    ),
)
REPORT = Report(
    command="probe",
    headline="Broker 3 has most.",
    facts=(
        Fact(
            key="n_brokers",
            value=3,
            title="brokers",
            kind=ValueKind.NUMBER,
            metric=Metric("kafkabal_brokers", "Brokers."),
        ),
        Fact(key="secret", value=None, metric=Metric("kafkabal_secret", "Not known.")),
    ),
    tables=(TABLE,),
    notes=("Mind the gap.",),
)


def test_people_get_headline_facts_table_and_notes() -> None:
    """Bytes are shown with units, unknown as a dash, estimates with a tilde, outliers with an arrow."""
    assert render(REPORT, "table", OutputCapabilities()) == (
        "Broker 3 has most.\n"
        "brokers: 3\n"
        "\n"
        "broker  rack           used     disk                    on\n"
        "1       r0         1.00 KiB  0.50x ▼  █████▍    ┊       a, b\n"
        "2       -                 -        -                    -\n"
        '3       a "rack"  ~5.00 GiB  1.50x ▲  ████████████████  yes\n'
        "\n"
        "Mind the gap.\n"
    )


def test_programs_get_raw_values() -> None:
    """JSON has the envelope first, raw numbers, null for unknown, no bars, and says what is an estimate."""
    document = json.loads(render(REPORT, "json", OutputCapabilities()))

    assert next(iter(document)) == "kafkabal"
    assert document["kafkabal"] == {"command": "probe", "version": 3}
    assert document["n_brokers"] == 3
    assert document["brokers"][1] == {
        "broker": 2,
        "rack": None,
        "used_bytes": None,
        "used_bytes_estimated": False,
        "disk": None,
        "leaders": 2.0,
        "offline": 0,
        "on": [],
    }


def test_programs_get_every_key_of_an_empty_report() -> None:
    """Headline and notes are there if empty, a table without rows, and marks of estimates without one."""
    columns = (Column(key="used_bytes", title="used", kind=ValueKind.BYTES, values=[], estimated=[]),)
    empty = Report(command="probe", tables=(Table(key="brokers", columns=columns),))
    assert json.loads(render(empty, "json", OutputCapabilities())) == {
        "kafkabal": {"command": "probe", "version": 3},
        "headline": "",
        "notes": [],
        "brokers": [],
    }
    assert render(empty, "csv", OutputCapabilities()) == "used_bytes,used_bytes_estimated\n"
    assert render(empty, "table", OutputCapabilities()) == ""


def test_yaml_and_json_have_the_same_content() -> None:
    """The two forms hold equal values in equal order; a time that never comes is null in both."""
    report = replace(REPORT, facts=(*REPORT.facts, Fact(key="full_s", value=math.inf)))
    document = json.loads(render(report, "json", OutputCapabilities()))
    loaded = yaml.safe_load(render(report, "yaml", OutputCapabilities()))

    assert loaded == document
    assert list(loaded) == list(document)


def test_yaml_of_a_long_table_is_one_document() -> None:
    """It is the text that PyYAML writes for the whole, though no more than a thousand rows are written at once."""
    values = [f"a 'name' of no: {i}" for i in range(2500)]
    table = Table(key="rows", columns=[Column(key="name", title="name", values=values)])
    report = replace(REPORT, tables=(table, replace(TABLE, key="others"), Table(key="none", columns=[])))
    document = json.loads(render(report, "json", OutputCapabilities()))

    text = render(report, "yaml", OutputCapabilities())

    assert text == yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def test_csv_is_the_first_table() -> None:
    """A header of keys, then raw values; unknown is empty, a list is joined, true and false are words of JSON."""
    rows = list(csv.DictReader(io.StringIO(render(REPORT, "csv", OutputCapabilities()))))

    assert [row["used_bytes"] for row in rows] == ["1024", "", "5368709120"]
    assert rows[0]["on"] == "a b"
    assert [row["used_bytes_estimated"] for row in rows] == ["false", "false", "true"]
    assert rows[2]["rack"] == 'a "rack"'


def test_an_object_in_csv_is_written_for_any_program() -> None:
    """An object becomes ``key=value`` pairs in CSV, not the text that Python makes of it."""
    attributes = Column(key="attributes", title="", values=[{"node_id": "node-1", "topic": "t"}, {}])
    report = Report(command="probe", tables=(Table(key="rows", columns=(attributes,)),))
    assert render(report, "csv", OutputCapabilities()) == 'attributes\nnode_id=node-1 topic=t\n""\n'


def test_prometheus_is_parsed_by_its_own_parser() -> None:
    """One family per name, labels of rows and columns combined, nothing for unknown values."""
    families = {f.name: f for f in text_string_to_metric_families(render(REPORT, "prometheus", OutputCapabilities()))}
    shares = {(s.labels["broker"], s.labels["score"]): s.value for s in families["kafkabal_share"].samples}

    assert set(families) == {"kafkabal_brokers", "kafkabal_used_bytes", "kafkabal_share"}
    assert shares == {("1", "disk"): 0.5, ("3", "disk"): 1.5, ("1", "leaders"): 1.0, ("2", "leaders"): 2.0}
    assert {s.labels["rack"] for s in families["kafkabal_used_bytes"].samples} == {"r0", 'a "rack"'}


def test_labels_of_metrics_control_no_terminal() -> None:
    """Names in a snapshot or of a rack may hold escapes: they are written out, as in every other format for lines."""
    columns = (
        Column(key="rack", title="rack", values=["r\x1b[31m"], label=True),
        Column(key="share", title="", values=[1.0], metric=Metric("kafkabal_share", "Share.")),
    )
    report = Report(command="probe", metric_labels={"cluster": "c\u202e"}, tables=(Table(key="t", columns=columns),))
    (family,) = text_string_to_metric_families(render(report, "prometheus", OutputCapabilities()))
    assert family.samples[0].labels == {"cluster": r"c\u202e", "rack": r"r\x1b[31m"}


@pytest.mark.parametrize("form", ["csv", "prometheus"])
def test_an_unsupported_output_format_is_refused(form: str) -> None:
    """A report without tables or metrics is a usage error, not an empty file."""
    with pytest.raises(UsageError, match="probe"):
        render(Report(command="probe"), form, OutputCapabilities())


def test_an_unknown_form_is_refused() -> None:
    """The known ones are named."""
    with pytest.raises(UsageError, match="unknown output format: 'xml'"):
        render(REPORT, "xml", OutputCapabilities())


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_surface(width: int) -> None:
    """Bars are dropped, names are elided, then dispensable columns are hidden, and named."""
    wide = Report(
        command="probe",
        tables=(
            Table(
                key="t",
                columns=(
                    Column(key="name", title="name", values=["x" * 20]),
                    Column(key="bar", title=" ", kind=ValueKind.BAR, values=[1.0], dispensable=1),
                    Column(key="extra", title="extra", values=["y" * 20], dispensable=2),
                    Column(key="prose", title="prose", values=["many words " * 10], wraps=True),
                ),
            ),
        ),
    )
    text = render(wide, "table", OutputCapabilities(width=width))

    assert max(map(len, text.splitlines())) <= width
    hidden = text.replace("\n", " ").partition("columns hidden (terminal too narrow): ")[2]
    assert ("extra" in hidden) is (width < 52)
    assert ("prose" in hidden) is (width < 34)


def test_colour_only_where_the_surface_has_it() -> None:
    """Tones become colours on a terminal and nothing elsewhere."""
    toned = Report(command="probe", headline="Broken.", tone=Tone.BAD)

    assert "\x1b[" in render(toned, "table", OutputCapabilities(colour=True))
    assert render(toned, "table", OutputCapabilities()) == "Broken.\n"


@given(st.lists(st.none() | st.floats(0, 1e12), min_size=1), st.integers(1, 40), st.booleans(), st.booleans())
def test_bars_fit_and_keep_the_order(values: list[float | None], length: int, fair_mark: bool, unicode: bool) -> None:
    """No bar is longer than its cells, and a larger value never has a shorter bar."""
    drawn = bars(values, length=length, fair_mark=fair_mark, unicode=unicode)

    assert all(len(bar) <= length for bar in drawn)
    filled = [(v, len(bar.rstrip(" ┊|"))) for v, bar in zip(values, drawn, strict=True) if v is not None]
    assert [n for _, n in sorted(filled)] == sorted(n for _, n in filled)
    assert all(bar == "" for v, bar in zip(values, drawn, strict=True) if v is None)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, ValueKind.BYTES, "-"),
        (1536, ValueKind.BYTES, "1.50 KiB"),
        (1536.0, ValueKind.RATE, "1.50 KiB/s"),
        (0.123, ValueKind.PERCENT, "12.3%"),
        (1.2345, ValueKind.FAIR, "1.23x"),
        (12345, ValueKind.NUMBER, "12,345"),
        (0.5, ValueKind.NUMBER, "0.50"),
        (1.7e308, ValueKind.NUMBER, "1.700e+308"),
        (90.0, ValueKind.DURATION, "1 min 30 s"),
        (True, ValueKind.TEXT, "yes"),
        (False, ValueKind.TEXT, ""),
        ([3, 1], ValueKind.TEXT, "3,1"),
    ],
)
def test_values_are_shown_by_their_kind(value: object, kind: ValueKind, text: str) -> None:
    """Each kind has its own way to be read."""
    assert show_value(value, kind) == text


def test_columns_of_numpy_become_plain_values() -> None:
    """NaN and negative stand for unknown and become None; rounding errors of shares are gone, bytes are exact."""
    assert known(np.array([1.5, math.nan])) == [1.5, None]
    assert known(np.array([1 - 2**-53, 1.500000000000375, 2.0**52 + 1])) == [1.0, 1.5, 2.0**52 + 1]
    assert counted(np.array([7, -1])) == [7, None]


class _CountedMarks(list[int]):
    """Positions relative to a band that count how often the code goes through all of them."""

    passes = 0

    def __iter__(self) -> Iterator[int]:
        self.passes += 1
        return super().__iter__()


@pytest.mark.parametrize("fmt", ["table", "html"])
def test_a_column_is_not_gone_through_for_each_of_its_rows(fmt: str) -> None:
    """Whether any cell needs an arrow is asked once: a table of 12,000 log dirs must not take 144 million steps."""
    passes = []
    for rows in (3, 30):
        marks = _CountedMarks([0] * rows)
        column = Column(key="a", title="a", kind=ValueKind.NUMBER, values=list(range(rows)), outside=marks)
        render(Report(command="c", headline="", tables=(Table(key="t", columns=(column,)),)), fmt, OutputCapabilities())
        passes.append(marks.passes)
    assert passes[0] == passes[1]


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "\\u00e9t\\u00e9"), ("latin-1", "été"), ("utf-8", "été")])
def test_columns_are_aligned_as_they_are_written(encoding: str, shown: str) -> None:
    """A name that the device cannot show is as wide as its escapes; one that it can show stays as it is."""
    columns = [
        Column(key="file", title="file", values=["été", "winter"]),
        Column(key="n", title="n", kind=ValueKind.NUMBER, values=[1, 2]),
    ]
    report = Report(command="p", headline="Sent été.", tables=(Table(key="t", columns=columns),), notes=("not été",))

    text = render(report, "table", OutputCapabilities(encoding=encoding))

    headline, _, title, first, second, _, note = text.splitlines()
    assert (headline, note) == (f"Sent {shown}.", f"not {shown}")
    assert first.split() == [shown, "1"]
    assert len(title) == len(first) == len(second)
