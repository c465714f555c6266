"""The page of a class: tables of a folder of hand-ins, and a page of them (`page.html`)."""
