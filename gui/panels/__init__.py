"""What can be seen: one panel a file, each with the methods of `gui.panels.base.Panel`."""
