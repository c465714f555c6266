# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %%
from pathlib import Path

import pandas as pd
from IPython.display import HTML, display

from rbpkit_pocket.class_report import drawing, hand_ins, studies, tables

# %% tags=["parameters"]
hand_ins_dir = "hand-ins"  # what students handed in
tables_dir = "class"  # where the tables go
run_notebook = ""  # a notebook to run on each study, by its name

# %% [markdown]
# # The studies of a class

# %%
# Every file is read as if it had been made to do harm; one that cannot be read is a fault.
found = hand_ins.find_hand_ins(Path(hand_ins_dir), say=print)
runs_dir = Path(tables_dir) / "runs"
class_tables = tables.joined_tables(
    found.read(
        "studies", lambda file, path: studies.study_tables(found, file, run_notebook, runs_dir)
    )
)
class_answers = hand_ins.joined_answers(found.read("notebooks", hand_ins.read_answers))
class_texts = found.read("texts", lambda file, path: hand_ins.read_text(path))

# %% [markdown]
# Each panel is one family on one text. A point is the exponent &alpha; of one student's study: the
# loss falls as S<sup>&minus;&alpha;</sup>, with cross-entropy (CE) at the left and
# &minus;log RBP<sub>k</sub> for each k. The black line joins the exponents of all pocket sizes on
# the same text, or on the text that the title names. Grey: the range of the paper's exponents for
# that family. Point at a mark to see whose it is; panels with more than eight students show no
# names and no intervals. All panels have the same axes; an open triangle at an edge is an exponent
# beyond it.

# %%
if "comparison" in class_tables:
    class_slopes = class_tables["comparison"]
    every_exponent = drawing.html_table(drawing.exponents_table(class_slopes), "exponents")
    summary_line = f"All exponents as a table ({len(class_slopes)} rows; also in comparison.csv)"
    display(HTML(drawing.panels(class_slopes)))
    display(HTML(f"<details><summary>{summary_line}</summary>{every_exponent}</details>"))
else:
    display(HTML("<p>No study could be drawn.</p>"))

# %% [markdown]
# ## Answers
#
# What the checks in the handed-in notebooks said, with the answer. The notebooks were read, not
# run. &#x2713; right, &#x2717; not yet, &ndash; not answered, ? not run since the answer was
# written.

# %%
answers_page = drawing.html_table(drawing.answers_table(class_answers), "answers")
# Every cell begins with our sign, so no answer can look like one.
display(HTML(answers_page.replace("<td>\u2717", '<td class="wrong">\u2717')))

# %% [markdown]
# ## In their words

# %%
written = [(hand_ins.student_of(file), text) for file, text in class_texts.items()]
written_table = pd.DataFrame(written, columns=["student", "answers.md"])
display(HTML(drawing.html_table(written_table, "texts")))

# %% [markdown]
# ## Files to look at

# %%
failed = [(file, f"failed: {reason}") for file, reason in sorted(found.faults)]
to_look_at = pd.DataFrame([*failed, *sorted(found.notes)], columns=["file", "what"])
display(HTML(drawing.html_table(to_look_at, "notes")))

# %%
unchanged = [(student, ", ".join(names)) for student, names in sorted(found.unchanged.items())]
unchanged_table = pd.DataFrame(unchanged, columns=["student", "files"])
summary_line = f"Not handed in, since not changed ({len(unchanged)} students)"
unchanged_page = drawing.html_table(unchanged_table, "unchanged")
if unchanged:
    display(HTML(f"<details><summary>{summary_line}</summary>{unchanged_page}</details>"))

# %%
tables.write_tables(Path(tables_dir), class_tables, class_answers, found.faults)
print(f"{found.summary()}; open {Path(tables_dir) / 'class.html'}")
