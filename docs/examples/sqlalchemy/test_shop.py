from shop import Item
from sqlalchemy import select, text


def names(session):
    return session.scalars(select(Item.name).order_by(Item.id)).all()


def test_adds_an_item(session, n):
    session.add(Item(name=f"cocoa {n}"))
    session.commit()
    assert names(session) == ["tea", "coffee", f"cocoa {n}"]


def test_renames_an_item(session, n):
    session.get(Item, 1).name = f"chai {n}"
    session.commit()
    assert names(session) == [f"chai {n}", "coffee"]


def test_deletes_an_item(session, n):
    session.delete(session.get(Item, 2))
    session.commit()
    assert names(session) == ["tea"]


def test_alters_the_table(session, n):
    session.execute(text(f"ALTER TABLE items ADD COLUMN price_{n} INT"))
    assert names(session) == ["tea", "coffee"]


def test_sets_a_variable(session, n):
    session.execute(text(f"SET lock_wait_timeout = {100 + n}"))
    assert names(session) == ["tea", "coffee"]


def test_only_reads(session, n):
    assert names(session) == ["tea", "coffee"]
