"""Read a recorded run into arrays, and look at its worst moment: python analyse_run.py FILE.

FILE is a run file of `synchroscope monitor --record`, or any other recording that `synchroscope assess` reads. All
times count from the first sample, in s. For pandas: `pandas.DataFrame(record.signals, index=record.time)`.
"""

# %%
import sys

import numpy as np

from replay.record import Record, RecordingError, read_record


def worst(record: Record, actuator: str = "") -> tuple[float, float]:
    """Return the recorded delay that is the farthest from zero, and its time; NaN where there is none.

    In a run of several actuators the name of each is before its results.
    """
    delay = record.results.get(f"{actuator}_broadband_delay" if actuator else "broadband_delay")
    if delay is None or np.isnan(delay).all():
        return np.nan, np.nan
    row = int(np.nanargmax(np.abs(delay)))
    return float(delay[row]), float(record.results_time[row])


# %%
if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: analyse_run.py FILE")
    try:
        record = read_record(sys.argv[1])
    except (RecordingError, OSError) as problem:
        sys.exit(str(problem))
    print(record)
    actuators = sorted({channel.actuator for channel in record.channels if channel.actuator})
    for actuator in actuators:
        delay, at = worst(record, actuator if len(actuators) > 1 else "")
        print(f"{actuator}: {1e3 * delay:.2f} ms late at {at:.2f} s, its worst")
    for seconds, event in record.events:
        print(f"{seconds:.2f} s: {event.kind} {event.detail}")
