"""How structures move: integration of equations that are smooth, or that switch at events, which are located."""
