// The law: drag the ends of a line and compare its miss with that of the fitted line.
"use strict";

const unique = (key) => [...new Set(DATA.points.map((point) => point[key]))];
const corpus = menu("Text", "corpus", unique("corpus"), restart);
const family = menu("Family", "family", unique("family").map((name) => [name, DATA.names[name]]), restart);
const k = menu("k", "k", unique("k"), restart);
const left = endSlider("Left end", "left");
const right = endSlider("Right end", "right");
const reveal = make("button", { type: "button", name: "reveal", "aria-pressed": "false" }, "Show the fitted line");
const said = make("p", { class: "said", "aria-live": "polite" });
const figure = make("figure");

// Where the dragged line is at the left and right end of the picture (loss).
let ends = [1, 1];
let shown = false;
let range;

/** A slider of 0 to 100, for the keyboard; the handles in the picture do the same. */
function endSlider(label, name) {
  const input = make("input", { type: "range", name, min: 0, max: 100, step: 0.5 });
  const which = name === "left" ? 0 : 1;
  input.addEventListener("input", () => {
    ends[which] = range.toLoss(input.value / 100);
    draw();
  });
  return { element: make("label", { class: "wide" }, label, input), input };
}

function chosen() {
  return DATA.points.filter(
    (p) => p.corpus === corpus.value && p.family === family.value && String(p.k) === k.value
  );
}

function restart() {
  const points = chosen();
  const losses = points.map((p) => p.loss);
  const [low, high] = [d3.min(losses) / 1.6, d3.max(losses) * 1.6];
  range = {
    S: [d3.min(points, (p) => p.S) / 2, d3.max(points, (p) => p.S) * 2],
    loss: [low, high],
    toLoss: (share) => low * (high / low) ** share,
    toShare: (loss) => Math.log(loss / low) / Math.log(high / low),
  };
  // A flat line through the middle gives nothing away.
  ends = [range.toLoss(0.5), range.toLoss(0.5)];
  shown = false;
  draw();
}

function draggedLine() {
  const [S0, S1] = range.S;
  const slope = Math.log(ends[1] / ends[0]) / Math.log(S1 / S0);
  return { slope, level: Math.log(ends[0]) - slope * Math.log(S0) };
}

function draw() {
  const points = chosen();
  const S = points.map((p) => p.S), loss = points.map((p) => p.loss);
  const line = draggedLine(), best = fitPowerLaw(S, loss);
  const [S0, S1] = range.S;
  const segment = (one) => [S0, S1].map((s) => ({ S: s, loss: valueOf(one, s) }));
  const colour = DATA.colours[family.value];
  const plot = chart({
    x: { type: "log", domain: range.S, label: "S, parameters without embeddings", ticks: 4, tickFormat: sizeShort },
    y: { type: "log", domain: range.loss, label: `−log RBP of k = ${k.value}`, ticks: lossTicks(range.loss), tickFormat: "~g" },
    marks: [
      Plot.ruleY([range.loss[0]], { stroke: "var(--faint)" }),
      ...(shown ? [Plot.line(segment(best), { x: "S", y: "loss", stroke: "var(--other)", strokeDasharray: "6 4", clip: true })] : []),
      Plot.line(segment(line), { x: "S", y: "loss", stroke: "var(--ink)", strokeWidth: 2 }),
      Plot.dot(points, { x: "S", y: "loss", fill: colour, r: 5, title: (p) => `${p.model}: ${p.loss.toPrecision(3)}` }),
    ],
  });
  const miss = missOf(line, S, loss), bestMiss = missOf(best, S, loss);
  plot.setAttribute("aria-label", `${points.length} models; your line misses them by ${percent(miss, 1)}`);
  addHandles(plot);
  left.input.value = 100 * range.toShare(ends[0]);
  right.input.value = 100 * range.toShare(ends[1]);
  const yours = `Your line: α = <b>${(-line.slope).toFixed(3)}</b>, it misses the models by <b>${percent(miss, 1)}</b>.`;
  const fitted = `The fitted line: α = <b>${(-best.slope).toFixed(3)}</b>, it misses by <b>${percent(bestMiss, 1)}</b>, R² = ${best.r2.toFixed(3)}.`;
  said.innerHTML = shown ? `${yours}<br>${fitted}` : yours;
  reveal.setAttribute("aria-pressed", String(shown));
  figure.replaceChildren(plot);
}

function addHandles(plot) {
  const x = plot.scale("x"), y = plot.scale("y");
  for (const which of [0, 1]) {
    const handle = d3.select(plot).append("circle")
      .attr("class", "handle").attr("data-end", which)
      .attr("cx", x.apply(range.S[which])).attr("cy", y.apply(ends[which]))
      .attr("r", 14).attr("fill", "var(--ink)").attr("fill-opacity", 0.25)
      .attr("stroke", "var(--ink)");
    handle.call(d3.drag().container(plot).on("drag", (event) => {
      const loss = y.invert(event.y);
      ends[which] = Math.min(range.loss[1], Math.max(range.loss[0], loss));
      moveOnly(plot, x, y);
    }).on("end", draw));
  }
}

/** While a handle is dragged the picture stays, so that the browser does not lose the pointer. */
function moveOnly(plot, x, y) {
  for (const which of [0, 1]) {
    d3.select(plot).select(`circle[data-end="${which}"]`).attr("cy", y.apply(ends[which]));
  }
  const path = d3.line()([0, 1].map((which) => [x.apply(range.S[which]), y.apply(ends[which])]));
  const lines = plot.querySelectorAll('g[aria-label="line"] path');
  lines[lines.length - 1].setAttribute("d", path);
  const points = chosen();
  const miss = missOf(draggedLine(), points.map((p) => p.S), points.map((p) => p.loss));
  said.innerHTML = `Your line misses the models by <b>${percent(miss, 1)}</b>.`;
}

reveal.addEventListener("click", () => { shown = !shown; draw(); });
MAIN.replaceChildren(
  make("h1", {}, "Lay the line yourself"),
  make("p", {}, "Each point is a model of the paper. Drag the two ends of the line until it goes through the points."),
  make("div", { class: "controls" }, corpus.element, family.element, k.element),
  figure,
  make("div", { class: "controls" }, left.element, right.element, reveal),
  said,
);
restart();
onResize(draw);
