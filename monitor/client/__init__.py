"""The Python client: `connect` receives the results of a service, `Rig` sends signals to one."""
