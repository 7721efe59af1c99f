// What is known about each node: its equation, its rows, its answer, its colour. Computed when first needed.

/** @import { Layout } from "./layout.js" */
/** @import { Model } from "./model.js" */
/** @import { Equation, Term, Turn } from "./text.js" */
/** @import { Colours } from "./theme.js" */

import { leafClass, leafOutput } from "./routing.js";
import { numberText, percentText, plural, questionText, readEquation } from "./text.js";

const KEPT = 64; // equations kept at a time: those of all splits of a large tree would fill the memory

export class Facts {
  /** @type {Map<number, Equation>} */
  #equations = new Map();
  /** @type {Map<number, Term[]>} */
  #leading = new Map();
  /** @type {Map<number, string>} */
  #captions = new Map();
  /** @type {Map<number, number[]>} */
  #bars = new Map();
  /** @type {Float64Array | null} */
  #rowsBefore = null; // rows in the leaves to the left of each leaf
  /** @type {(number | null)[]} */
  leafValues = []; // the number that a leaf of a regressor is coloured by, or null if none is known
  /** @type {{ low: number, high: number } | null} */
  leafRange = null;

  /**
   * @param {Model} model
   * @param {Layout} layout
   */
  constructor(model, layout) {
    this.model = model;
    this.layout = layout;
    this.read();
  }

