"""The witness checker: concrete, small, no solver (paper Def. 3.4).

Shares neither the encodings nor the search; `correct` is never said before a witness has passed here. `checker` judges
logs of SQL, `objects` those of operations on objects, which takes nothing of SQL.
"""
