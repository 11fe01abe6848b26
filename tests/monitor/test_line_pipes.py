"""Lines through pipes: whole, in order, and never waited for."""

import os
from time import monotonic

from hypothesis import given
from hypothesis import strategies as st

from replay.commands.line_pipes import LineReader, LineWriter


def lines_of(reader: LineReader) -> list[bytes]:
    found = []
    deadline = monotonic() + 30.0
    while not reader.closed:
        assert monotonic() < deadline
        line = reader.take(1.0)
        if line is not None:
            found.append(line)
    return found


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=20), st.integers(1, 50))
def test_lines_come_whole_however_they_are_cut(lines: list[bytes], cut: int) -> None:
    out, into = os.pipe()
    reader = LineReader(out, 100)
    data = b"".join(line + b"\n" for line in lines) + b"rest"
    for at in range(0, len(data), cut):
        os.write(into, data[at : at + cut])
    os.close(into)
    assert lines_of(reader) == [*lines, b"rest"]
    assert reader.take(0.0) is None
    os.close(out)


def test_of_a_line_that_is_too_long_one_byte_too_many_is_kept() -> None:
    out, into = os.pipe()
    reader = LineReader(out, 10)
    for _ in range(50):
        os.write(into, b"x" * 1000)
    os.write(into, b"\nshort\n")
    os.close(into)
    assert lines_of(reader) == [b"x" * 11, b"short"]
    os.close(out)


def test_nothing_there_is_not_waited_for_and_an_empty_line_is_a_line() -> None:
    out, into = os.pipe()
    reader = LineReader(out, 10)
    assert reader.take(0.0) is None
    assert not reader.closed
    os.write(into, b"\n")
    assert reader.take(10.0) == b""
    os.close(into)
    assert reader.take(10.0) is None
    assert reader.closed
    os.close(out)


def test_a_writer_whose_lines_nobody_reads_keeps_the_newest() -> None:
    out, into = os.pipe()
    writer = LineWriter(into)
    for number in range(20_000):
        writer.write(b"%050d\n" % number)
    read = b""
    while not read.endswith(b"%050d\n" % 19_999):
        read += os.read(out, 1 << 16)
    numbers = [int(line) for line in read.splitlines()]
    assert numbers == sorted(numbers)
    writer.close()
    for descriptor in (out, into):
        os.close(descriptor)


def test_a_writer_whose_reader_has_gone_ends_quietly() -> None:
    out, into = os.pipe()
    os.close(out)
    writer = LineWriter(into)
    writer.write(b"word\n")
    writer.write(b"word\n")
    writer.close()
    os.close(into)
