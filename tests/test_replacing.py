"""What is replaced for a while is restored, also after errors."""

import pytest

from gluon_same.replacing import replaced


class Base:
    inherited = 1


class Holder(Base):
    own = 2


def test_entries_of_a_dict_are_restored():
    held = {"a": 1}
    with pytest.raises(ZeroDivisionError), replaced(held, {"a": 2, 3: 4}):
        assert held == {"a": 2, 3: 4}
        raise ZeroDivisionError
    assert held == {"a": 1}


def test_attributes_of_a_class_are_restored():
    with pytest.raises(ZeroDivisionError), replaced(Holder, {"own": 3, "inherited": 4, "new": 5}):
        assert (Holder.own, Holder.inherited, Holder.new, Base.inherited) == (3, 4, 5, 1)
        raise ZeroDivisionError
    assert vars(Holder)["own"] == 2 and not {"inherited", "new"} & vars(Holder).keys()
