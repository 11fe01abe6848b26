"""Child processes of the window: services, replays, jobs; and the sessions that own them."""
