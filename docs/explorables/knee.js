// The knee: success at N tokens in a row slides to larger models as N grows, and rises as slowly.
"use strict";

const RANGE = [1e5, 1e21];
const N = slider("N, tokens in a row", "N", DATA.Ns, 1, (value) => String(value), draw);
const k = slider("k, guesses", "k", DATA.ks, DATA.ks[2], (value) => String(value), draw);
const said = make("p", { class: "said", "aria-live": "polite" });
const figure = make("figure");

/** Size at which N tokens in a row succeed with a probability, by the line: -log p = N A S^-alpha. */
function sizeAt(probability, line, n) {
  const loss = -Math.log(probability) / n;
  return Math.exp((Math.log(loss) - line.level) / line.slope);
}

function draw() {
  const ones = DATA.points.filter((p) => p.k === k.value && p.N === 1);
  const line = fitPowerLaw(ones.map((p) => p.S), ones.map((p) => -Math.log(p.p)));
  const sizes = d3.range(Math.log10(RANGE[0]), Math.log10(RANGE[1]), 0.05).map((e) => 10 ** e);
  const curve = (n) => sizes.map((S) => ({ S, p: Math.exp(-n * valueOf(line, S)) }));
  const measured = DATA.points.filter((p) => p.k === k.value && p.N === N.value);
  const knee = sizeAt(0.5, line, N.value);
  const decades = Math.log10(sizeAt(0.9, line, N.value) / sizeAt(0.1, line, N.value));
  const plot = chart({
    x: { type: "log", domain: RANGE, label: "S, parameters without embeddings (logarithmic)", ticks: isNarrow() ? 4 : 8, tickFormat: (v) => powerOfTen(Math.round(Math.log10(v))) },
    y: { domain: [0, 1], label: "probability that all N succeed", tickFormat: "%", ticks: 5, clamp: true },
    marginTop: 28,
    marks: [
      Plot.ruleY([0.5], { stroke: "var(--faint)" }),
      Plot.line(curve(1), { x: "S", y: "p", stroke: "var(--faint)", strokeWidth: 2 }),
      Plot.line(curve(N.value), { x: "S", y: "p", stroke: "var(--ink)", strokeWidth: 2.5 }),
      Plot.dot(measured, { x: "S", y: "p", fill: DATA.colour, r: 4, title: (p) => `${p.model}: ${percent(p.p, 1)}` }),
      Plot.ruleX(knee < RANGE[1] ? [knee] : [], { stroke: "var(--other)", strokeDasharray: "3 4", y1: 0, y2: 0.5 }),
    ],
  });
  plot.setAttribute("aria-label", `N = ${N.value}, k = ${k.value}: half at S = ${knee.toExponential(1)}`);
  const where = `By the line of single tokens, half of all runs of <b>${N.value}</b> succeed at <b>${sizeInWords(knee)}</b> parameters.`;
  const rise = `The rise from 10% to 90% takes <b>${decades.toFixed(1)}</b> decades of S, whatever N is.`;
  const dots = measured.length ? "Dots: the ten Pythias on Wikipedia, as published." : "For this N nothing was published.";
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
