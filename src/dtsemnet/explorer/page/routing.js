// The encoder, the splits and the leaves on doubles, in the order of summation that the library documents.
// This file knows no page: numbers in, numbers out. A row is one number per column: the number itself, the position
// of its category, -1 for an unknown category, NaN for a missing value.

/** @import { Model } from "./model.js" */

/**
 * @typedef {{ split: number, score: number }} Step
 *
 * @typedef {object} Result  what a row gives: either `refused` or the other fields are there
 * @property {Step[]} path  the splits that were met, also if a later one refused the row
 * @property {string} [refused]
 * @property {number} [leaf]
 * @property {number[]} [output]
 * @property {Float64Array} [features]
 */

const LANES = 16;
const OVERFLOW = "these numbers are too large: a sum overflows";

/**
 * One rounded product and one rounded sum at a time, sixteen sums side by side, joined by halves.
 * @param {Float64Array} w
 * @param {number} start
 * @param {ArrayLike<number>} x
 */
export function dot(w, start, x) {
  const acc = new Float64Array(LANES);
  for (let j = 0; j < x.length; j++) acc[j & 15] += w[start + j] * x[j];
  for (let half = LANES / 2; half >= 1; half /= 2) {
    for (let k = 0; k < half; k++) acc[k] += acc[k + half];
  }
  return acc[0];
}

/**
 * The features of a row, or the reason why the row is refused.
 * @param {Model} model
 * @param {ArrayLike<number>} row
 * @returns {{ features: Float64Array, refused?: undefined } | { refused: string }}
 */
export function encode(model, row) {
  const features = new Float64Array(model.nFeatures);
  let j = 0;
  for (let c = 0; c < model.columns.length; c++) {
    const column = model.columns[c];
    const missing = Number.isNaN(row[c]);
    if (column.categories !== null) {
      const code = missing && column.missing === "fill" ? column.fill : row[c];
      if (code >= 0) features[j + code] = 1;
      j += column.categories.length;
    } else {
      if (missing && !column.missing) return { refused: `${column.name} needs a number` };
      let number = missing ? column.fill : row[c];
      if (!Number.isFinite(number)) return { refused: `${column.name} must be finite` };
      number = (number - column.center) * column.scale;
      if (column.lower !== null && number < column.lower) number = column.lower;
      if (column.upper !== null && number > column.upper) number = column.upper;
      if (!Number.isFinite(number)) return { refused: `${column.name} is too large` };
      features[j++] = number;
    }
    if (column.missing === "indicator") features[j++] = missing ? 1 : 0;
  }
  return { features };
}

/**
 * The splits that the features meet, with their scores, and the leaf.
 * @param {Model} model
 * @param {Float64Array} features
 * @returns {{ path: Step[], leaf: number, refused?: undefined } | { path: Step[], refused: string }}
 */
export function route(model, features) {
  /** @type {Step[]} */
  const path = [];
  let node = model.nSplits ? 0 : -1;
  while (node >= 0) {
    const score = dot(model.weight, node * model.nFeatures, features) + model.bias[node];
    if (Number.isNaN(score)) return { refused: OVERFLOW, path };
    path.push({ split: node, score });
    node = model.children[node][score > 0 ? 1 : 0];
  }
  return { path, leaf: ~node };
}

/**
 * @param {Model} model
 * @param {number} leaf
 */
export function leafClass(model, leaf) {
  let best = 0;
  const start = leaf * model.nOutputs;
  for (let k = 1; k < model.nOutputs; k++) if (model.value[start + k] > model.value[start + best]) best = k;
  return best;
}

/**
 * The least sum of margins that must turn before the features are in each class; NaN if a sum overflows.
 * @param {Model} model
 * @param {Float64Array} features
 */
function margins(model, features) {
  const margin = new Array(model.nOutputs).fill(NaN),
    above = new Float64Array(model.nLeaves), // sums of the margins violated on the way to each split
    held = new Set();
  /** @type {(node: number, sum: number) => void} */
  const reach = (node, sum) => {
    if (node >= 0) {
      above[node] = sum;
      return;
    }
    const k = leafClass(model, ~node);
    margin[k] = held.has(k) ? Math.min(margin[k], sum) : sum;
    held.add(k);
  };
  if (!model.nSplits) reach(~0, 0);
  for (let i = 0; i < model.nSplits; i++) {
    const score = dot(model.weight, i * model.nFeatures, features) + model.bias[i];
    reach(model.children[i][0], above[i] + Math.max(score, 0));
    reach(model.children[i][1], above[i] + Math.max(-score, 0));
  }
  const largest = Math.max(...[...held].map((k) => margin[k]));
  return margin.map((m, k) => (held.has(k) ? m : largest));
}

/**
 * The probabilities of the classes from margins and the leaf: dtsemnet/tree/probability.py has the formula.
 * @param {Model} model
 * @param {{ rate: number, log: Float64Array }} probability
 * @param {number} leaf
 * @param {Float64Array} features
 */
function marginProbabilities(model, { rate, log }, leaf, features) {
  const weight = margins(model, features).map((m, k) => {
    const penalty = rate > 0 || Number.isNaN(m) ? rate * m : 0;
    return Math.exp(Math.max(log[leaf * model.nOutputs + k] - penalty, -700));
  });
  const total = weight.reduce((sum, w) => sum + w, 0);
  return weight.map((w) => w / total);
}

/**
 * The class probabilities of a leaf, or the numbers that it predicts.
 * @param {Model} model
 * @param {number} leaf
 * @param {ArrayLike<number>} features
 */
export function leafOutput(model, leaf, features) {
  const start = leaf * model.nOutputs;
  const output = Array.from(model.value.subarray(start, start + model.nOutputs));
  if (model.classes !== null) return output;
  for (let o = 0; o < model.nOutputs; o++) {
    if (model.coef !== null) output[o] += dot(model.coef, (start + o) * model.nFeatures, features);
    if (model.lower !== null && output[o] < model.lower[start + o]) output[o] = model.lower[start + o];
    else if (model.upper !== null && output[o] > model.upper[start + o]) output[o] = model.upper[start + o];
    if (model.squash !== null) {
      const { low, high } = model.squash;
      output[o] = low[o] + ((Math.tanh(output[o]) + 1) / 2) * (high[o] - low[o]);
    }
  }
  return output;
}

/**
 * Encode a row, route it, and compute its output.
 * @param {Model} model
 * @param {ArrayLike<number>} row
 * @returns {Result}
 */
export function evaluate(model, row) {
  const encoded = encode(model, row);
  if (encoded.refused !== undefined) return { refused: encoded.refused, path: [] };
  const routed = route(model, encoded.features);
  if (routed.refused !== undefined) return routed;
  const output =
    model.probability === null
      ? leafOutput(model, routed.leaf, encoded.features)
      : marginProbabilities(model, model.probability, routed.leaf, encoded.features);
  if (output.some(Number.isNaN)) return { refused: OVERFLOW, path: routed.path };
  return { ...routed, output, features: encoded.features };
}
