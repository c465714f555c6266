"""The page of a `Look`: one HTML file that needs nothing else, no network and no script.

The colours go from light to dark (on a dark screen from dark to light) in even steps, so that the
order of the ranks can be read in grey and by a colour-blind reader. The one script only moves the
focus with the arrow keys.
"""

from __future__ import annotations

import hashlib
import unicodedata
from base64 import b64encode
from bisect import bisect_left
from html import escape
from pathlib import Path
from string import Template

from rbpkit.files.writing import write_whole
from rbpkit.tools.look import Look, Token

BUCKETS = ("1", "2\u20135", "6\u201310", "11\u2013100", "101\u20131000", "above 1000")
"""The six groups of ranks that a token is coloured by."""
BOUNDS = (1, 5, 10, 100, 1000)  # the last rank of each group but the last

# (background, ink) of each group.
RAMPS = {
    "light": (
        *(("#edeff3", "#15171a"), ("#f3cf72", "#15171a"), ("#eba54c", "#15171a")),
        *(("#d97440", "#0b0c0d"), ("#a93f58", "#ffffff"), ("#4c1760", "#ffffff")),
    ),
    "dark": (
        *(("#24282e", "#f2f3f5"), ("#4d2a6e", "#f6f2fa"), ("#9a4079", "#ffffff")),
        *(("#d9655a", "#0b0c0d"), ("#f2a655", "#0b0c0d"), ("#fbeaa6", "#0b0c0d")),
    ),
}
# page, panel, ink, faint ink, line, accent
PAGES = {
    "light": ("#ffffff", "#f7f8fa", "#15171a", "#5a6069", "#ccd1d8", "#0b57c2"),
    "dark": ("#111317", "#1b1e23", "#e9ebee", "#a3abb6", "#3a404a", "#8ab8ff"),
}

_STYLE = """
:root { color-scheme: light dark; $light }
@media (prefers-color-scheme: dark) { :root { $dark } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1.25rem 17rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.25rem; margin: 0 0 .75rem; overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 1.75rem; margin: 0 0 .75rem; }
dt { color: var(--faint); font-size: .8rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
p { margin: 0 0 .75rem; color: var(--faint); max-width: 46rem; }
.key { display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; margin: 0 0 .75rem;
  padding: 0; font-size: .8rem; font-variant-numeric: tabular-nums; }
.key li { padding: .15rem .6rem; border-radius: 3px; border: 1px solid var(--line); }
pre { margin: 1.25rem 0 0; font: 14px/1.75 ui-monospace, Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }
.t { position: static; unicode-bidi: isolate; border-radius: 3px; padding: .1em 0; cursor: help;
  box-shadow: inset 1px 0 var(--page); -webkit-box-decoration-break: clone;
  box-decoration-break: clone; forced-color-adjust: none; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
.t:hover, .t:focus { outline: 2px solid var(--accent); outline-offset: 1px; }
$groups
.u { color: var(--faint); background: none; text-decoration: underline dotted; }
i, u { font-style: normal; text-decoration: none; font-size: .85em; }
u { border-bottom: 1px dotted currentColor; }
.c { display: none; position: fixed; z-index: 1; left: 0; right: 0; bottom: 0; max-height: 15rem;
  overflow: auto; padding: .75rem max(1.25rem, calc(50vw - 30.75rem)); background: var(--panel);
  color: var(--ink); border-top: 2px solid var(--accent); font: 14px/1.5 system-ui, sans-serif;
  font-variant-numeric: tabular-nums; cursor: auto; forced-color-adjust: auto; }
.t:focus > .c { display: block; }
.t:hover > .c { display: block; z-index: 2; }
.c > span { display: grid; grid-template-columns: 1.5rem 5.5rem 1fr; column-gap: .75rem; }
.c > em { display: block; margin: 0 0 .4rem; font-style: normal; }
.c b, .c code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; }
.c .me { font-weight: 700; }
.c small { color: var(--faint); font-size: .8rem; font-weight: 400; }
@media print { body { padding-bottom: 1rem; } .c { display: none !important; } }
"""

_SCRIPT = """
const all = [...document.querySelectorAll(".t")];
all.forEach((t, n) => { t.tabIndex = n ? -1 : 0; });
document.addEventListener("keydown", (e) => {
  const at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[e.key];
  if (at < 0 || e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === "Escape") all[at].blur();
  if (!all[to]) return;
  e.preventDefault();
  all[at].tabIndex = -1;
  all[to].tabIndex = 0;
  all[to].focus();
});
"""


def bucket(rank: int) -> int:
    """The group of a rank, 0 to 5: an index into BUCKETS."""
    return bisect_left(BOUNDS, rank)


