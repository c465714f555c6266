// What all explorables share: controls, numbers in words, least squares in logarithms.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const MAIN = document.getElementById("explorable");

/** An element with attributes and children; a string is text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A menu; `changed` is called with no argument when another option is chosen. */
function menu(label, name, options, changed) {
  const select = make("select", { name });
  for (const option of options) {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    select.append(make("option", { value }, text));
  }
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
  const meanU = d3.mean(u), meanV = d3.mean(v);
  const uu = d3.sum(u, (value) => (value - meanU) ** 2);
  const uv = d3.sum(u, (value, i) => (value - meanU) * (v[i] - meanV));
  const vv = d3.sum(v, (value) => (value - meanV) ** 2);
  const slope = uv / uu;
  return { slope, level: meanV - slope * meanU, r2: (uv * uv) / (uu * vv) };
}

const valueOf = (line, x) => Math.exp(line.level) * x ** line.slope;

/** How far the points are from a line: root mean square of log(y / line). */
function missOf(line, x, y) {
  return Math.sqrt(d3.mean(x, (value, i) => Math.log(y[i] / valueOf(line, value)) ** 2));
}

/** Labels of a logarithmic axis that spans little: all of 0.05, 0.07, 0.1, 0.15, ... inside. */
function lossTicks([low, high]) {
  const ticks = [];
  for (const power of d3.range(-4, 2)) {
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

/** A style that all charts share. */
function chart(options) {
  const plot = Plot.plot({
    width: width(),
    height: isNarrow() ? 300 : 380,
    marginLeft: 52,
    marginBottom: 42,
    marginRight: 20,
    style: { fontSize: "13px", background: "none", color: "var(--ink)" },
    ...options,
  });
  plot.setAttribute("role", "img");
  return plot;
}

// On the site the page around it may be dark or light; a page opened alone asks the system.
try {
  const theme = window.parent.document.documentElement.dataset.theme;
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch { /* a page opened from a file may not look at the page around it */ }

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
