"""The commands of `workbook`: one file each, named like the command. See `labs/cli.py`."""
