// Your own text: the smallest pocket models read it in the page, and colour each token by its rank.
"use strict";

const GROUPS = DATA.groups;
const TOKENIZER = makeTokenizer(DATA.tokenizer);
const OWN = "own";
const PAUSE = 250; // ms without a keystroke before the text is read
const SLICE = 20; // ms of work before keystrokes get their turn
const TOP = 10;

const options = DATA.samples.map((one, i) => [i, one.title]);
const sample = menu("Text", "text", [...options, [OWN, "your own"]], changeSample);
const model = menu("Model", "model", DATA.models.map((one) => [one.name, `${one.name}, S = ${sizeInWords(one.S)}`]), read);
const input = make("textarea", { name: "own", rows: 5, maxlength: 20000, spellcheck: "false", autocapitalize: "off" });
const note = make("p", { role: "status" });
const box = make("div", { class: "tokens long", role: "group", "aria-label": "your text, token by token" });
const said = make("p", { class: "said", "aria-live": "polite" });
const queue = make("div", { class: "follows", "aria-live": "polite" });
let typed = ""; // the reader's own text, kept while a sample is shown
let result; // of the last text that was read
let place = 1; // of the chosen token
let latest = 0; // the number of the last reading; an older one stops
let timer;

// -- reading ------------------------------------------------------------------------------------

const networks = new Map(); // name -> promise of a network

/** A model, from its file next to this page. It is a script, because a page opened from a file may load nothing else. */
function networkOf(name) {
  if (!networks.has(name)) {
    networks.set(name, new Promise((resolve, reject) => {
      const script = make("script", { src: `own_${name}.js` });
      script.addEventListener("load", () => resolve(makeNetwork(WEIGHTS[name])));
      script.addEventListener("error", () => reject(new Error(`own_${name}.js is not next to this page.`)));
      document.head.append(script);
    }));
  }
  return networks.get(name);
}

