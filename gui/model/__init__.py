"""What the window knows: history of signals and results, alarms, the state of the service. No Qt."""
