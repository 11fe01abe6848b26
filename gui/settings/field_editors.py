"""Which editor a setting needs."""

from __future__ import annotations

from gui.settings.choice_editors import ChoiceEditor, SeveralEditor, SwitchEditor
from gui.settings.field_editor import FieldEditor
from gui.settings.line_editors import FilesEditor, FolderEditor, NamesEditor, NumberEditor, PairEditor, TextEditor
from gui.settings.setting_field import SettingField


def editor_of(field: SettingField) -> FieldEditor:
    """Return the editor that a setting needs."""
    match field.kind:
        case "number" | "amount":
            return NumberEditor(field)
        case "pair":
            return PairEditor(field)
        case "switch":
            return SwitchEditor(field)
        case "choice":
            return ChoiceEditor(field)
        case "several":
            return SeveralEditor(field)
        case "names":
            return NamesEditor(field, ",")
        case "files":
            return FilesEditor(field)
        case "folder":
            return FolderEditor(field)
        case "text":
            return TextEditor(field)
