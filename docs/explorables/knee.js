// The knee: success at N tokens in a row slides to larger models as N grows, and rises as slowly.
"use strict";

const POINTS = rowsOf(DATA.points);
const RANGE = [1e5, 1e21];
const N = slider("N, tokens in a row", "N", DATA.Ns, 10, (value) => String(value), draw);
const k = slider("k, guesses", "k", DATA.ks, DATA.ks[2], (value) => String(value), draw);
const said = make("p", { class: "said", "aria-live": "polite" });
const figure = make("figure");

/** Size at which N tokens in a row succeed with a probability, by the line: -log p = N A S^-alpha. */
function sizeAt(probability, line, n) {
  const loss = -Math.log(probability) / n;
  return Math.exp((Math.log(loss) - line.level) / line.slope);
}

function draw() {
  const ones = POINTS.filter((p) => p.k === k.value && p.N === 1);
  const line = fitPowerLaw(ones.map((p) => p.S), ones.map((p) => -Math.log(p.p)));
  const sizes = range(321).map((i) => RANGE[0] * 10 ** (0.05 * i));
  const curve = (n) => sizes.map((S) => [S, Math.exp(-n * valueOf(line, S))]);
  const measured = POINTS.filter((p) => p.k === k.value && p.N === N.value);
  const knee = sizeAt(0.5, line, N.value);
  const decades = Math.log10(sizeAt(0.9, line, N.value) / sizeAt(0.1, line, N.value));
  const half = { points: [[RANGE[0], 0.5], [RANGE[1], 0.5]], stroke: "var(--faint)" };
  const foot = { points: [[knee, 0], [knee, 0.5]], stroke: "var(--other)", "stroke-dasharray": "3 4" };
  const plot = chart({
    x: { log: true, domain: RANGE, label: "S, parameters without embeddings", ticks: powers(RANGE), format: (v) => powerOfTen(Math.round(Math.log10(v))) },
    y: { domain: [0, 1], label: "probability that all N succeed", ticks: [0, 0.25, 0.5, 0.75, 1], format: (share) => percent(share) },
    lines: [
      half,
      { points: curve(1), stroke: "var(--faint)", "stroke-width": 2 },
      { points: curve(N.value), stroke: "var(--ink)", "stroke-width": 2.5 },
      foot,
    ],
    marks: measured.map((p) => ({ x: p.S, y: p.p, fill: DATA.colour, mark: DATA.mark, title: `${p.model}: ${percent(p.p, 1)}` })),
  });
  plot.setAttribute("aria-label", `N = ${N.value}, k = ${k.value}: half at S = ${knee.toExponential(1)}`);
  const where = `By the line of single tokens, half of all runs of <b>${N.value}</b> succeed at <b>${sizeInWords(knee)}</b> parameters.`;
  const rise = `The rise from 10% to 90% takes <b>${decades.toFixed(1)}</b> decades of S, whatever N is.`;
  const dots = measured.length ? "Marks: the ten Pythias on Wikipedia, as published." : "For this N nothing was published.";
  said.innerHTML = `${where} ${rise} ${dots}`;
  figure.replaceChildren(plot);
}

MAIN.replaceChildren(
  make("h1", {}, "Does a longer task make success come more suddenly?"),
  make("p", {}, "The strong curve is the paper's formula for N tokens in a row, −log p = N·A/Sᵅ, which takes tokens as independent. The faint one is a single token. Move N."),
  make("div", { class: "controls" }, N.element, k.element),
  figure,
  said,
);
draw();
onResize(draw);
