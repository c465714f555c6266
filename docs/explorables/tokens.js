// Tokens under growing models: a slider over models recolours the text, a token shows its queue.
"use strict";

const GROUPS = DATA.groups;
const RUNS = DATA.runs.map((texts) => texts.map((tokens) => tokens.map(tokenOf)));
const text = menu("Text", "text", DATA.texts.map((one, i) => [i, one.title]), changeText);
const size = slider("Model", "model", range(DATA.models.length), 0, (i) => {
  const model = DATA.models[i];
  return `${model.label}, S = ${sizeInWords(model.S)}`;
}, draw);
const play = make("button", { type: "button", name: "play", "aria-pressed": "false" }, "Play");
const box = make("div", { class: "tokens", role: "group", "aria-label": "the text, token by token" });
const queue = make("div", { "aria-live": "polite" });
const figure = make("figure");
const said = make("p", { class: "said" });
let place = 0; // of the chosen token among those of the text

/** A token as an object: in the page pieces are places in a list, and probabilities count 1/10,000. */
function tokenOf([piece, rank, p, ...likeliest]) {
  const top = range(likeliest.length / 2).map((i) => [DATA.pieces[likeliest[2 * i]], likeliest[2 * i + 1] / 1e4]);
  return { piece: DATA.pieces[piece], rank, p, top };
}

function groupOf(rank) {
  return GROUPS.ends.filter((end) => rank > end).length;
}

/** The tokens of the chosen text under a model: piece, rank, probability, and the model's first ten. */
function tokensOf(model) {
  return RUNS[model][text.value];
}

/** −log RBP_1 over all texts: one text has too few tokens for a line. */
function lossOf(model) {
  const scored = RUNS[model].flat().filter((token) => token.rank);
  return -Math.log(scored.filter((token) => token.rank === 1).length / scored.length);
}

function changeText() {
  place = 0;
  draw();
}

function draw() {
  const model = size.value, tokens = tokensOf(model);
  place = Math.min(place, tokens.length - 1);
  if (!tokens[place].rank) place = tokens.findIndex((token) => token.rank);
  box.replaceChildren(...tokens.map((token, i) => tokenSpan(token, i)));
  drawQueue(tokens[place]);
  drawLaw(model);
  const scored = tokens.filter((token) => token.rank);
  const first = scored.filter((token) => token.rank === 1).length;
  said.innerHTML = `<b>${first} of ${scored.length}</b> tokens have rank 1: RBP<sub>1</sub> = <b>${(first / scored.length).toFixed(2)}</b>. Over all six texts, −log RBP<sub>1</sub> = <b>${lossOf(model).toFixed(2)}</b>: the large point.`;
}

function tokenSpan(token, i) {
  const span = make("span", {}, token.piece.replace("\n", "↵\n"));
  if (!token.rank) return span;
  const group = groupOf(token.rank);
  span.style.background = GROUPS.fills[group];
  span.style.color = GROUPS.letters[group];
  span.tabIndex = i === place ? 0 : -1;
  span.setAttribute("role", "button");
  span.setAttribute("aria-label", `${token.piece.trim() || "space"}: rank ${token.rank}`);
  if (i === place) span.setAttribute("aria-current", "true");
  span.addEventListener("click", () => choose(i));
  return span;
}

function choose(i) {
  place = i;
  draw();
}

// The arrow keys go from token to token.
box.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const tokens = tokensOf(size.value);
  let next = place + step;
  while (tokens[next] && !tokens[next].rank) next += step;
  if (tokens[next]) choose(next);
  box.querySelector('[aria-current="true"]')?.focus();
});

function drawQueue(token) {
  const rows = token.top.map(([word, p], i) => ({ word, p, rank: i + 1 }));
  const isInside = rows.some((row) => row.rank === token.rank);
  if (!isInside) rows.push({ word: token.piece, p: token.p, rank: token.rank, gap: true });
  const table = make("table", { class: "queue" });
  for (const row of rows) {
    if (row.gap && row.rank > rows.length) table.append(make("tr", {}, make("td", {}, "⋮")));
    const bar = make("span", { class: "bar" });
    bar.style.width = `${Math.max(1, 90 * row.p)}px`;
    table.append(make("tr", row.rank === token.rank ? { class: "true" } : {},
      make("td", {}, String(row.rank)),
      make("td", { class: "word" }, shownWord(row.word)),
      make("td", {}, bar, ` ${percent(row.p, row.p < 0.01 ? 2 : 0)}`)));
  }
  queue.replaceChildren(make("p", {}, "The model's queue before this token; the true one is bold:"), table);
}

/** A token as text in which no space is hidden; many spaces as their number. */
function shownWord(word) {
  return word
    .replaceAll("\n", "↵")
    .replaceAll("\t", "⇥")
    .replace(/ {4,}/g, (spaces) => `␣×${spaces.length}`)
    .replaceAll(" ", "␣");
}

/** All models in one frame, so that only the large point moves. The line is the pocket models'. */
function drawLaw(model) {
  const all = DATA.models.map((one, i) => ({ ...one, loss: lossOf(i) }));
  const points = all.filter((one) => one.ladder), others = all.filter((one) => !one.ladder);
  const line = fitPowerLaw(points.map((p) => p.S), points.map((p) => p.loss));
  const ends = extent(points.map((p) => p.S)), domain = extent(all.map((p) => p.S));
  const [low, high] = extent(all.map((p) => p.loss));
  const lossRange = [low / 1.1, high * 1.1];
  const plot = chart({
    wide: isNarrow() ? width() : Math.min(290, width()), high: 260, left: 46,
    x: { log: true, domain: [domain[0] / 2, domain[1] * 2], label: "S", ticks: powers(domain, 4), format: sizeShort },
    y: { log: true, domain: lossRange, label: "−log RBP of k = 1, in nats", ticks: lossTicks(lossRange), format: String },
    lines: [{ points: ends.map((S) => [S, valueOf(line, S)]), stroke: "var(--other)" }],
    marks: [
      ...points.map((p) => ({ x: p.S, y: p.loss, fill: DATA.colour, mark: DATA.mark, r: 3.5 })),
      ...others.map((p) => ({ x: p.S, y: p.loss, fill: "none", stroke: "var(--other)", r: 3.5 })),
      { x: all[model].S, y: all[model].loss, fill: "var(--ink)", r: 6.5 },
    ],
  });
  plot.setAttribute("aria-label", `${all[model].label}: loss ${all[model].loss.toFixed(2)}`);
  figure.replaceChildren(plot);
}

// From the smallest model to the largest; a second click stops.
let timer = 0;
play.addEventListener("click", () => {
  const isPlaying = timer !== 0;
  clearInterval(timer);
  timer = 0;
  play.setAttribute("aria-pressed", String(!isPlaying));
  if (isPlaying) return;
  size.step(true);
  timer = setInterval(() => {
    if (!size.step()) play.click();
  }, 900);
});

const key = rankKey(GROUPS);
MAIN.replaceChildren(
  make("h1", {}, "The same text under growing models"),
  make("p", {}, "Each token is coloured by its rank: its place when the model lines up all tokens, the most probable first. Move the slider, then choose a token."),
  make("div", { class: "controls" }, text.element, play, size.element),
  key, box, said,
  make("div", { class: "columns" }, queue, figure),
);
draw();
onResize(draw);
