"""The settings of what goes in and out: the rig's stream, the results, the recording."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from monitor.config.section import Positive, Section

# no message can bear a longer one
RigName = Annotated[str, Field(max_length=128)]


class StreamSettings(Section):
    """Where the signals come from.

    ``rig`` lets one rig through (empty: the first that speaks); ``sample_rate`` in Hz serves plain senders that
    say neither a rate nor times; ``stale_after`` in s is how long silence is taken for a pause.
    """

    connect: tuple[str, ...] = ()
    bind: tuple[str, ...] = ()
    rig: RigName = ""
    sample_rate: Positive | None = None
    stale_after: Positive = 5.0


class ResultSettings(Section):
    """Where results go: the endpoint that is bound, and whether the signals are sent on beside them.

    ``requests`` is the endpoint where clients ask for something, such as a note; empty or "none": nowhere.
    """

    publish: str = "tcp://127.0.0.1:5556"
    signals: bool = True
    requests: str = "tcp://127.0.0.1:*"


class RecordSettings(Section):
    """Where runs are kept: a file, or a folder in which every run gets a name; empty: nowhere.

    ``flush_interval`` in s is how much a kill may lose.
    """

    path: str = ""
    flush_interval: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