  /** Read the model anew, after another tree has taken its place. */
  read() {
    const { model } = this;
    for (const cache of [this.#equations, this.#leading, this.#captions, this.#bars]) cache.clear();
    this.#rowsBefore = null;
    if (model.leaves !== null) {
      const before = new Float64Array(model.nLeaves + 1);
      model.leaves.count.forEach((n, leaf) => {
        before[leaf + 1] = before[leaf] + n;
      });
      this.#rowsBefore = before;
    }
    this.leafValues = model.classes === null ? this.#readLeafValues() : [];
    this.leafRange = rangeOf(this.leafValues);
  }

  /**
   * The terms of a split.
   * @param {number} split
   */
  equation(split) {
    const { model } = this,
      equations = this.#equations;
    return once(equations, split, () => {
      if (equations.size >= KEPT) equations.clear();
      return readEquation(model, model.weight, split * model.nFeatures, model.bias[split]);
    });
  }

  /**
   * The largest terms of a split.
   * @param {number} split
   */
  leading(split) {
    return once(this.#leading, split, () => this.equation(split).terms.slice(0, 8));
  }

  /**
   * One output of a leaf, as terms.
   * @param {number} leaf
   * @param {number} o
   * @returns {Equation}
   */
  answer(leaf, o) {
    const { model } = this,
      row = leaf * model.nOutputs + o;
    if (model.coef === null) return { terms: [], bias: model.value[row] };
    return readEquation(model, model.coef, row * model.nFeatures, model.value[row]);
  }

  /**
   * How far a score is from 0, with every feature measured in its spread, so that splits can be compared.
   * @param {number} split
   * @param {number} score
   */
  distance(split, score) {
    const { terms } = this.equation(split);
    const most = largest(terms.map((term) => term.influence));
    if (!(most > 0)) return Infinity;
    const norm = most * Math.sqrt(terms.reduce((sum, term) => sum + (term.influence / most) ** 2, 0));
    return Math.abs(score) / norm;
  }

  /** @param {number} split */
  caption(split) {
    return once(this.#captions, split, () => {
      const { features } = this.model,
        equation = this.equation(split);
      const columns = new Set(equation.terms.map((term) => features[term.feature].column));
      if (columns.size <= 1) return questionText(this.model, equation, true, 4);
      return equation.terms
        .slice(0, 4)
        .map((term) => features[term.feature].label)
        .join(", ");
    });
  }

  /**
   * The largest terms as signed lengths between -1 and 1.
   * @param {number} split
   */
  bars(split) {
    return once(this.#bars, split, () => {
      const terms = this.leading(split);
      const flat = terms.every((term) => term.influence === 0);
      /** @type {(term: Term) => number} */
      const size = (term) => (flat ? Math.abs(term.weight) : term.influence);
      const most = largest(terms.map(size)) || 1;
      return terms.map((term) => (Math.sign(term.weight) * size(term)) / most);
    });
  }

  /**
   * Rows below a node, or null if the page was written without rows.
   * @param {number} node
   */
  rows(node) {
    const before = this.#rowsBefore;
    return before === null ? null : before[this.layout.last(node)] - before[this.layout.first(node)];
  }

  /**
   * Rows below a node as text, empty if the page was written without rows.
   * @param {number} node
   */
  rowsText(node) {
    const n = this.rows(node);
    return n === null ? "" : plural(n, "row");
  }

  /** @param {number} node */
  share(node) {
    const rows = this.rows(node),
      all = this.rows(this.layout.root);
    return rows === null || !all ? null : rows / all;
  }

  /**
   * The splits on the way to a node, from the root.
   * @param {number} node
   * @returns {Turn[]}
   */
  turns(node) {
    const path = this.layout.pathTo(node);
    return path.slice(0, -1).map((split, k) => ({ split, right: this.layout.isRight(path[k + 1]) }));
  }

  /**
   * What a leaf says in two or three words.
   * @param {number} leaf
   */
  leafTitle(leaf) {
    const { model } = this;
    if (model.classes !== null) return model.classes[leafClass(model, leaf)];
    if (model.coef === null) {
      const shown = leafOutput(model, leaf, [])
        .slice(0, 3)
        .map((value) => numberText(value));
      return shown.join(", ") + (model.nOutputs > 3 ? ", \u2026" : "");
    }
    const value = this.leafValues[leaf];
    return value === null ? "linear" : `\u2248 ${numberText(value, 3)}`;
  }

  /**
   * Whether a leaf is proved to be unreachable.
   * @param {number} leaf
   */
  isUnreachable(leaf) {
    return this.model.proofs !== null && this.model.proofs.status[leaf] === "unreachable";
  }

  /**
   * What is proved about a leaf, as a sentence, or null.
   * @param {number} leaf
   */
  proof(leaf) {
    const { proofs } = this.model;
    if (proofs === null) return null;
    const status = proofs.status[leaf];
    if (status === "reachable") return "Proved: an input of the domain reaches this leaf.";
    if (status === "unreachable")
      return `Proved: no input of the domain reaches this leaf, because ${proofs.reason[leaf]}.`;
    return "Undecided: the leaf is too thin for a proof with rounded numbers.";
  }

  /** @param {number} leaf */
  leafDetail(leaf) {
    if (this.isUnreachable(leaf)) return "unreachable";
    const { model } = this,
      size = this.rowsText(~leaf);
    if (model.classes === null) return size || `leaf ${leaf}`;
    const sure = percentText(model.value[leaf * model.nOutputs + leafClass(model, leaf)]);
    return size ? `${sure} \u00b7 ${size}` : sure;
  }

  /** @param {number} node */
  name(node) {
    return node >= 0 ? `Split ${node}` : `Leaf ${~node}`;
  }

  /**
   * One line about a node, for a tooltip and for screen readers.
   * @param {number} node
   */
  line(node) {
    const text =
      node >= 0
        ? questionText(this.model, this.equation(node), true, 3)
        : `${this.leafTitle(~node)}, ${this.leafDetail(~node)}`;
    return `${this.name(node)}: ${text}`;
  }

  summary() {
    const { model, layout } = this;
    const parts = [
      model.kind,
      `depth ${layout.height}`,
      plural(model.nSplits, "split"),
      plural(model.nLeaves, "leaf", "leaves"),
      this.readingText(),
    ];
    if (model.proofs !== null) {
      const gone = model.proofs.status.filter((status) => status === "unreachable").length;
      parts.push(`${plural(gone, "leaf", "leaves")} proved unreachable`, ...model.proofs.shares);
    }
    const n = this.rows(layout.root);
    if (model.leaves === null || n === null) return parts.join(" \u00b7 ");
    const { right, error, are } = model.leaves;
    const rows = plural(n, "row") + (are ? ` (${are})` : "");
    if (right) {
      const share = right.reduce((sum, rows) => sum + rows, 0) / n;
      parts.push(`accuracy ${percentText(share)} on ${rows}`);
    } else if (error) {
      const errors = this.#rmse(model.leaves.count, error, n).map((value) => numberText(value));
      parts.push(`RMSE ${errors.join(", ")} on ${rows}`);
    } else parts.push(rows);
    return parts.join(" \u00b7 ");
  }

  /** What it costs to read the tree. */
  readingText() {
    const { columns, reading, nSplits } = this.model,
      a = nSplits ? `, ${numberText(reading.splits / nSplits, 2)} a split` : "";
    return `reads ${reading.distinct} of ${plural(columns.length, "column")}${a}, at most ${reading.longest} on a path`;
  }

  /**
   * The least and the most that terms add while every column stays within the range of its slider.
   * @param {Term[]} terms
   */
  rangeOfTerms(terms) {
    const { columns, features } = this.model;
    let low = 0,
      high = 0;
    for (const { feature, weight } of terms) {
      const { column, kind } = features[feature],
        ends = kind === "number" ? [columns[column].low, columns[column].high] : [0, 1];
      if (kind === "number" && columns[column].missing === "indicator") ends.push(0);
      low += Math.min(...ends.map((end) => weight * end));
      high += Math.max(...ends.map((end) => weight * end));
    }
    return { low, high };
  }

  /** @param {number} k */
  classColour(k) {
    return this.model.palette[k];
  }

  /**
   * @param {number} leaf
   * @param {Colours} colours
   */
  leafColour(leaf, colours) {
    if (this.model.classes !== null) return this.classColour(leafClass(this.model, leaf));
    const value = this.leafValues[leaf];
    if (value === null || this.leafRange === null) return colours.line;
    const { low, high } = this.leafRange,
      [from, to] = colours.ramp;
    const t = high > low ? (value - low) / (high - low) : 0.5;
    return `rgb(${from.map((part, c) => Math.round(part + (to[c] - part) * t)).join(",")})`;
  }

  /**
   * Class shares of a leaf: those of its rows if labels were given, otherwise its own probabilities.
   * @param {number} leaf
   */
  mix(leaf) {
    const { leaves, value, nOutputs } = this.model;
    if (leaves?.mix && leaves.count[leaf] > 0) return leaves.mix[leaf].map((n) => n / leaves.count[leaf]);
    return Array.from(value.subarray(leaf * nOutputs, (leaf + 1) * nOutputs));
  }

  /**
   * Nodes that match a search: a number, a class, a column that is among the five largest terms of a split, or
   * "unreachable" for leaves that are proved to be so.
   * @param {string} query
   */
  find(query) {
    const text = query.trim().toLowerCase();
    /** @type {number[]} */
    const hits = [];
    if (text === "") return hits;
    const { model } = this;
    const numbered = /^(?:(leaf|split)\s*)?#?(\d+)$/.exec(text);
    const classes = (model.classes ?? []).map((name) => name.toLowerCase().includes(text));
    const labels = model.features.map(({ label }) => label.toLowerCase().includes(text));
    const anyLabel = labels.includes(true);
    for (let split = 0; split < model.nSplits; split++) {
      const isNumber = numbered && numbered[1] !== "leaf" && Number(numbered[2]) === split;
      const leads = () => this.leading(split).findIndex((term, k) => k < 5 && labels[term.feature]) >= 0;
      if (isNumber || (anyLabel && leads())) hits.push(split);
    }
    for (let leaf = 0; leaf < model.nLeaves; leaf++) {
      const isNumber = numbered && numbered[1] !== "split" && Number(numbered[2]) === leaf;
      if (
        isNumber ||
        (text === "unreachable" && this.isUnreachable(leaf)) ||
        (model.classes !== null && classes[leafClass(model, leaf)])
      )
        hits.push(~leaf);
    }
    return hits;
  }

  #readLeafValues() {
    const { model } = this;
    return Array.from({ length: model.nLeaves }, (_, leaf) => {
      if (model.leaves?.level) return model.leaves.level[leaf]?.[0] ?? null;
      const first = leaf * model.nOutputs;
      if (model.coef === null) return leafOutput(model, leaf, [])[0];
      if (model.lower === null || model.upper === null || model.squash !== null) return null;
      return (model.lower[first] + model.upper[first]) / 2;
    });
  }

  /**
   * @param {number[]} count
   * @param {(number[] | null)[]} error
   * @param {number} n
   */
  #rmse(count, error, n) {
    return Array.from({ length: this.model.nOutputs }, (_, o) => {
      const squares = count.reduce((sum, rows, leaf) => sum + (rows ? rows * (error[leaf]?.[o] ?? 0) ** 2 : 0), 0);
      return Math.sqrt(squares / n);
    });
  }
}

/**
 * The largest number, 0 for none. Not Math.max(...numbers): a call takes some ten thousand arguments at most.
 * @param {readonly number[]} numbers
 */
export function largest(numbers) {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}

/**
 * The ends of the numbers that are known, or null if none is.
 * @param {readonly (number | null)[]} numbers
 */
export function rangeOf(numbers) {
  let low = Infinity,
    high = -Infinity;
  for (const number of numbers) {
    if (number === null) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  return low <= high ? { low, high } : null;
}

/**
 * The value of a key, computed the first time.
 * @template K, V
 * @param {Map<K, V>} cache
 * @param {K} key
 * @param {() => V} compute
 * @returns {V}
 */
function once(cache, key, compute) {
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const value = compute();
  cache.set(key, value);
  return value;
}
