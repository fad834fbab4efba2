"""The test runner."""

from __future__ import annotations

from typing import Any

from django.test.runner import DiscoverRunner, ParallelTestSuite

from .install import install, uninstall


def _init_worker(*args: Any, **kwargs: Any) -> None:
    install()  # a worker that was not forked knows nothing of it
    ParallelTestSuite.init_worker(*args, **kwargs)


class Suite(ParallelTestSuite):  # type: ignore[misc]
    """Tests in several processes, each with a clone of its own."""

    init_worker = _init_worker


class RunnerMixin:
    """For a runner of your own: class Runner(ramaria.django.RunnerMixin, YourRunner)."""

    parallel_test_suite = Suite

    def setup_databases(self, **kwargs: Any) -> Any:
        install()
        return super().setup_databases(**kwargs)  # type: ignore[misc]

    def teardown_databases(self, old_config: Any, **kwargs: Any) -> None:
        super().teardown_databases(old_config, **kwargs)  # type: ignore[misc]
        uninstall()


class Runner(RunnerMixin, DiscoverRunner):  # type: ignore[misc]
    """Django's own runner, on databases of Ramaria."""
