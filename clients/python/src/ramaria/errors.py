"""What can go wrong; every error of this package is a RamariaError."""

from __future__ import annotations


class RamariaError(Exception):
    """Anything that Ramaria could not do. A hint, where there is one, is on a line of its own."""


class NoInstance(RamariaError):
    """No instance answers, and none could be started."""


class ApiError(RamariaError):
    """What an instance answered that did not do what it was asked.

    `code` is for programs: not_found, busy, full, no_room, changed and others; `status` is
    the HTTP status, `hint` what to do about it, or empty.
    """

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
