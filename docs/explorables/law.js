// The law: drag the ends of a line and compare its miss with that of the fitted line.
"use strict";

const POINTS = rowsOf(DATA.points);
const unique = (key) => [...new Set(POINTS.map((point) => point[key]))];
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
let frame; // what the picture spans

/** A slider of 0 to 100, for the keyboard; the handles in the picture do the same. */
function endSlider(label, name) {
  const input = make("input", { type: "range", name, min: 0, max: 100, step: 0.5 });
  const which = name === "left" ? 0 : 1;
  input.addEventListener("input", () => {
    ends[which] = frame.toLoss(input.value / 100);
    draw();
  });
  return { element: make("label", { class: "wide" }, label, input), input };
}

function chosen() {
  return POINTS.filter(
    (p) => p.corpus === corpus.value && p.family === family.value && String(p.k) === k.value
  );
}

function restart() {
  const points = chosen();
  const losses = points.map((p) => p.loss);
  const low = Math.min(...losses) / 1.6, high = Math.max(...losses) * 1.6;
  const [smallest, largest] = extent(points.map((p) => p.S));
  frame = {
    S: [smallest / 2, largest * 2],
    loss: [low, high],
    toLoss: (share) => low * (high / low) ** share,
    toShare: (loss) => Math.log(loss / low) / Math.log(high / low),
  };
  // A flat line through the middle gives nothing away.
  ends = [frame.toLoss(0.5), frame.toLoss(0.5)];
  shown = false;
  draw();
}

function draggedLine() {
  const [S0, S1] = frame.S;
  const slope = Math.log(ends[1] / ends[0]) / Math.log(S1 / S0);
  return { slope, level: Math.log(ends[0]) - slope * Math.log(S0) };
}

function draw() {
  const points = chosen();
  const S = points.map((p) => p.S), loss = points.map((p) => p.loss);
  const line = draggedLine(), best = fitPowerLaw(S, loss);
  const [S0, S1] = frame.S;
  const segment = (one) => [S0, S1].map((s) => [s, valueOf(one, s)]);
  const about = { fill: DATA.colours[family.value], mark: DATA.marks[family.value] };
  const fittedLine = { points: segment(best), stroke: "var(--other)", "stroke-dasharray": "6 4" };
  const plot = chart({
    // The handles stand inside of the axes.
    x: { log: true, domain: [S0 / 1.8, S1 * 1.8], label: "S, parameters without embeddings", ticks: powers(frame.S), format: sizeShort },
    y: { log: true, domain: frame.loss, label: `−log RBP of k = ${k.value}, in nats`, ticks: lossTicks(frame.loss), format: String },
    lines: [...(shown ? [fittedLine] : []), { points: segment(line), class: "yours", stroke: "var(--ink)", "stroke-width": 2 }],
    marks: points.map((p) => ({ x: p.S, y: p.loss, ...about, title: `${p.model}: ${p.loss.toPrecision(3)}` })),
  });
  const miss = missOf(line, S, loss), bestMiss = missOf(best, S, loss);
  plot.setAttribute("aria-label", `${points.length} models; your line misses them by ${percent(miss, 1)}`);
  addHandles(plot);
  left.input.value = 100 * frame.toShare(ends[0]);
  right.input.value = 100 * frame.toShare(ends[1]);
  const yours = `Your line: α = <b>${(-line.slope).toFixed(3)}</b>, it misses the models by <b>${percent(miss, 1)}</b>.`;
  const told = `The fitted line: α = <b>${(-best.slope).toFixed(3)}</b>, it misses by <b>${percent(bestMiss, 1)}</b>, R² = ${best.r2.toFixed(3)}.`;
  said.innerHTML = shown ? `${yours}<br>${told}` : yours;
  reveal.setAttribute("aria-pressed", String(shown));
  figure.replaceChildren(plot);
}

function addHandles(plot) {
  for (const which of [0, 1]) {
    const handle = put(plot, "circle", { class: "handle", "data-end": which, cx: plot.place.x(frame.S[which]), cy: plot.place.y(ends[which]), r: 14 });
    handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const loss = plot.place.y.invert(event.clientY - plot.getBoundingClientRect().top);
      ends[which] = Math.min(frame.loss[1], Math.max(frame.loss[0], loss));
      moveOnly(plot, handle, which);
    });
    handle.addEventListener("lostpointercapture", draw);
  }
}

/** While a handle is dragged the picture stays, so that the browser does not lose the pointer. */
function moveOnly(plot, handle, which) {
  handle.setAttribute("cy", plot.place.y(ends[which]));
  const path = pathOf([[frame.S[0], ends[0]], [frame.S[1], ends[1]]], plot.place.x, plot.place.y);
  plot.querySelector("path.yours").setAttribute("d", path);
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
