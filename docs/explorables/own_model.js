// A pocket Pythia in plain JavaScript: its tokenizer, its network, and the ranks of a text. Nothing
// here looks at the page. Long work is written as generators, which yield where one may pause.
"use strict";

const WEIGHTS = {}; // name of a model -> what its file own_NAME.js holds

// -- the tokenizer: byte-level BPE --------------------------------------------------------------

/** Characters of the given ranges, [first, last, first, last, ...], inside of a regular expression's brackets. */
function characters(ranges) {
  const escaped = ranges.map((point) => `\\u{${point.toString(16)}}`);
  let inside = "";
  for (let i = 0; i < escaped.length; i += 2) inside += `${escaped[i]}-${escaped[i + 1]}`;
  return inside;
}

/**
 * GPT-2's rule that cuts a text into words. Browsers know newer letters than the tokenizer does, so
 * its letters and numbers are given.
 */
function wordPattern(letters, numbers) {
  const L = characters(letters), N = characters(numbers), space = "\\p{White_Space}";
  return new RegExp(
    `'s|'t|'re|'ve|'m|'ll|'d| ?[${L}]+| ?[${N}]+| ?[^${space}${L}${N}]+|${space}+(?!\\P{White_Space})|${space}+`, "gu"
  );
}

/**
 * The pocket models' tokenizer. Token 0 is the special one, the next 256 are the bytes of the
 * alphabet, and each merge makes one more. So among merges the smallest token comes first.
 */
function makeTokenizer({ special, alphabet, merges, letters, numbers }) {
  const utf8 = new TextEncoder();
  const pattern = wordPattern(letters, numbers);
  const bytesOf = [[...utf8.encode(special)], ...alphabet.map((byte) => [byte])];
  const V = bytesOf.length + merges.length / 2;
  const idOfByte = new Map(alphabet.map((byte, i) => [byte, i + 1]));
  const merged = new Map(); // left * V + right -> the token of both
  const halves = new Map(); // the other way round
  for (let i = 0; i < merges.length; i += 2) {
    const [left, right] = [merges[i], merges[i + 1]];
    const id = bytesOf.length;
    merged.set(left * V + right, id);
    halves.set(id, [left, right]);
    bytesOf.push([...bytesOf[left], ...bytesOf[right]]);
  }

  /** The first merge that joins two neighbours, or undefined. */
  function firstMerge(ids) {
    let first;
    for (let i = 0; i + 1 < ids.length; i++) {
      const id = merged.get(ids[i] * V + ids[i + 1]);
      if (id !== undefined && !(id > first)) first = id;
    }
    return first;
  }

  /** The tokens of one word. A merge is done at all its places before a later one. */
  function* encodeWord(word) {
    let ids = [...utf8.encode(word)].map((byte) => idOfByte.get(byte));
    for (let id = firstMerge(ids); id !== undefined; id = firstMerge(ids)) {
      const [left, right] = halves.get(id);
      const joined = [];
      for (let i = 0; i < ids.length; i++) {
        const isPair = ids[i] === left && ids[i + 1] === right;
        joined.push(isPair ? id : ids[i]);
        if (isPair) i++;
      }
      ids = joined;
      yield;
    }
    return ids;
  }

  /** The tokens of a text, at most `most` of them, and whether there are more. */
  function* encode(text, most) {
    const ids = [];
    const add = (more) => { for (const id of more) ids.push(id); };
    for (const [i, part] of text.split(special).entries()) {
      if (i > 0) add([0]);
      for (const [word] of part.matchAll(pattern)) {
        add(yield* encodeWord(word));
        if (ids.length > most) break;
      }
      if (ids.length > most) break;
    }
    return { ids: ids.slice(0, most), isCut: ids.length > most };
  }

  return { V, encode, bytes: (id) => bytesOf[id] };
}

// -- the network: GPT-NeoX ----------------------------------------------------------------------

