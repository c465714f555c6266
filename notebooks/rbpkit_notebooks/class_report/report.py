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

from rbpkit_notebooks.class_report import answers, drawing, hand_ins, studies, tables

# %% tags=["parameters"]
hand_ins_dir = "hand-ins"  # what students handed in
tables_dir = "class"  # where the tables go
names_file = ""  # the students' names, one on each line; empty: whoever handed something in

# %% [markdown]
# # The studies of a class

# %%
# Every file is read as if it had been made to do harm; one that cannot be read is a fault.
names = Path(names_file) if names_file else None
found = hand_ins.find_hand_ins(Path(hand_ins_dir), say=print, names=names)
class_slopes = tables.joined(
    found.read("studies", lambda file, path: studies.study_slopes(found, file, path))
)
class_answers = answers.joined_answers(
    found.read(
        "notebooks", lambda file, path: answers.read_answers(file, found.student(file), path)
    )
)
class_written = found.read("texts", lambda file, path: answers.read_written(path))
answers.note_copies(found.files["notebooks"], class_written, found.student, found.note)

# %% [markdown]
# ## Who handed in what

# %%
who = drawing.students_table(found, class_slopes, class_answers, class_written)
display(HTML(drawing.html_table(who, "students")))

# %% [markdown]
# ## Exponents
#
# Each panel is one family on one text; texts of students' own share a panel. A dot is the exponent
# &alpha; of one study with its 95% interval: the loss &minus;log RBP<sub>k</sub> falls as
# S<sup>&minus;&alpha;</sup>. The upright mark is that of all pocket sizes on the same text,
# or on the text that the title names. Grey: the range of the paper's exponents for that family. An
# open triangle at an edge is an exponent beyond it.

# %%
if len(class_slopes):
    every_exponent = drawing.html_table(drawing.exponents_table(class_slopes), "exponents")
    summary_line = f"All exponents as a table ({len(class_slopes)} rows; also in comparison.csv)"
    display(HTML(drawing.panels(class_slopes)))
    display(HTML(f"<details><summary>{summary_line}</summary>{every_exponent}</details>"))
else:
    display(HTML("<p>No study could be drawn.</p>"))

# %% [markdown]
# ## Answers
#
# The answers in the notebooks, which were not run: &#x2713; right, &#x2717; not yet, &ndash; not
# answered, ? not run since the answer was written. A number was checked once more, and with ! the
# notebook's output says right of an answer that is not. For any other answer the output is
# believed.

# %%
answers_page = drawing.html_table(drawing.answers_table(class_answers), "answers")
# Every cell begins with our sign, so no answer can look like one.
display(HTML(answers_page.replace("<td>\u2717", '<td class="wrong">\u2717')))

# %% [markdown]
# ## In their words

# %%
display(HTML(drawing.html_table(drawing.written_table(found, class_written), "texts")))

# %% [markdown]
# ## Files to look at

# %%
failed = [(file, f"failed: {reason}") for file, reason in sorted(found.faults)]
to_look_at = pd.DataFrame([*failed, *sorted(found.notes)], columns=["file", "what"])
display(HTML(drawing.html_table(to_look_at, "notes")))

# %%
failures = pd.DataFrame(found.faults, columns=["file", "reason"])
every_table = {"comparison": class_slopes, "answers": class_answers, "failures": failures}
tables.write_tables(Path(tables_dir), every_table)
print(f"{found.summary()}; open {Path(tables_dir) / 'class.html'}")
