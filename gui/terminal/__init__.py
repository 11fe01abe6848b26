"""Terminal dashboard: values of a service as text."""
