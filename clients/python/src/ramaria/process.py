"""State that a process must not take over from the one that forked it."""

from __future__ import annotations

import os
from typing import Callable, Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that each process has for itself: a forked child begins with a new one.

    It has no lock, which a child could inherit locked. Two threads that ask first at the
    same time may get two values, of which one is kept.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._value = (os.getpid(), make())

    def get(self) -> T:
        pid, value = self._value
        if pid != os.getpid():
            value = self._make()
            self._value = (os.getpid(), value)
        return value
