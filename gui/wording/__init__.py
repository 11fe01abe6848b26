"""Numbers, names, alarms and events as text. No Qt."""
