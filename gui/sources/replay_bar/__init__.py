"""Controls of a replay: buttons, speed, timeline and faults."""
