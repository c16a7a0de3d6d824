"""The JSON-Schema-Test-Suite's schemas: each is refused by name, or whatever it generates validates, and each valid instance is taken.

The suite is inside the source package of jsonschema, which is fetched once. INFERD_SCHEMA_WALKS sets how many texts are generated for
each schema."""
import itertools
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import jsonschema
import pytest

WALKS = int(os.environ.get("INFERD_SCHEMA_WALKS", "1000"))
DRAFTS = {"draft2020-12": jsonschema.Draft202012Validator, "draft7": jsonschema.Draft7Validator}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
MOST_MEMBERS = 5  # of an instance whose members are tried in every order


@pytest.fixture(scope="module")
def suite():
    version = jsonschema.__version__
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "inferd" / "schema-suite"
    archive = cache / f"jsonschema-{version}.tar.gz"
    if not archive.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", cache, f"jsonschema=={version}"], check=True)
    cases = []
    with tarfile.open(archive) as files:
        for member in sorted(files.getnames()):
            parts = member.split("/")
            if len(parts) == 5 and parts[1:3] == ["json", "tests"] and parts[3] in DRAFTS and member.endswith(".json"):
                groups = json.load(files.extractfile(member))
                cases += [(parts[3], parts[4], group) for group in groups]
    assert len(cases) > 500
    return cases


class Walks:
    """Runs schema-walks, one task after the other."""

    def __init__(self, folder):
        program = Path(os.environ.get("INFERD_BUILD", "build/release")) / "bin" / "schema-walks"
        self.errors = open(folder / "schema-walks.err", "w+")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def ask(self, **task):
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"schema-walks died of {json.dumps(task)[:2000]}"
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.errors.close()


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    running = Walks(tmp_path_factory.mktemp("walks"))
    yield running
    running.close()


def plainest(value):
    """The value with numbers as they are written most simply."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [plainest(element) for element in value]
    if isinstance(value, dict):
        return {key: plainest(element) for key, element in value.items()}
    return value


def forms(value):
    """Texts that mean the value: members are in any order, as the schema wants them in one."""
    value = plainest(value)
    orders = [value]
    if isinstance(value, dict) and len(value) <= MOST_MEMBERS:
        orders = [dict(order) for order in itertools.permutations(value.items())]
    elif isinstance(value, list) and len(value) <= MOST_MEMBERS:
        # Elements that are objects, each in an order of its own.
        each = [[dict(order) for order in itertools.permutations(element.items())] if isinstance(element, dict) else [element] for element in value]
        orders = list(itertools.islice((list(one) for one in itertools.product(*each)), 200))
    return [json.dumps(one, ensure_ascii=escaped, separators=(",", ":")) for one in orders for escaped in (False, True)]


def of_draft(schema, draft):
    if isinstance(schema, dict) and draft == "draft7":
        return {"$schema": DRAFT_7, **schema}
    return schema


def check_generated(answer, validator, what):
    for text in answer["generated"]:
        try:
            value = json.loads(text)
        except ValueError:
            raise AssertionError(f"{what} generates {text!r}, which is not JSON") from None
        errors = list(itertools.islice(validator.iter_errors(value), 1))
        assert not errors, f"{what} generates {text}: {errors[0].message}"


# Files whose valid instances need not be taken, each with the reason.
NOT_TAKEN = {
    "format.json": "formats that are known are bound, though the standard only describes with them",
    "vocabulary.json": "keywords are bound, though the meta-schema that is named leaves them out",
}


def test_what_the_suites_schemas_generate_validates(suite, walks):
    refused, taken = {}, 0
    faults = []
    for draft, file, group in suite:
        schema = of_draft(group["schema"], draft)
        what = f"{draft}/{file}: {group['description']}"
        validator = DRAFTS[draft](schema)
        instances = [test for test in group["tests"] if test["valid"]]
        texts = [forms(test["data"]) for test in instances]
        answer = walks.ask(schema=schema, narrow=False, walks=WALKS, seed=7, texts=[text for some in texts for text in some])
        if "error" in answer:
            if "no text is complete" in answer["error"] and not instances:
                continue
            refused[what] = answer["error"]
            if not answer["error"].startswith("at #"):
                faults.append(f"{what}: refused without a place: {answer['error']}")
            continue
        try:
            check_generated(answer, validator, what)
            narrow = walks.ask(schema=schema, narrow=True, walks=WALKS, seed=11)
            if "error" in narrow:
                faults.append(f"{what}: {narrow['error']}")
            else:
                check_generated(narrow, validator, what + " (narrow)")
        except AssertionError as fault:
            faults.append(str(fault)[:600])
        marks = iter(answer["taken"])
        for test, some in zip(instances, texts):
            if not any([next(marks) for _ in some]) and file not in NOT_TAKEN:
                faults.append(f"{what}: does not take {json.dumps(test['data'])[:200]} ({test['description']}) schema {json.dumps(schema)[:300]}")
            taken += 1
    (Path(walks.errors.name).parent / "refused.json").write_text(json.dumps(refused, indent=1))
    if os.environ.get("INFERD_SCHEMA_REFUSED"):
        Path(os.environ["INFERD_SCHEMA_REFUSED"]).write_text(json.dumps(refused, indent=1))
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(faults)
    assert taken > 400 and len(refused) < 450, (taken, len(refused))
