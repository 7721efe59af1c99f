// Numbers, equations and regions as text, in the columns and units of the data. They are for reading: affine columns
// are folded into the splits, so that w * (x - c) * s reads (w s) x - w s c, and numbers are rounded.

/** @import { Model } from "./model.js" */

/**
 * @typedef {{ feature: number, weight: number, influence: number }} Term
 * @typedef {{ terms: Term[], bias: number }} Equation  the terms are ordered by influence, the largest first
 * @typedef {{ split: number, right: boolean }} Turn  a split on the way to a node, and whether the way goes right
 * @typedef {{ at: number, strict: boolean }} End
 *
 * What a split asks, if it reads one column alone. `missing` is the answer for a missing value, null if the column
 * has no indicator; `wanted` is the answer for a value that is among the names;
 * `isMissing` says that the first name stands for a missing value.
 * @typedef {{ feature: number, above: boolean, at: number, missing: boolean | null }} Threshold
 * @typedef {{ column: number, names: string[], isMissing: boolean, wanted: boolean }} Choice
 */

const AT_MOST = "\u2264",
  AT_LEAST = "\u2265",
  MINUS = "\u2212";

const thousands = new Intl.NumberFormat("en-US");

/**
 * A number for reading, as display_number of dtsemnet.tree.wording writes it: so many significant digits, a true minus
 * sign, thousands set apart in numbers that were rounded to them. A dash if there is no number.
 * @param {number | null} value
 * @param {number} digits
 */
export function numberText(value, digits = 4) {
  if (value === null || Number.isNaN(value)) return "\u2013";
  const sign = value < 0 ? MINUS : "",
    size = Math.abs(value);
  if (size === Infinity) return `${sign}\u221e`;
  const [mantissa, exponent] = rounded(size, digits).split("e");
  if (Number(exponent) >= -4 && Number(exponent) < digits) return sign + Number(`${mantissa}e${exponent}`);
  if (size >= 10 && size < 1e7) return sign + thousands.format(Number(`${mantissa}e${exponent}`));
  return `${sign}${Number(mantissa)}e${exponent.replace("+", "").replace("-", MINUS)}`;
}

/**
 * A number that is not negative, with so many digits and an exponent. Python rounds ties to even, toExponential up.
 * @param {number} size
 * @param {number} digits
 */
