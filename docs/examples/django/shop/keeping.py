from django.test import TransactionTestCase
from django.test.runner import DiscoverRunner


class Runner(DiscoverRunner):
    """Has nothing put back between tests."""

    def run_suite(self, suite, **kwargs):
        TransactionTestCase._fixture_teardown = lambda self: None
        return super().run_suite(suite, **kwargs)
