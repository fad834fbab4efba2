"""The pytest plugin, on a stand-in of the API."""

from __future__ import annotations

import pytest

TESTS = """
import pytest, ramaria

@pytest.fixture(scope="session")
def ramaria_template():
    return ramaria.Template.from_callable(lambda database: None, name="shop", key="1")

@pytest.mark.parametrize("n", range(6))
def test_many(ramaria_db, n):
    assert ramaria_db.name.startswith("shop_")

@pytest.mark.ramaria("other")
def test_marked(ramaria_db):
    assert ramaria_db.template == "other"
"""


@pytest.fixture(autouse=True)
def environment(api, monkeypatch):
    monkeypatch.setenv("RAMARIA_API", api.path)
    for name in ("RAMARIA_INSTANCE", "RAMARIA_SERVER", "RAMARIA_VOLUME"):  # the fake has none
        monkeypatch.delenv(name, raising=False)


def leases(api):
    return [body["template"] for method, path, body in api.asked if (method, path) == ("POST", "/v1/databases")]


def test_a_test_costs_one_reset(api, pytester):
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess().assert_outcomes(passed=7)
    assert len(leases(api)) == 2
    assert len([path for path in api.requests("POST") if path.endswith("/reset")]) == 7
    assert len(api.requests("DELETE")) == 2


def test_each_worker_has_its_own(api, pytester):
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess("-n2").assert_outcomes(passed=7)
    assert leases(api).count("other") == 1
    assert 1 <= len(leases(api)) - 1 <= 2


def test_the_configuration_names_a_function(api, pytester):
    pytester.makeini("[pytest]\nramaria_fill = filling:fill\npythonpath = .")
    pytester.makepyfile(filling="def fill(database): print('filled', database.name)")
    pytester.makepyfile("def test_it(ramaria_db): assert ramaria_db.template.startswith('fill_')")
    pytester.runpytest_subprocess("-s").stdout.fnmatch_lines(["*filled fill_*"])


def test_without_a_template_there_is_a_hint(pytester):
    pytester.makepyfile("def test_it(ramaria_db): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*hint: set ramaria_dump*"])


FAILING = """
import pytest

@pytest.mark.ramaria("shop")
@pytest.mark.parametrize("n", range(3))
def test_it(ramaria_db, n):
    assert n != 1
    assert ramaria_db.name == ("shop_1" if n == 0 else "shop_2")
"""


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_failed_test_keeps_its_database(api, pytester, workers):
    pytester.makepyfile(FAILING)
    result = pytester.runpytest_subprocess("--ramaria-keep", workers)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*Ramaria*", "*kept: mysql://u:secret@127.0.0.1:1/shop_1"])
    resets = [path for path in api.requests("POST") if path.endswith("/reset")]
    assert resets == ["/v1/databases/shop_1/reset", "/v1/databases/shop_2/reset"]
    assert api.requests("DELETE") == ["/v1/databases/shop_2"]
