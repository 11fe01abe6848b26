"""The run files of a folder: a row for each, held in an index that is made again from the files when it is lost."""