def page(look: Look) -> str:
    """`look` as one HTML page: head lines, key, the text with its tokens coloured by rank.

    Pointing at a token, or giving it the focus, shows rank, probability, nll and alternatives.
    """
    digest = b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    title = f"{_plain(look.text)} ranked by {_plain(look.model)}"
    facts = {
        "model": f"{_plain(look.model)} ({_plain(look.family)}, {look.dtype})",
        "S": f"{look.S:,}",
        "V": f"{look.V:,}",
        "tokens": f"{len(look.tokens):,}, {len(look.scored):,} scored",
        "CE": f"{look.ce():.4f} nats",
        "RBP\u2081": f"{look.rbp(1):.4f}",
        "RBP\u2081\u2080": f"{look.rbp(10):.4f}",
    }
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        f"<title>{escape(title)}</title>\n<style>{_style()}</style>\n</head>\n<body>\n",
        f"<h1>{escape(title)}</h1>\n<dl>\n",
        *(f"<div><dt>{name}</dt><dd>{escape(fact)}</dd></div>\n" for name, fact in facts.items()),
        '</dl>\n<ul class="key">\n',
        *_key(look),
        f"</ul>\n<p>{escape(_notes(look))}</p>\n<pre>",
        *(_token(token) for token in look.tokens),
        f"</pre>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def write_page(look: Look, path: str | Path) -> Path:
    """Write the page of `look` to `path`, whole or not at all; the path.

    Raises OSError where it cannot be written; `path` then holds what it held.
    """
    path = Path(path)
    write_whole(path.parent, {path.name: page(look).encode()})
    return path


def visible(piece: bytes, *, spaces: bool = False) -> str:
    """A token's bytes as HTML in which nothing is hidden.

    Newlines and tabs get a sign before them, control and format characters and bytes that are
    not UTF-8 are written as escapes. Signs stand in <i> and escapes in <u>, so that they differ
    from the same letters in the text. spaces: show spaces by a sign and break no line, as a card
    needs.
    """
    # A lone continuation byte comes out as a low surrogate, U+DC80 to U+DCFF.
    shown = [_character(c, spaces) for c in piece.decode("utf-8", "surrogateescape")]
    if shown and unicodedata.category(shown[0][0]) in ("Mn", "Me"):
        shown.insert(0, "\u25cc")  # else it would sit on the token before
    return "".join(shown).replace("</u><u>", "")


def _character(character: str, spaces: bool) -> str:
    code, kind = ord(character), unicodedata.category(character)
    if character in "\n\t":
        sign = "<i>\u21b5</i>" if character == "\n" else "<i>\u21e5</i>"
        return sign if spaces else sign + character
    if character == " ":
        return "<i>\u2423</i>" if spaces else " "
    if character == "\r":
        return "<u>\\r</u>"
    if 0xDC80 <= code <= 0xDCFF:
        return f"<u>\\x{code - 0xDC00:02x}</u>"
    if kind[0] in "CZ":
        if code < 0x80:  # from there on \x names a byte, which is not a character
            return f"<u>\\x{code:02x}</u>"
        return f"<u>\\u{code:04x}</u>" if code <= 0xFFFF else f"<u>\\U{code:08x}</u>"
    return escape(character)


def _plain(name: str) -> str:
    """A name without what could break a line or turn its direction."""
    return "".join(c if unicodedata.category(c)[0] != "C" else "\ufffd" for c in name)


def _token(token: Token) -> str:
    if token.rank is None:
        group = "u"
        about = "<small>not scored: the first token and special tokens have no rank</small>"
    else:
        group = f"r{bucket(token.rank)}"
        ties = f", {token.n_equal:,} tied" if token.n_equal else ""
        about = (
            f"rank {token.rank:,}{ties} \u00b7 probability {token.probability:.3g}"
            f" \u00b7 nll {token.nll:.3f} nats"
        )
    text = visible(token.piece)
    return f'<span class="t {group}" tabindex="0">{text}{_card(token, about)}</span>'


def _card(token: Token, about: str) -> str:
    part = f", part of {visible(token.whole.encode(), spaces=True)}" if token.whole else ""
    place = f"<small>token {token.position + 1:,}, id {token.id}{part}</small>"
    rows = []
    for place_in_list, other in enumerate(token.alternatives, start=1):
        mine = ' class="me"' if other.id == token.id else ""
        here = " <small>this one</small>" if mine else ""
        rows.append(
            f"<span{mine}><span>{place_in_list}</span><span>{other.probability:.3g}</span>"
            f"<span><code>{visible(other.piece, spaces=True)}</code>{here}</span></span>"
        )
    head = f"<em><b>{visible(token.piece, spaces=True)}</b> {about} {place}</em>"
    return f'<span class="c">{head}{"".join(rows)}</span>'


def _key(look: Look) -> list[str]:
    counts = [0] * len(BUCKETS)
    for token in look.scored:
        counts[bucket(token.rank)] += 1
    return [
        f'<li class="r{n}">rank {name}: {count / len(look.scored):.1%}</li>\n'
        for n, (name, count) in enumerate(zip(BUCKETS, counts, strict=True))
    ]


def _notes(look: Look) -> str:
    notes = "Point at a token, or move with Tab and the arrow keys, for its numbers."
    if look.text_tokens > len(look.tokens):
        notes += (
            f" The text is cut: its first {len(look.tokens):,} of {look.text_tokens:,} tokens are"
            f" shown (at most {look.max_length:,} fit the model's context and the limit asked for)."
        )
    return notes


def _style() -> str:
    names = ("page", "panel", "ink", "faint", "line", "accent")
    values = {}
    for theme, ramp in RAMPS.items():
        colours = [f"--{n}: {c};" for n, c in zip(names, PAGES[theme], strict=True)]
        colours += [f"--b{n}: {b}; --i{n}: {ink};" for n, (b, ink) in enumerate(ramp)]
        values[theme] = " ".join(colours)
    groups = (f".r{n} {{ background: var(--b{n}); color: var(--i{n}); }}" for n in range(6))
    return Template(_STYLE).substitute(values, groups="\n".join(groups))
