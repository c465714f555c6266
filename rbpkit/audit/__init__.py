"""The audit: how sure each claim of the paper is, by its own points and by what was measured."""
