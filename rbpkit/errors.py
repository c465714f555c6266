"""The one error a user can act on."""


class InputError(ValueError):
    """Something the user gave cannot be used: a path, a field, a key, a model, a number.

    The message is one plain line that says what was wrong, where, and the way out;
    the command line prints it and exits with status 2.
    """
