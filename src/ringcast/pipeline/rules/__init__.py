"""Rules: one file per guarantee, written independently of the checkers.

A rule has up to two halves. A *local* half folds over one member's events, in arrays, inside a Spark task (the task
reads its own row groups). A *joined* half is plain DataFrame code over the small tables that the local halves and the
ingest leave: facts, control events, members. Empty means it held; `examined` says how much was looked at.
"""
