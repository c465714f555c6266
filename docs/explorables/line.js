// One line: all models against size or against cross-entropy; the points move between the two.
"use strict";

const POINTS = rowsOf(DATA.points);
const TEXTS = [...new Set(POINTS.map((p) => p.corpus))];
const corpus = menu("Text", "corpus", TEXTS.map((name) => [name, name.replace("pocket:", "")]), draw, "pocket:prose");
const k = menu("k", "k", [1, 10, 100], draw, 10);
const buttons = ["size", "cross-entropy"].map((name) => {
  const button = make("button", { type: "button", name, "aria-pressed": String(name === "size") }, name);
  button.addEventListener("click", () => turnTo(name));
  return button;
});
const said = make("p", { class: "said", "aria-live": "polite" });
const figure = make("figure");
let axis = "size";
let share = 0; // 0: size, 1: cross-entropy

function chosen() {
  return POINTS.filter((p) => p.corpus === corpus.value && String(p.k) === k.value);
}

/** Both axes are stretched to 0..1, so that a point can go straight from one place to the other. */
function placeOf(key, points) {
  const [low, high] = extent(points.map((p) => Math.log(p[key])));
  const fromLow = (value) => (Math.log(value) - low) / (high - low);
  return key === "S" ? fromLow : (value) => 1 - fromLow(value);
}

function draw() {
  const points = chosen();
  const byS = placeOf("S", points), byCE = placeOf("CE", points);
  const key = axis === "size" ? "S" : "CE", by = axis === "size" ? byS : byCE;
  const ordinary = points.filter((p) => p.kind === "ordinary");
  const line = fitPowerLaw(ordinary.map((p) => p[key]), ordinary.map((p) => p.loss));
  const miss = missOf(line, points.map((p) => p[key]), points.map((p) => p.loss));
  const domain = extent(points.map((p) => p[key]));
  const isMoving = share > 0 && share < 1;
  const label = axis === "size" ? "size S" : "cross-entropy in nats, falling";
  const ticks = axis === "size" ? powers(domain) : [2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7].filter((CE) => CE >= domain[0] && CE <= domain[1]);
  const written = new Map(ticks.map((value) => [by(value), axis === "size" ? sizeShort(value) : String(value)]));
  const lossRange = extent(points.map((p) => p.loss));
  const colourOf = (p) => DATA.colours[p.family] || "#6b7280";
  const isFilled = (p) => p.kind === "ordinary" || p.kind === "Mamba";
  const plot = chart({
    x: { domain: [-0.03, 1.03], label, ticks: isMoving ? [] : [...written.keys()], format: (at) => written.get(at) },
    y: { log: true, domain: [lossRange[0] / 1.05, lossRange[1] * 1.05], label: `−log RBP of k = ${k.value}, in nats`, ticks: lossTicks(lossRange), format: String },
    lines: isMoving ? [] : [{ points: domain.map((value) => [by(value), valueOf(line, value)]), stroke: "var(--ink)" }],
    marks: points.map((p) => ({
      x: (1 - share) * byS(p.S) + share * byCE(p.CE), y: p.loss, r: 4.5, mark: DATA.marks[p.family],
      stroke: colourOf(p), fill: isFilled(p) ? colourOf(p) : "var(--paper)",
      title: `${p.model}: S ${sizeInWords(p.S)}, CE ${p.CE.toFixed(2)}`,
    })),
  });
  plot.setAttribute("aria-label", `${points.length} models against ${axis}; the line misses them by ${percent(miss, 1)}`);
  said.innerHTML = isMoving ? "…" : `A line in <b>${axis}</b>, fitted to the ${ordinary.length} ordinary models, misses all ${points.length} by <b>${percent(miss, 1)}</b>. Hollow: fewer training tokens, or an ablation.`;
  figure.replaceChildren(plot);
}

function turnTo(name) {
  if (name === axis) return;
  axis = name;
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.name === name));
  const goal = name === "size" ? 0 : 1, from = share;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const duration = still ? 1 : 900;
  let begin;
  const step = (now) => {
    begin ??= now;
    const part = Math.min(1, (now - begin) / duration);
    const eased = part < 0.5 ? 4 * part ** 3 : 1 - 4 * (1 - part) ** 3;
    share = part === 1 ? goal : from + (goal - from) * eased;
    draw();
    if (part < 1 && axis === name) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

const key = make("p", { class: "key" });
for (const [family, colour] of Object.entries(DATA.colours)) {
  const sign = put(make("span"), "svg", { width: 14, height: 14, "aria-hidden": "true" });
  putMark(sign, { x: 7, y: 7, mark: DATA.marks[family], fill: colour });
  sign.after(` ${DATA.names[family]}`);
  key.append(sign.parentNode);
}
MAIN.replaceChildren(
  make("h1", {}, "Size or cross-entropy: which one tells the ranks?"),
  make("p", {}, "Each point is one of 69 small models. Switch the horizontal axis and watch them."),
  make("div", { class: "controls" }, ...buttons, corpus.element, k.element),
  figure, key, said,
);
draw();
onResize(draw);
