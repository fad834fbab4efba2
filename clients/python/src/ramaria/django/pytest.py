"""The runner's databases below pytest-django, which never asks TEST_RUNNER."""

from __future__ import annotations

from django.conf import settings
from django.utils.module_loading import import_string

from .install import install, release
from .runner import RunnerMixin


def begin() -> bool:
    """Installs Ramaria if the project's TEST_RUNNER is one of ours; tells whether it did."""
    try:
        runner = import_string(settings.TEST_RUNNER)
    except ImportError:  # nobody runs it here
        return False
    if not (isinstance(runner, type) and issubclass(runner, RunnerMixin)):
        return False
    install()
    return True


end = release
