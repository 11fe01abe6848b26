"""The main window: actions, menus, layouts, health strip, banners."""
