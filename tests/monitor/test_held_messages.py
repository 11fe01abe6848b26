"""What is sent again after a death: every message that is not settled, behind the headers that it needs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.recording.queues import UnacknowledgedMessages

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 3)),
        st.tuples(st.just("header"), st.sampled_from([b"signals", b"results"])),
        st.tuples(st.just("send"), st.none()),
        st.tuples(st.just("settle"), st.integers(0, 4)),
        st.tuples(st.just("rewind"), st.none()),
    ),
    max_size=60,
)


@given(ACTIONS)
def test_whoever_is_told_from_the_start_lacks_nothing(actions) -> None:
    held = UnacknowledgedMessages()
    everything: list[tuple[bytes, int, bytes]] = []  # message, samples, stream
    told = 0  # of everything
    settled = 0
    for number, (what, how) in enumerate(actions):
        if what == "add":
            everything.append((b"%d" % number, how, b""))
            held.add(b"%d" % number, how)
        elif what == "header":
            everything.append((b"%d" % number, 0, how))
            held.add(b"%d" % number, stream=how)
        elif what == "send" and held.first is not None:
            held.sent()
            told = max(told, len(everything) - len(held._unsent))
        elif what == "settle":
            settled = min(settled + how, sum(samples for _, samples, _ in everything[:told]))
            held.release(settled)
        elif what == "rewind":
            held.rewind()
            _lacks_nothing(held, everything, settled)
    held.rewind()
    _lacks_nothing(held, everything, settled)
    assert held.n_bytes == sum(len(each.content) + 200 for each in held._unsent)
    while held.first is not None:
        held.sent()
    held.release(0, idle=True)
    assert held.n_bytes == 0


def _lacks_nothing(held: UnacknowledgedMessages, everything: list[tuple[bytes, int, bytes]], settled: int) -> None:
    again = [each.content for each in held._unsent]
    assert held.unsent == sum(each.samples for each in held._unsent)
    # the samples that are not settled, and what came behind the last that is
    count, needed, headers = 0, [], {}
    for message, samples, stream in everything:
        count += samples
        if count > settled or (samples == 0 and count == settled):
            needed.append(message)
        elif stream:
            headers[stream] = message
    assert again[-len(needed) :] == needed if needed else True
    # a header that was told before comes first
    assert set(headers.values()) <= set(again) or any(message in needed for message in again)
