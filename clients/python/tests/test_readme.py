"""The first example of the README, and that of the page on test suites, as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
HOWTO = README.parent / "fast-test-suite.md"


def test_the_first_example(real, pytester):
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", README.read_text(), re.M | re.S)
    files = [(language, text) for language, text in blocks if language in ("sql", "ini", "python")][:3]
    assert [language for language, _ in files] == ["sql", "ini", "python"]
    for (_, text), name in zip(files, ("schema.sql", "pytest.ini", "test_shop.py")):
        pytester.path.joinpath(name).write_text(text)
    pytester.runpytest_subprocess("-n2").assert_outcomes(passed=2)


def test_the_example_of_the_page(real, pytester):
    _, section = HOWTO.read_text().split("\n## Python\n")
    ini, python = (text for language, text in re.findall(r"^```(\w+)\n(.*?)^```", section, re.M | re.S)[:3] if language in ("ini", "python"))
    pytester.path.joinpath("schema.sql").write_text("CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer_id INT, item VARCHAR(50));")
    pytester.path.joinpath("pytest.ini").write_text(ini)
    pytester.path.joinpath("test_shop.py").write_text(python)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_it_fails_without_a_reset(real, pytester):
    """The negative control: both of its tests write to the same database."""
    text = next(text for language, text in re.findall(r"^```(\w+)\n(.*?)^```", README.read_text(), re.M | re.S) if language == "python")
    pytester.makeconftest("import ramaria\nramaria.Database.reset = lambda self, **how: None")
    pytester.path.joinpath("schema.sql").write_text("CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50));")
    pytester.makeini("[pytest]\nramaria_dump = schema.sql")
    pytester.makepyfile(text)
    pytester.runpytest_subprocess().assert_outcomes(passed=1, failed=1)
