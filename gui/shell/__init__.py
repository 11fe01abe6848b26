"""What stands around the panels: actions, layouts, settings, export, notices."""
