# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The studies of a class

# %% tags=["parameters"]
hand_ins_dir = "hand-ins"  # what students handed in
tables_dir = "class"  # where the tables go
run_notebook = ""  # a notebook to run on each study, by its name

# %%
from pathlib import Path

from IPython.display import HTML, display

from rbpkit_pocket.class_report.drawing import (
    answers_table, exponents_table, folded, panels, section, table_html,
)  # fmt: skip
from rbpkit_pocket.class_report.hand_ins import (
    find_hand_ins, joined_answers, read_answers, read_text, student_of,
)  # fmt: skip
from rbpkit_pocket.class_report.studies import study_tables
from rbpkit_pocket.class_report.tables import joined_tables, write_tables

# %%
hand_ins, class_dir = Path(hand_ins_dir), Path(tables_dir)
found = find_hand_ins(hand_ins, say=print)


def read_study(file, path):
    tables = study_tables(path, found.folder, run_notebook, class_dir / "runs" / file)
    print(f"{file}: done")
    return tables


tables_of_class = joined_tables(found.read("studies", read_study))
given_answers = joined_answers(found.read("notebooks", read_answers))
own_words = found.read("texts", lambda file, path: read_text(path))

# %% A panel for each family and text
slopes_of_class = tables_of_class.get("comparison")
if slopes_of_class is None:
    display(HTML("<p>No study could be drawn.</p>"))
else:
    display(HTML(section("Exponents", """
Each panel is one family on one text. A point is the exponent α of one student's study: the loss
falls as S<sup>−α</sup>, with cross-entropy (CE) at the left and −log RBP<sub>k</sub> for each k.
The black line joins the exponents of all pocket sizes on the same text, or on the text that the
title names. Grey: the range of the paper's exponents for that family. Point at a mark to see whose
it is; panels with more than eight students show no names and no intervals. All panels have the same
axes; an open triangle at an edge is an exponent beyond it.
""", panels(slopes_of_class))))  # fmt: skip
    title = f"All exponents as a table ({len(slopes_of_class)} rows; also in comparison.csv)"
    display(HTML(folded(title, exponents_table(slopes_of_class))))

# %% What the checks in their notebooks said
display(HTML(section("Answers", """
What the checks in the handed-in notebooks said, with the answer. The notebooks were read, not run.
✓ right, ✗ not yet, – not answered, ? not run since the answer was written.
""", answers_table(given_answers))))  # fmt: skip

# %% What they wrote
words = [(student_of(file), text) for file, text in own_words.items()]
words_table = table_html(("student", "answers.md"), words, "texts")
display(HTML(section("In their words", "", words_table)))

# %% What the teacher has to look at: failures first
notes = [(file, f"failed: {reason}") for file, reason in sorted(found.faults)]
notes += sorted(found.notes)
notes_table = table_html(("file", "what"), notes, "notes")
display(HTML(section("Files to look at", "", notes_table)))
left = [(student, ", ".join(names)) for student, names in sorted(found.unchanged.items())]
title = f"Not handed in, since not changed ({len(left)} students)"
display(HTML(folded(title, table_html(("student", "files"), left, "unchanged"))))

# %%
write_tables(class_dir, tables_of_class, given_answers, found.faults)
print(f"{found.summary()}; open {class_dir / 'class.html'}")
