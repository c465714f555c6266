"""Parameter files: what is read, and what is refused before anything runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rbpkit
from rbpkit.errors import InputError
from rbpkit.study.params import INJECTED, Params, check_parameters, load_params

ROOT = Path(__file__).resolve().parents[2]
GOOD = "source: pocket\nfamilies: [Pythia]\ncorpus_names: ['pocket:qa']\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", sorted((ROOT / "params").rglob("*.yaml")), ids=lambda p: p.stem)
def test_shipped_files_are_valid(path):
    assert load_params(path).corpus_names


def test_defaults_and_lists(tmp_path):
    params = load_params(write(tmp_path, GOOD + "ks: [3, 1]\ndocuments: null\n"))
    assert params.ks == (3, 1) and params.documents is None and params.max_length == 512


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("max_lenght: 12", "unknown key 'max_lenght'; did you mean max_length?"),
        ("dtype: float8", "dtype:"),
        ("max_length: '256'", "max_length:"),
        ("max_length: 1e-3", "max_length:"),  # text to YAML
        ("max_length: true", "max_length:"),
        ("max_length: 2.0", "max_length:"),
        ("ks: [0]", "ks:"),
        ("ks: []", "ks:"),
        ("ks: 5", "ks: must be a list"),
        ("ks: [1, 1]", "ks: names something twice"),
        ("Ns: [no]", "Ns:"),  # bare no: a boolean
        ("corpus_names: []", "'corpus_names' is given twice"),
        ("threads: -1", "threads:"),
        ("seed: {a: 1}", "seed:"),
        ("device: !!python/object/apply:os.system ['true']", "constructor"),
        ("records_dir: [", "study.yaml"),
        ("seed: 010", "seed:"),  # eight to YAML 1.1
        ("max_length: 1:30", "max_length:"),  # ninety to YAML 1.1
        ("seed: 0x10", "seed:"),
        ("max_length: 1_000", "max_length:"),
        ("max_length: 10000000000000000000000000", "max_length:"),
        ("ks: [1, 10000000000000000000000000]", "ks:"),
        ("Ns: &a [1]\nks: *a", "alias *a in line 5: write it out"),
    ],
)
def test_bad_lines_are_one_line_with_file_and_key(tmp_path, line, says):
    with pytest.raises(InputError) as caught:
        load_params(write(tmp_path, GOOD + line + "\n"))
    message = str(caught.value)
    assert says in message and "study.yaml" in message and "\n" not in message


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words", "source: pocket\n"])
def test_files_that_are_no_parameter_file(tmp_path, text):
    with pytest.raises(InputError, match=r"study\.yaml"):
        load_params(write(tmp_path, text))


def test_missing_and_undecodable_files(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_params(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        load_params(tmp_path / "bytes.yaml")


def test_no_key_shadows_a_module():
    modules = {path.stem for path in Path(rbpkit.__file__).parent.glob("*.py")}
    assert not modules & set(Params.model_fields)


def test_injected_parameters_are_held_to_the_same_rules():
    def check(*lines: str) -> None:
        check_parameters({"In": ["", "famlies = 1", INJECTED + "\n".join(lines)]})

    check('families = ["Qwen"]', "ks = [3]", "device = None")
    check_parameters({})  # outside IPython
    for line, says in [
        ("famlies = ['Qwen']", "papermill: unknown key 'famlies'; did you mean families?"),
        ("seed = float('nan')", "seed: input should be a valid integer"),
        ("threads = True", "threads: input should be a valid integer"),
    ]:
        with pytest.raises(InputError, match=re.escape(says)) as raised:
            check("families = ['Qwen']", line)
        assert "\n" not in str(raised.value)
        assert raised.value._render_traceback_() == [f"InputError: {raised.value}"]