/** The number that 16 bits stand for (IEEE 754 binary16, finite). */
function halfToNumber(bits) {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** All matrices of a model, by name, from base64 of their float16 values one after the other. */
function readTensors({ tensors, base64 }) {
  const binary = atob(base64);
  const read = new Map();
  let place = 0;
  for (const [name, size] of tensors) {
    const values = new Float32Array(size);
    for (let i = 0; i < size; i++, place += 2) {
      const bits = binary.charCodeAt(place) | (binary.charCodeAt(place + 1) << 8);
      values[i] = halfToNumber(bits);
    }
    read.set(name, values);
  }
  return read;
}

/** The error function by its series of positive terms, to the last digits of a double. */
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

const gelu = (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2));

function makeNetwork(file) {
  const { width, layers, heads, rotary, theta, epsilon } = file.config;
  const tensors = readTensors(file);
  const headWidth = width / heads;

  /** Each row minus its mean, over its standard deviation, then the layer's own scale and shift. */
  function normalise(name, x) {
    const scale = tensors.get(`${name}.weight`), shift = tensors.get(`${name}.bias`);
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += width) {
      const row = x.subarray(start, start + width);
      let mean = 0, variance = 0;
      for (const value of row) mean += value / width;
      for (const value of row) variance += (value - mean) ** 2 / width;
      const deviation = Math.sqrt(variance + epsilon);
      for (let i = 0; i < width; i++) y[start + i] = ((row[i] - mean) / deviation) * scale[i] + shift[i];
    }
    return y;
  }

  /** Each row of x times a matrix, plus a bias if there is one. Four outputs at a time are faster than one. */
  function* multiply(name, x, rowWidth) {
    const weight = tensors.get(`${name}.weight`), bias = tensors.get(`${name}.bias`);
    const outputs = weight.length / rowWidth;
    const rows = x.length / rowWidth;
    const y = new Float32Array(rows * outputs);
    for (let row = 0; row < rows; row++) {
      const start = row * rowWidth;
      for (let output = 0; output < outputs; output += 4) {
        const w0 = output * rowWidth, w1 = w0 + rowWidth, w2 = w1 + rowWidth, w3 = w2 + rowWidth;
        let sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
        for (let i = 0; i < rowWidth; i++) {
          const value = x[start + i];
          sum0 += value * weight[w0 + i];
          sum1 += value * weight[w1 + i];
          sum2 += value * weight[w2 + i];
          sum3 += value * weight[w3 + i];
        }
        const place = row * outputs + output;
        y[place] = sum0;
        y[place + 1] = sum1;
        y[place + 2] = sum2;
        y[place + 3] = sum3;
      }
      if (bias) for (let output = 0; output < outputs; output++) y[row * outputs + output] += bias[output];
      yield;
    }
    return y;
  }

  /** Turn the first `rotary` numbers of a query or key, in pairs, by angles that grow with its place. */
  function rotate(vector, place) {
    const half = rotary / 2;
    for (let i = 0; i < half; i++) {
      const angle = place * theta ** (-i / half);
      const [a, b] = [vector[i], vector[i + half]];
      vector[i] = a * Math.cos(angle) - b * Math.sin(angle);
      vector[i + half] = b * Math.cos(angle) + a * Math.sin(angle);
    }
  }

  /** Each place looks at itself and the places before it. */
  function* attend(name, x) {
    const places = x.length / width;
    const all = yield* multiply(`${name}.query_key_value`, x, width);
    const mixed = new Float32Array(x.length);
    for (let head = 0; head < heads; head++) {
      // Query, key and value of one head follow each other in a row.
      const part = (place, which) => {
        const start = place * 3 * width + (3 * head + which) * headWidth;
        return all.subarray(start, start + headWidth);
      };
      const queries = [], keys = [], values = [];
      for (let place = 0; place < places; place++) {
        queries.push(part(place, 0));
        keys.push(part(place, 1));
        values.push(part(place, 2));
        rotate(queries[place], place);
        rotate(keys[place], place);
      }
      for (let place = 0; place < places; place++) {
        const start = place * width + head * headWidth;
        mix(queries[place], keys, values, place, mixed.subarray(start, start + headWidth));
        yield;
      }
    }
    return yield* multiply(`${name}.dense`, mixed, width);
  }

  /** The mean of the values so far, weighted by how well each key fits the query. */
  function mix(query, keys, values, place, target) {
    const scores = new Float64Array(place + 1);
    for (let other = 0; other <= place; other++) {
      const key = keys[other];
      let sum = 0;
      for (let i = 0; i < headWidth; i++) sum += query[i] * key[i];
      scores[other] = sum / Math.sqrt(headWidth);
    }
    const largest = scores.reduce((a, b) => Math.max(a, b));
    const weights = scores.map((score) => Math.exp(score - largest));
    const total = weights.reduce((a, b) => a + b);
    const sums = new Float64Array(headWidth);
    for (let other = 0; other <= place; other++) {
      const share = weights[other] / total, value = values[other];
      for (let i = 0; i < headWidth; i++) sums[i] += share * value[i];
    }
    target.set(sums);
  }

  function* feedForward(name, x) {
    const inner = yield* multiply(`${name}.dense_h_to_4h`, x, width);
    for (let start = 0; start < inner.length; start += 4 * width) {
      for (let i = start; i < start + 4 * width; i++) inner[i] = gelu(inner[i]);
      yield;
    }
    return yield* multiply(`${name}.dense_4h_to_h`, inner, 4 * width);
  }

  /** The logits at each place, one row of V after the other. */
  function* logits(ids) {
    const embedding = tensors.get("gpt_neox.embed_in.weight");
    const x = new Float32Array(ids.length * width);
    ids.forEach((id, place) => x.set(embedding.subarray(id * width, (id + 1) * width), place * width));
    for (let layer = 0; layer < layers; layer++) {
      const name = `gpt_neox.layers.${layer}`;
      // Both halves of a layer read the same input, and both are added to it.
      const attended = yield* attend(`${name}.attention`, normalise(`${name}.input_layernorm`, x));
      const fed = yield* feedForward(`${name}.mlp`, normalise(`${name}.post_attention_layernorm`, x));
      for (let i = 0; i < x.length; i++) x[i] += attended[i] + fed[i];
    }
    return yield* multiply("embed_out", normalise("gpt_neox.final_layer_norm", x), width);
  }

  return { logits };
}

