// Numbers, equations and regions as text, in the columns and units of the data. They are for reading: affine columns
// are folded into the splits, so that w * (x - c) * s reads (w s) x - w s c, and numbers are rounded.

/** @import { Feature, Model } from "./model.js" */

/**
 * @typedef {{ feature: number, weight: number, influence: number }} Term
 * @typedef {{ terms: Term[], bias: number }} Equation  the terms are ordered by influence, the largest first
 * @typedef {{ split: number, right: boolean }} Turn  a split on the way to a node, and whether the way goes right
 * @typedef {{ at: number, strict: boolean }} End
 */

const GREATER = ">",
  AT_MOST = "\u2264",
  LESS = "<",
  AT_LEAST = "\u2265",
  MINUS = "\u2212";

const thousands = new Intl.NumberFormat("en-US");

/**
 * @param {number | null} value
 * @param {number} digits
 */
export function numberText(value, digits = 4) {
  if (value === null || Number.isNaN(value)) return "\u2013";
  if (!Number.isFinite(value)) return `${value > 0 ? "" : MINUS}\u221e`;
  const size = Math.abs(value);
  const text =
    size !== 0 && (size >= 1e6 || size < 1e-4)
      ? value
          .toExponential(digits - 1)
          .replace(/\.?0+e/, "e")
          .replace("e+", "e")
      : String(Number(value.toPrecision(digits)));
  return text.replace(/-/g, MINUS);
}

/** @param {number} n */
export function countText(n) {
  return thousands.format(n);
}

/** @param {number} share */
export function percentText(share) {
  return share > 0 && share < 1e-4 ? "< 0.01 %" : `${numberText(100 * share, 3)} %`;
}

/**
 * @param {number} n
 * @param {string} one
 * @param {string} many
 */
export function plural(n, one, many = `${one}s`) {
  return `${countText(n)} ${n === 1 ? one : many}`;
}

/**
 * The equation w . x + b in raw units, for the weights that begin at `start`.
 * @param {Model} model
 * @param {Float64Array} weight
 * @param {number} start
 * @param {number} bias
 * @returns {Equation}
 */
export function readEquation(model, weight, start, bias) {
  /** @type {Term[]} */
  const terms = [];
  for (let j = 0; j < model.nFeatures; j++) {
    const w = weight[start + j];
    if (w === 0) continue;
    const { factor, shift, spread } = model.features[j];
    bias += w * shift;
    terms.push({ feature: j, weight: w * factor, influence: Math.abs(w) * spread });
  }
  // If no term has influence (constant columns), the weights themselves decide.
  terms.sort((a, b) => b.influence - a.influence || Math.abs(b.weight) - Math.abs(a.weight) || a.feature - b.feature);
  return { terms, bias };
}

/**
 * A sum as text, with at most so many terms.
 * @param {Model} model
 * @param {Equation} equation
 * @param {number} most
 */
export function sumText(model, equation, most = Infinity) {
  let text = "";
  /** @type {(value: number, label: string) => void} */
  const add = (value, label) => {
    const size = numberText(Math.abs(value));
    const part = label && size === "1" ? label : label ? `${size} ${label}` : size;
    if (text === "") text = (value < 0 ? MINUS : "") + part;
    else text += ` ${value < 0 ? MINUS : "+"} ${part}`;
  };
  const shown = equation.terms.slice(0, most);
  for (const term of shown) add(term.weight, model.features[term.feature].label);
  const rest = equation.terms.length - shown.length;
  if (rest > 0) text += ` + ${plural(rest, "more term")}`;
  if (equation.bias !== 0 || text === "") add(equation.bias, "");
  return text;
}

/**
 * What sends an input right, or left, at a split.
 * @param {Model} model
 * @param {Equation} equation
 * @param {boolean} right
 * @param {number} most  terms to show, if it is a sum
 */
export function inequalityText(model, equation, right, most = Infinity) {
  const one = singleFeature(equation);
  if (one === null) return `${sumText(model, equation, most)} ${right ? GREATER : AT_MOST} 0`;
  // The threshold tells 0 from 1: x > at going up, x < at going down.
  const apart = one.up ? one.at >= 0 && one.at < 1 : one.at > 0 && one.at <= 1;
  const { label, kind } = model.features[one.feature];
  if (kind !== "number" && apart) return flagText(model, model.features[one.feature], one.up === right);
  const sign = one.up ? (right ? GREATER : AT_MOST) : right ? LESS : AT_LEAST;
  return `${label} ${sign} ${numberText(one.at)}`;
}

/**
 * The inequalities on the way to a node. Those on one number are merged to an interval, which has no split.
 * @param {Model} model
 * @param {(split: number) => Equation} equationOf
 * @param {Turn[]} turns
 */
export function regionText(model, equationOf, turns) {
  /** @type {Map<number, { low: End | null, high: End | null, line: { text: string, split: number | null } }>} */
  const intervals = new Map();
  /** @type {{ text: string, split: number | null }[]} */
  const lines = [];
  for (const { split, right } of turns) {
    const equation = equationOf(split),
      one = singleFeature(equation);
    if (one === null || model.features[one.feature].kind !== "number") {
      lines.push({ text: inequalityText(model, equation, right, equation.terms.length > 12 ? 6 : Infinity), split });
      continue;
    }
    let interval = intervals.get(one.feature);
    if (interval === undefined) {
      interval = { low: null, high: null, line: { text: "", split: null } };
      intervals.set(one.feature, interval);
      lines.push(interval.line);
    }
    const above = one.up === right;
    // Right is strict: x > at going up, x < at going down.
    if (above && (interval.low === null || one.at > interval.low.at || (one.at === interval.low.at && right))) {
      interval.low = { at: one.at, strict: right };
    }
    if (!above && (interval.high === null || one.at < interval.high.at || (one.at === interval.high.at && right))) {
      interval.high = { at: one.at, strict: right };
    }
    interval.line.text = intervalText(model.features[one.feature].label, interval.low, interval.high);
  }
  return lines.filter((line, k) => lines.findIndex(({ text }) => text === line.text) === k);
}

/**
 * The threshold of a split on one feature, or null if it is a sum.
 * @param {Equation} equation
 */
function singleFeature(equation) {
  if (equation.terms.length !== 1) return null;
  const { feature, weight } = equation.terms[0];
  const at = -equation.bias / weight + 0;
  return Number.isFinite(at) ? { feature, at, up: weight > 0 } : null;
}

/**
 * A feature that is 0 or 1, in words.
 * @param {Model} model
 * @param {Feature} feature
 * @param {boolean} on
 */
function flagText(model, { column, kind, category }, on) {
  const { name } = model.columns[column];
  if (kind === "missing") return on ? `${name} is missing` : `${name} is given`;
  return `${name} ${on ? "is" : "is not"} ${category}`;
}

/**
 * @param {string} label
 * @param {End | null} low
 * @param {End | null} high
 */
function intervalText(label, low, high) {
  /** @type {(end: End) => string} */
  const below = (end) => (end.strict ? LESS : AT_MOST);
  if (low && high) return `${numberText(low.at)} ${below(low)} ${label} ${below(high)} ${numberText(high.at)}`;
  if (low) return `${label} ${low.strict ? GREATER : AT_LEAST} ${numberText(low.at)}`;
  if (high) return `${label} ${below(high)} ${numberText(high.at)}`;
  return label;
}
