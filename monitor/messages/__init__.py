"""Values that cross a process: blocks, events, alarms, health, requests."""
