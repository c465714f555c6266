"""The committed notebooks: made from their twins, executed, clean, with the default parameters.

Their outputs are compared one by one by `pytest --nbval notebooks` (`make test`).
"""

import ast
import io

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from conftest import ROOT
from PIL import Image

from rbpkit import InputError, paper
from rbpkit.tools.study import notebooks
from rbpkit.tools.study.notebooks import (
    from_twin,
    kept,
    notebook_names,
    notebooks_dir,
    run,
    socket_files,
)
from rbpkit.tools.study.params import load_params

NAMES = notebook_names()


def committed(name: str) -> nbformat.NotebookNode:
    return nbformat.read(notebooks_dir() / f"{name}.ipynb", as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]


def parameters_cell(notebook: nbformat.NotebookNode) -> dict[str, object]:
    """The literal values of the tagged cell."""
    [tagged] = (c for c in notebook.cells if "parameters" in c.metadata.get("tags", []))
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(tagged.source).body
        if isinstance(node, ast.Assign)
    }


def test_there_are_notebooks_and_each_has_its_twin():
    assert NAMES and NAMES == sorted(path.stem for path in notebooks_dir().glob("*.ipynb"))


@pytest.mark.parametrize("name", NAMES)
def test_twin_and_notebook_agree(name):
    made, found = from_twin(name), committed(name)
    assert [(c.cell_type, c.id, c.source, c.metadata) for c in made.cells] == [
        (c.cell_type, c.id, c.source, c.metadata) for c in found.cells
    ], f"edit notebooks/py/{name}.py, then `make notebooks`"


@pytest.mark.parametrize("name", NAMES)
def test_every_code_cell_was_executed_in_order_and_is_clean(name):
    cells = code_cells(committed(name))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert "execution" not in cell.metadata  # timings
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_pocket_yaml_and_checked_first(name):
    notebook = from_twin(name)
    given = parameters_cell(notebook)
    study = load_params(ROOT / "params" / "pocket.yaml").model_dump(mode="json")
    assert given == {key: study[key] for key in given}
    first = [ast.unparse(node) for node in ast.parse(code_cells(notebook)[1].source).body]
    done = [line for line in first if not line.startswith(("import ", "from "))]
    assert done[0] == "check_parameters(globals())"


OWN = """# %% tags=["parameters", "hide-input"]
ks = [1]
figures_dir = ""

# %%
print(ks, "seed" in globals())
if figures_dir:
    open(figures_dir + "/drawn", "w").close()
"""


def test_a_notebook_is_built_with_its_figures_and_run_with_what_it_declares(tmp_path, monkeypatch):
    folder = tmp_path / "notebooks"
    for one in (folder / "py", tmp_path / "figures"):
        one.mkdir(parents=True)
    (folder / "py" / "own.py").write_text(OWN)
    monkeypatch.setattr(notebooks, "notebooks_dir", lambda: folder)
    built = nbformat.read(notebooks.build("own"), as_version=4)
    assert (tmp_path / "figures" / "drawn").exists()
    assert parameters_cell(built) == {"ks": [1], "figures_dir": ""}
    assert built.cells[1].outputs[0].text == "[1] False\n"
    folded = [cell.metadata.get("jupyter", {}).get("source_hidden") for cell in built.cells]
    assert folded == [True, None]
    path = run("own", {"ks": [2], "seed": 7}, tmp_path / "out")
    assert nbformat.read(path, as_version=4).cells[-1].outputs[0].text == "[2] False\n"
    with pytest.raises(InputError, match="notebook own: FileNotFoundError"):
        run("own", {"figures_dir": "/none"}, tmp_path / "out")
    assert not path.exists()


def test_no_two_kernels_share_an_address():
    first, second = (socket_files().KernelManager for _ in range(2))
    assert first.transport == "ipc" and first.ip != second.ip


def test_figure_3_csv_holds_the_published_points():
    points = pd.read_csv(ROOT / "figures" / "figure_3.csv")
    drawn = points[points["source"] == "published"].set_index(["corpus", "model"])["value"]
    printed = paper.table("rbp_by_size").query("k == 1").rename(columns={"dataset": "corpus"})
    gap = (drawn - printed.set_index(["corpus", "model"])["rbp"]).abs()
    assert len(gap) == len(drawn) == len(printed) == 96 and gap.notna().all()
    assert gap.max() <= 1e-6


# -- what a build writes ---------------------------------------------------------------------


def drawn(title: str, height: float) -> bytes:
    """A small figure as a notebook has it."""
    figure, axes = plt.subplots(figsize=(2, 2))
    axes.plot([1, 2], [1, height], "o")
    axes.set(title=title, ylim=(0, 3))
    data = io.BytesIO()
    figure.savefig(data)
    return data.getvalue()


def test_a_picture_is_written_again_only_if_it_shows_something_else():
    few_colours = kept([], drawn("Here", 2))
    assert Image.open(io.BytesIO(few_colours)).mode == "P"
    as_of_another_palette = Image.open(io.BytesIO(few_colours)).convert("RGB")
    as_of_another_palette = as_of_another_palette.point(lambda level: max(level - 9, 0))
    data = io.BytesIO()
    as_of_another_palette.save(data, "PNG")
    old = [drawn("Other", 2), data.getvalue()]
    assert kept(old, drawn("Here", 2)) == old[1] != few_colours
    for title, height in (("Hero", 2), ("Here", 2.1)):
        assert kept(old, drawn(title, height)) not in old
