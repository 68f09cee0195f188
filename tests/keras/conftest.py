"""Fixtures of the tests of Keras' files."""

import pytest

from goldens import Golden


@pytest.fixture
def golden(tmp_path):
    return lambda *case: Golden(*case, tmp_path)