/** The result of a generator that runs in slices, or undefined once there is newer work. */
async function inSlices(work, number) {
  while (number === latest) {
    const end = performance.now() + SLICE;
    while (performance.now() < end) {
      const step = work.next();
      if (step.done) return step.value;
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
  return undefined;
}

async function read() {
  clearTimeout(timer);
  const number = ++latest, name = model.value;
  if (!networks.has(name)) note.textContent = "The model is being loaded.";
  try {
    const network = await networkOf(name);
    const start = performance.now();
    const whole = await inSlices(readText(TOKENIZER, network, input.value, DATA.context), number);
    if (whole) show({ ...whole, name, seconds: (performance.now() - start) / 1000 });
  } catch (error) {
    note.textContent = `The model cannot be read: ${error.message}`;
  }
}

function changeSample() {
  input.value = sample.value === OWN ? typed : DATA.samples[sample.value].text;
  read();
}

input.addEventListener("input", () => {
  typed = input.value;
  sample.element.querySelector("select").value = OWN;
  clearTimeout(timer);
  timer = setTimeout(read, PAUSE);
});

// -- showing ------------------------------------------------------------------------------------

/** A token as text. Bytes that are only part of a character are written as \xe2. */
function pieceOf(id) {
  const bytes = TOKENIZER.bytes(id);
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let piece = "";
  for (let i = 0; i < bytes.length;) {
    const lead = bytes[i];
    const size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    try {
      piece += strict.decode(new Uint8Array(bytes.slice(i, i + size)));
      i += size;
    } catch {
      piece += `\\x${lead.toString(16).padStart(2, "0")}`;
      i += 1;
    }
  }
  return piece;
}

/** A token as text in which no space is hidden; many spaces as their number. */
function shownWord(id) {
  return pieceOf(id)
    .replaceAll("\n", "↵")
    .replaceAll("\t", "⇥")
    .replace(/ {4,}/g, (spaces) => `␣×${spaces.length}`)
    .replaceAll(" ", "␣");
}

const isScored = (i) => Boolean(result.ranks[i]);
const groupOf = (rank) => GROUPS.ends.filter((end) => rank > end).length;

function show(newest) {
  result = newest;
  const { ids, ranks, isCut } = result;
  note.textContent = isCut ? `The model reads ${DATA.context} tokens at most: the rest of the text is left out.` : "";
  const scored = ranks.filter((rank) => rank !== null);
  if (!isScored(place)) place = ranks.findIndex((rank) => rank !== null);
  box.replaceChildren(...ids.map((_, i) => tokenSpan(i)));
  queue.replaceChildren();
  if (scored.length === 0) {
    said.textContent = "Nothing to rank yet: a token is ranked if there is one before it.";
    return;
  }
  const rbp = [1, 10, 100].map((k) => {
    const hits = scored.filter((rank) => rank <= k).length;
    return `RBP<sub>${k}</sub> = <b>${(hits / scored.length).toFixed(2)}</b>`;
  });
  const ce = result.nll.reduce((sum, one) => sum + (one ?? 0), 0) / scored.length;
  const time = result.seconds < 0.01 ? "less than 0.01" : result.seconds.toFixed(2);
  const tokens = scored.length === 1 ? "1 ranked token" : `${scored.length} ranked tokens`;
  said.innerHTML = `${tokens}: ${rbp.join(", ")}, CE = <b>${ce.toFixed(2)}</b> nats. Reading took ${time} seconds.`;
  choose(place);
}

function tokenSpan(i) {
  const piece = pieceOf(result.ids[i]);
  const span = make("span", {}, piece.replaceAll("\n", "↵\n"));
  if (!isScored(i)) return span;
  const rank = result.ranks[i], group = groupOf(rank);
  span.style.background = GROUPS.fills[group];
  span.style.color = GROUPS.letters[group];
  span.tabIndex = -1;
  span.setAttribute("role", "button");
  span.setAttribute("aria-label", `${piece.trim() || "space"}: rank ${rank}`);
  span.addEventListener("focus", () => choose(i));
  span.addEventListener("click", () => choose(i)); // not every browser focuses what is clicked
  return span;
}

function choose(i) {
  const last = box.querySelector('[aria-current="true"]');
  last?.removeAttribute("aria-current");
  if (last) last.tabIndex = -1;
  place = i;
  box.children[i].setAttribute("aria-current", "true");
  box.children[i].tabIndex = 0;
  drawQueue();
}

// The arrow keys go from token to token.
box.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  let next = place + step;
  while (next > 0 && next < result.ids.length && !isScored(next)) next += step;
  if (isScored(next)) box.children[next].focus();
});

function drawQueue() {
  const target = result.ids[place], rank = result.ranks[place];
  const rows = firstOf(result.logitsBefore(place), target, TOP).map((one, i) => ({ ...one, rank: i + 1 }));
  const table = make("table", { class: "queue" });
  for (const row of rows) table.append(queueRow(row, row.id === target));
  if (rank > TOP) {
    if (rank > TOP + 1) table.append(make("tr", {}, make("td", {}, "⋮")));
    table.append(queueRow({ id: target, rank, p: Math.exp(-result.nll[place]) }, true));
  }
  queue.replaceChildren(make("p", {}, "The model's queue before this token; the true one is bold:"), table);
}

function queueRow({ id, rank, p }, isTrue) {
  const bar = make("span", { class: "bar" });
  bar.style.width = `${Math.max(1, 90 * p)}px`;
  const share = p < 0.00005 ? "below 0.01%" : percent(p, p < 0.01 ? 2 : 0);
  return make("tr", isTrue ? { class: "true" } : {},
    make("td", {}, String(rank)),
    make("td", { class: "word" }, shownWord(id)),
    make("td", {}, bar, ` ${share}`));
}

const key = rankKey(GROUPS);
MAIN.replaceChildren(
  make("h1", {}, "Your own text"),
  make("p", {}, "Type or paste a text. A small model reads it in this page and colours each token by its rank: its place when the model lines up all tokens, the most probable first. A click on a token, or Tab and then the arrow keys, shows the queue at its place. The text stays in your browser."),
  make("div", { class: "controls" }, sample.element, model.element),
  make("label", { class: "text" }, "Your text", input),
  note, key,
  make("div", { class: "columns" }, make("div", {}, box, said), queue),
  make("p", { class: "small" }, DATA.note),
);
changeSample();
