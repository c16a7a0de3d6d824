"""The attacks of tests/attack, and templates that want more than they may have."""
import pathlib
import sys

import pytest
from test_bad_files import write
from worker_process import Worker

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "attack"))
import hostile_files
import network
import run as attacks


@pytest.mark.parametrize("attack", hostile_files.ATTACKS, ids=lambda attack: attack.name)
def test_a_hostile_file_costs_little_and_is_refused_with_a_reason(attack, tmp_path):
    for program, cost, found in attacks.run_attack(attack, tmp_path):
        assert found == [], (program, cost)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory, model_path):
    with network.daemon_to_attack(tmp_path_factory.mktemp("attacked"), model_path) as daemon:
        yield daemon


@pytest.mark.parametrize("attack", network.ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_costs_little_and_others_are_answered(attack, attacked):
    result = network.run_attack(attacked, attack)
    assert result.faults == [], result.costs
    assert result.neighbour.answered >= 2


BOMBS = {
    "steps": "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "memory": "{% set n = namespace(s='x') %}{% for a in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}",
    "depth": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_template_that_passes_a_limit_is_a_refused_model(bomb, tmp_path, protos):
    write(tmp_path / "m.gguf", tokenizer={"template": BOMBS[bomb]})
    worker = Worker(tmp_path, tmp_path / "m.gguf", protos, start=False)
    worker.start()
    with worker:
        assert worker.process.wait(timeout=120) == 3, worker.log_path.read_text()  # refused: not tried again
        assert "template" in (reason := worker.report_text()) and "limit" not in reason.split("template")[0], reason