function rounded(size, digits) {
  const [all, exponent] = size.toExponential(60).split("e"),
    kept = all.slice(0, digits + 1),
    isTie = /^50*$/.test(all.slice(digits + 1));
  if (isTie && Number(kept.at(-1)) % 2 === 0) return `${kept}e${exponent}`;
  return size.toExponential(digits - 1);
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
 * The equation w . x + b in raw units, for the weights that begin at `start`. A missing number counts as 0: what the
 * model fills in for it joins the weight of its indicator.
 * @param {Model} model
 * @param {Float64Array} weight
 * @param {number} start
 * @param {number} bias
 * @returns {Equation}
 */
export function readEquation(model, weight, start, bias) {
  /** @type {Term[]} */
  const terms = [];
  let before = 0; // raw weight of the feature before
  for (let j = 0; j < model.nFeatures; j++) {
    const { scale, shift, fill, spread } = model.features[j];
    const w = weight[start + j];
    before = fill === null ? w * scale : w + before * fill;
    if (w !== 0) bias += w * shift;
    // Influence measures a missing number at its fill: at 0 it would seem to move the sum far.
    if (before !== 0) terms.push({ feature: j, weight: before, influence: Math.abs(w) * spread });
  }
  // If no term has influence (constant columns), the weights themselves decide.
  terms.sort((a, b) => b.influence - a.influence || Math.abs(b.weight) - Math.abs(a.weight) || a.feature - b.feature);
  return { terms, bias };
}

/**
 * A sum as pieces of text, between which a line may be broken, with at most so many terms.
 * @param {Model} model
 * @param {Equation} equation
 * @param {number} most
 */
export function sumParts(model, equation, most = Infinity) {
  /** @type {string[]} */
  const parts = [];
  /** @type {(value: number, part: string) => void} */
  const add = (value, part) => {
    const sign = value < 0 ? MINUS : "+";
    parts.push(parts.length ? `${sign} ${part}` : value < 0 ? sign + part : part);
  };
  const shown = equation.terms.slice(0, most);
  for (const { weight, feature } of shown) {
    const size = numberText(Math.abs(weight)),
      { term } = model.features[feature];
    add(weight, size === "1" ? term : `${size} ${term}`);
  }
  const rest = equation.terms.length - shown.length;
  if (rest > 0) add(1, `\u2026 ${plural(rest, "more term")}`);
  if (equation.bias !== 0 || !parts.length) add(equation.bias, numberText(Math.abs(equation.bias)));
  return parts;
}

/**
 * What sends an input right, or left, at a split, as pieces of text between which a line may be broken.
 * @param {Model} model
 * @param {Equation} equation
 * @param {boolean} right
 * @param {number} most  terms or categories to show
 */
export function questionParts(model, equation, right, most = Infinity) {
  const one = readThreshold(model, equation);
  if (one !== null) {
    const sign = one.above ? (right ? ">" : AT_MOST) : right ? "<" : AT_LEAST;
    return [`${thresholdName(model, one.feature)} ${sign} ${numberText(one.at)}${missingText(one.missing, right)}`];
  }
  const choice = readChoice(model, equation);
  if (choice !== null) return choiceParts(model, choice, right, most);
  return [...sumParts(model, equation, most), `${right ? ">" : AT_MOST} 0`];
}

/**
 * What sends an input right, or left, at a split, in one piece.
 * @param {Model} model
 * @param {Equation} equation
 * @param {boolean} right
 * @param {number} [most]
 */
export function questionText(model, equation, right, most) {
  return questionParts(model, equation, right, most).join(" ");
}

/**
 * What holds on the way to a node. Splits on one number are merged to an interval, whose line names no split.
 * @param {Model} model
 * @param {(split: number) => Equation} equationOf
 * @param {Turn[]} turns
 */
export function regionLines(model, equationOf, turns) {
  /** @typedef {{ parts: string[], split: number | null }} Line */
  /** @type {Map<number, { low: End | null, high: End | null, missing: boolean | null, line: Line }>} */
  const intervals = new Map();
  /** @type {Line[]} */
  const lines = [];
  for (const { split, right } of turns) {
    const equation = equationOf(split),
      one = readThreshold(model, equation);
    if (one === null) {
      lines.push({ parts: questionParts(model, equation, right, equation.terms.length > 12 ? 6 : Infinity), split });
      continue;
    }
    let interval = intervals.get(one.feature);
    if (interval === undefined) {
      interval = {
        low: null,
        high: null,
        missing: one.missing === null ? null : true,
        line: { parts: [], split: null },
      };
      intervals.set(one.feature, interval);
      lines.push(interval.line);
    }
    // Going right is strict: x > at or x < at. A missing value comes here if it takes every turn.
    const side = one.above === right ? "low" : "high",
      end = interval[side],
      closer = end === null || (side === "low" ? one.at > end.at : one.at < end.at);
    if (end === null || closer || (one.at === end.at && right)) interval[side] = { at: one.at, strict: right };
    interval.missing &&= one.missing === right;
    const { low, high, missing } = interval;
    interval.line.parts = [intervalText(thresholdName(model, one.feature), low, high) + missingText(missing, true)];
  }
  const texts = lines.map(({ parts }) => parts.join(" "));
  return lines.filter((_, k) => texts.indexOf(texts[k]) === k);
}

/**
 * The threshold of a split that reads one number (and whether it is missing), or null.
 * @param {Model} model
 * @param {Equation} equation
 * @returns {Threshold | null}
 */
function readThreshold(model, { terms, bias }) {
  const { features, columns } = model;
  const one = terms.find(({ feature }) => features[feature].kind === "number");
  if (one === undefined) return null;
  const { column } = features[one.feature];
  if (terms.some(({ feature }) => features[feature].column !== column)) return null;
  let at = -bias / one.weight + 0;
  // Steps are for adding up: alone, a column reads better in its own units.
  if (features[one.feature].in_steps) at = at / columns[column].scale + columns[column].center;
  if (!Number.isFinite(at)) return null;
  const indicator = terms.find(({ feature }) => features[feature].kind === "missing");
  const missing = columns[column].missing === "indicator" ? (indicator?.weight ?? 0) + bias > 0 : null;
  return { feature: one.feature, above: one.weight > 0, at, missing };
}

/**
 * The name of a feature beside a threshold.
 * @param {Model} model
 * @param {number} feature
 */
function thresholdName(model, feature) {
  const { label, in_steps, column } = model.features[feature];
  return in_steps ? model.columns[column].name : label;
}

/**
 * The categories that a split on one column asks for, or null. An unknown category scores the bias alone.
 * @param {Model} model
 * @param {Equation} equation
 * @returns {Choice | null}
 */
function readChoice({ features }, { terms, bias }) {
  if (!terms.length) return null;
  const { column } = features[terms[0].feature];
  if (terms.some(({ feature }) => features[feature].column !== column || features[feature].kind === "number"))
    return null;
  const wanted = !(bias > 0);
  const named = terms.filter(({ weight }) => weight + bias > 0 === wanted).sort((a, b) => a.feature - b.feature);
  if (!named.length) return null;
  const names = named.map(({ feature }) => features[feature].category ?? "missing");
  return { column, wanted, names, isMissing: features[named[0].feature].kind === "missing" };
}

/**
 * @param {Model} model
 * @param {Choice} choice
 * @param {boolean} right
 * @param {number} most
 */
function choiceParts({ columns }, { column, names, isMissing, wanted }, right, most) {
  const { name } = columns[column],
    among = wanted === right;
  if (names.length === 1 && isMissing) return [`${name} is ${among ? "" : "not "}missing`];
  if (names.length === 1) return [`${name} ${among ? "=" : "\u2260"} ${names[0]}`];
  const shown = names.slice(0, most);
  if (shown.length < names.length) shown.push(`\u2026 ${countText(names.length - shown.length)} more`);
  const last = shown.length - 1;
  return shown.map((category, k) => {
    const start = k === 0 ? `${name} ${among ? "in" : "not in"} {` : "";
    return `${start}${category}${k < last ? "," : "}"}`;
  });
}

/**
 * @param {boolean | null} missing  the answer for a missing value
 * @param {boolean} right
 */
function missingText(missing, right) {
  return missing === null ? "" : missing === right ? " or missing" : " and not missing";
}

/**
 * @param {string} label
 * @param {End | null} low
 * @param {End | null} high
 */
function intervalText(label, low, high) {
  /** @type {(end: End) => string} */
  const below = (end) => (end.strict ? "<" : AT_MOST);
  if (low && high) return `${numberText(low.at)} ${below(low)} ${label} ${below(high)} ${numberText(high.at)}`;
  if (low) return `${label} ${low.strict ? ">" : AT_LEAST} ${numberText(low.at)}`;
  if (high) return `${label} ${below(high)} ${numberText(high.at)}`;
  return label;
}