// -- ranks --------------------------------------------------------------------------------------

/** How many logits are at least as large as the target's, itself included (Eq. 3, ties before it). */
function rankOf(logits, target) {
  let rank = 0;
  for (const logit of logits) if (logit >= logits[target]) rank++;
  return rank;
}

/** log of the sum of exp(logits): log p(t) is a logit minus this. */
function logSumExp(logits) {
  let largest = -Infinity, sum = 0;
  for (const logit of logits) largest = Math.max(largest, logit);
  for (const logit of logits) sum += Math.exp(logit - largest);
  return largest + Math.log(sum);
}

/** The first `count` tokens of the queue, each with its probability. Ties are before the target, as in its rank. */
function firstOf(logits, target, count) {
  const norm = logSumExp(logits);
  const isBefore = (a, b) => logits[a] > logits[b] || (logits[a] === logits[b] && b === target);
  const first = [];
  for (let id = 0; id < logits.length; id++) {
    let place = first.length;
    while (place > 0 && isBefore(id, first[place - 1])) place--;
    if (place < count) first.splice(place, 0, id);
    if (first.length > count) first.pop();
  }
  return first.map((id) => ({ id, p: Math.exp(logits[id] - norm) }));
}

/**
 * A text under a model: ids, whether it was cut, and for each token its rank and its -log p. The
 * first token has none, nor has a special token, nor the one after it.
 */
function* readText(tokenizer, network, text, most) {
  const { ids, isCut } = yield* tokenizer.encode(text, most);
  const logits = ids.length > 1 ? yield* network.logits(ids) : new Float32Array();
  const logitsBefore = (place) => logits.subarray((place - 1) * tokenizer.V, place * tokenizer.V);
  const ranks = [], nll = [];
  for (let place = 0; place < ids.length; place++) {
    const isScored = place > 0 && ids[place - 1] !== 0 && ids[place] !== 0;
    const before = isScored ? logitsBefore(place) : null;
    ranks.push(isScored ? rankOf(before, ids[place]) : null);
    nll.push(isScored ? logSumExp(before) - before[ids[place]] : null);
    yield;
  }
  return { ids, isCut, ranks, nll, logitsBefore };
}
