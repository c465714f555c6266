// One line: all models against size or against cross-entropy; the points move between the two.
"use strict";

const TEXTS = [...new Set(DATA.points.map((p) => p.corpus))];
const corpus = menu("Text", "corpus", TEXTS.map((name) => [name, name.replace("pocket:", "")]), draw);
const k = menu("k", "k", [1, 10, 100], draw);
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
  return DATA.points.filter((p) => p.corpus === corpus.value && String(p.k) === k.value);
}

/** Both axes are stretched to 0..1, so that a point can go straight from one place to the other. */
function places(points) {
  const scaleOf = (key, reverse) => {
    const logs = points.map((p) => Math.log(p[key]));
    const [low, high] = d3.extent(logs);
    return (p) => (reverse ? (high - Math.log(p[key])) : (Math.log(p[key]) - low)) / (high - low);
  };
  const byS = scaleOf("S", false), byCE = scaleOf("CE", true);
  return points.map((p) => ({ ...p, at: (1 - share) * byS(p) + share * byCE(p) }));
}

function draw() {
  const points = places(chosen());
  const key = axis === "size" ? "S" : "CE";
  const ordinary = points.filter((p) => p.kind === "ordinary");
  const line = fitPowerLaw(ordinary.map((p) => p[key]), ordinary.map((p) => p.loss));
  const miss = missOf(line, points.map((p) => p[key]), points.map((p) => p.loss));
  const ends = d3.extent(points, (p) => p[key]);
  const moving = share > 0 && share < 1;
  const label = axis === "size" ? "size S (larger to the right, logarithmic)" : "cross-entropy (lower to the right, logarithmic)";
  const lineEnds = ends.map((value) => ({ at: (axis === "size") === (value === ends[0]) ? 0 : 1, loss: valueOf(line, value) }));
  const plot = chart({
    x: { domain: [-0.03, 1.03], label, ticks: [0, 1], tickFormat: (at) => endLabel(at, ends) },
    y: { type: "log", label: `−log RBP of k = ${k.value}`, ticks: lossTicks(d3.extent(points, (p) => p.loss)), tickFormat: "~g" },
    marks: [
      ...(moving ? [] : [Plot.line(lineEnds, { x: "at", y: "loss", stroke: "var(--ink)" })]),
      Plot.dot(points, { x: "at", y: "loss", r: 4.5, stroke: (p) => DATA.colours[p.family] || "#6b7280", fill: (p) => (p.kind === "ordinary" || p.kind === "Mamba" ? DATA.colours[p.family] : "var(--paper)"), title: (p) => `${p.model}: S ${sizeInWords(p.S)}, CE ${p.CE.toFixed(2)}` }),
    ],
  });
  plot.setAttribute("aria-label", `${points.length} models against ${axis}; the line misses them by ${percent(miss, 1)}`);
  said.innerHTML = moving ? "…" : `A line in <b>${axis}</b>, fitted to the ${ordinary.length} ordinary models, misses all ${points.length} by <b>${percent(miss, 1)}</b>. Hollow: fewer training tokens, or an ablation.`;
  figure.replaceChildren(plot);
}

function endLabel(at, ends) {
  if (axis === "size") return sizeInWords(ends[at]);
  return ends[1 - at].toFixed(1);
}

function turnTo(name) {
  if (name === axis) return;
  axis = name;
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.name === name));
  const goal = name === "size" ? 0 : 1, from = share;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const duration = still ? 1 : 900;
  const timer = d3.timer((elapsed) => {
    const part = Math.min(1, elapsed / duration);
    share = from + (goal - from) * d3.easeCubicInOut(part);
    if (part === 1) { share = goal; timer.stop(); }
    draw();
  });
}

const key = make("p", { class: "key" });
for (const [family, colour] of Object.entries(DATA.colours)) {
  key.append(make("span", {}, make("i", { style: `background:${colour}` }), DATA.names[family]));
}
MAIN.replaceChildren(
  make("h1", {}, "Size or cross-entropy: which one tells the ranks?"),
  make("p", {}, "Each point is one of 69 small models. Switch the horizontal axis and watch them."),
  make("div", { class: "controls" }, ...buttons, corpus.element, k.element),
  figure, key, said,
);
draw();
onResize(draw);
