"""The attacks of tests/attack."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "attack"))
import hostile_files
import run as attacks


@pytest.mark.parametrize("attack", hostile_files.ATTACKS, ids=lambda attack: attack.name)
def test_a_hostile_file_costs_little_and_is_refused_with_a_reason(attack, tmp_path):
    for program, cost, found in attacks.run_attack(attack, tmp_path):
        assert found == [], (program, cost)
