// What all explorables share: controls, charts, numbers in words, least squares in logarithms.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const MAIN = document.getElementById("explorable");

/** Rows as objects; in the page the names of the columns are written once. */
const rowsOf = ({ columns, rows }) => rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
const range = (count) => [...Array(count).keys()];
const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => sum(values) / values.length;
const extent = (values) => [Math.min(...values), Math.max(...values)];

/** An element with attributes and children; a string is text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A menu; `changed` is called when another option is chosen; `first` is chosen to begin with. */
function menu(label, name, options, changed, first) {
  const select = make("select", { name });
  for (const option of options) {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    select.append(make("option", { value }, text));
  }
  if (first !== undefined) select.value = first;
  select.addEventListener("change", changed);
  return { element: make("label", {}, label, select), get value() { return select.value; } };
}

/** A slider over the places of a list, so that its steps may be uneven. */
function slider(label, name, values, first, shown, changed) {
  const input = make("input", { type: "range", name, min: 0, max: values.length - 1, step: 1 });
  input.value = values.indexOf(first);
  const output = make("output", { for: name });
  const say = () => {
    output.textContent = shown(values[input.value]);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => { say(); changed(); });
  say();
  return {
    element: make("label", { class: "wide" }, label, input, output),
    get value() { return values[input.value]; },
    /** One step further, or to the beginning; false at the end. */
    step(toBegin = false) {
      input.value = toBegin ? 0 : Number(input.value) + 1;
      say();
      changed();
      return Number(input.value) < values.length - 1;
    },
  };
}

/** 12,345,678 as "12 million". */
function sizeInWords(S) {
  for (const [unit, word] of [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"], [1e3, "thousand"]]) {
    if (S >= 1e16) return powerOfTen(Number(Math.log10(S).toFixed(1)));
    if (S >= unit) {
      const count = S / unit;
      return `${count >= 10 ? Math.round(count) : Math.round(10 * count) / 10} ${word}`;
    }
  }
  return String(Math.round(S));
}

const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;

/** Least squares of log y on log x: y = exp(level) x^slope, and R2. */
function fitPowerLaw(x, y) {
  const u = x.map(Math.log), v = y.map(Math.log);
  const meanU = mean(u), meanV = mean(v);
  const uu = sum(u.map((value) => (value - meanU) ** 2));
  const uv = sum(u.map((value, i) => (value - meanU) * (v[i] - meanV)));
  const vv = sum(v.map((value) => (value - meanV) ** 2));
  const slope = uv / uu;
  return { slope, level: meanV - slope * meanU, r2: (uv * uv) / (uu * vv) };
}

const valueOf = (line, x) => Math.exp(line.level) * x ** line.slope;

/** How far the points are from a line: root mean square of log(y / line). */
function missOf(line, x, y) {
  return Math.sqrt(mean(x.map((value, i) => Math.log(y[i] / valueOf(line, value)) ** 2)));
}

/** Labels of a logarithmic axis that spans little: all of 0.05, 0.07, 0.1, 0.15, ... inside. */
function lossTicks([low, high]) {
  const ticks = [];
  for (const power of [-4, -3, -2, -1, 0, 1]) {
    for (const digit of [1, 1.5, 2, 3, 5, 7]) ticks.push(Number((digit * 10 ** power).toPrecision(3)));
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}

/** 10 to a power, with a raised exponent. */
const powerOfTen = (exponent) => "10" + String(exponent).replace(/[-.0-9]/g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] || { "-": "⁻", ".": "·" }[c]);

/** 12,345,678 as "12M". */
const sizeShort = (S) => sizeInWords(S).replace(" million", "M").replace(" trillion", "T").replace(" billion", "B").replace(" thousand", "k");

const width = () => Math.min(720, MAIN.clientWidth || 360);
const isNarrow = () => width() < 500;

// -- charts ---------------------------------------------------------------------------------------

/** An SVG element inside of another one. */
function put(parent, tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return parent.appendChild(element);
}

/** From a value to its place in pixels, and back. */
function scaleOf({ log, domain }, [from, to]) {
  const [turn, back] = log ? [Math.log, Math.exp] : [Number, Number];
  const low = turn(domain[0]), high = turn(domain[1]);
  const place = (value) => from + ((to - from) * (turn(value) - low)) / (high - low);
  place.invert = (pixel) => back(low + ((high - low) * (pixel - from)) / (to - from));
  return place;
}

/** The marks of the figures' families, as paths around 0 with about the area of a circle of radius 1. */
const SHAPES = {
  "o": "M1,0A1,1 0 1 1 -1,0A1,1 0 1 1 1,0Z",
  "s": "M-.89,-.89H.89V.89H-.89Z",
  "^": "M0,-1.4L1.25,.8H-1.25Z",
  "D": "M0,-1.25L1.25,0L0,1.25L-1.25,0Z",
  "P": "M-.45,-1.2H.45V-.45H1.2V.45H.45V1.2H-.45V.45H-1.2V-.45H-.45Z",
};

/** A point: x and y in pixels, r, and the look of SVG; `title` is shown under the mouse. */
function putMark(parent, { x, y, r = 5, mark = "o", title = "", ...look }) {
  const path = put(parent, "path", { transform: `translate(${x},${y}) scale(${r})`, d: SHAPES[mark], "vector-effect": "non-scaling-stroke", ...look });
  if (title) put(path, "title", {}, title);
  return path;
}

/** A line through pairs of x and y. */
const pathOf = (points, x, y) => "M" + points.map((point) => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join("L");

/**
 * A chart. An axis has domain, log, label, ticks and how they are written (format); a line has points [x, y]
 * and the look of SVG; a mark has x, y and what `putMark` takes. Lines end at the frame.
 */
function chart({ x, y, lines = [], marks = [], wide = width(), high = isNarrow() ? 300 : 380, left = 52 }) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img" })) svg.setAttribute(name, value);
  const right = wide - 16, top = 26, bottom = high - 42;
  const place = { x: scaleOf(x, [left, right]), y: scaleOf(y, [bottom, top]) };
  put(svg, "text", { x: 2, y: 13 }, `↑ ${y.label}`);
  put(svg, "text", { x: right, y: high - 4, "text-anchor": "end" }, `${x.label} →`);
  put(svg, "path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` });
  for (const tick of x.ticks) {
    put(svg, "path", { class: "axis", d: `M${place.x(tick)},${bottom}v5` });
    put(svg, "text", { x: place.x(tick), y: bottom + 19, "text-anchor": "middle" }, x.format(tick));
  }
  for (const tick of y.ticks) {
    put(svg, "path", { class: "axis", d: `M${left},${place.y(tick)}h-5` });
    put(svg, "text", { x: left - 9, y: place.y(tick) + 5, "text-anchor": "end" }, y.format(tick));
  }
  const clip = put(put(svg, "clipPath", { id: "frame" }), "rect", { x: left, y: top - 4, width: right - left + 4, height: bottom - top + 4 });
  const inside = put(svg, "g", { "clip-path": `url(#${clip.parentNode.id})`, fill: "none" });
  for (const { points, ...look } of lines) put(inside, "path", { d: pathOf(points, place.x, place.y), ...look });
  for (const mark of marks) putMark(svg, { ...mark, x: place.x(mark.x), y: place.y(mark.y) });
  svg.place = place;
  return svg;
}

/** The powers of ten inside of a domain, each second or third if there are many. */
function powers([low, high], most = isNarrow() ? 4 : 8) {
  const first = Math.ceil(Math.log10(low)), count = Math.floor(Math.log10(high)) - first + 1;
  const step = Math.ceil(count / most);
  return range(count).filter((i) => i % step === 0).map((i) => 10 ** (first + i));
}

// -- the page around this one ---------------------------------------------------------------------

// It gets this page's height, and says whether it is dark or light (frame.js). A page of its own
// takes what the reader chose on the site; else the system decides.
const setTheme = (theme) => {
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
};
if (window.parent === window) {
  try { setTheme(localStorage.getItem("theme")); } catch { /* no storage in a page opened from a file */ }
} else {
  document.querySelector("nav")?.remove();
  window.addEventListener("message", ({ data }) => setTheme(data?.theme));
  const tell = () => window.parent.postMessage({ height: Math.ceil(document.documentElement.getBoundingClientRect().height) }, "*");
  new ResizeObserver(tell).observe(document.documentElement);
}

/** What each colour of a token means. */
function rankKey(groups) {
  const key = make("p", { class: "key" });
  groups.names.forEach((name, i) => {
    const colour = make("i", { style: `background:${groups.fills[i]}` });
    key.append(make("span", {}, colour, name));
  });
  return key;
}

/** Draw again when the width changes. */
function onResize(draw) {
  let last = width();
  window.addEventListener("resize", () => {
    if (width() !== last) { last = width(); draw(); }
  });
}
