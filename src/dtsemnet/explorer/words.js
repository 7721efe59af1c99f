// Numbers, equations and regions as text, in raw columns and units. For eyes: affine columns are folded into the
// splits, w * (x - c) * s reads (w s) x - w s c, and numbers are rounded.
"use strict";

const Words = (() => {
  const GREATER = ">",
    AT_MOST = "\u2264",
    LESS = "<",
    AT_LEAST = "\u2265",
    MINUS = "\u2212";

  function number(value, digits = 4) {
    if (value === null || value === undefined || Number.isNaN(value)) return "\u2013";
    if (!Number.isFinite(value)) return value > 0 ? "\u221e" : MINUS + "\u221e";
    const size = Math.abs(value);
    let text;
    if (size !== 0 && (size >= 1e6 || size < 1e-4))
      text = value
        .toExponential(digits - 1)
        .replace(/\.?0+e/, "e")
        .replace("e+", "e");
    else text = String(Number(value.toPrecision(digits)));
    return text.replace(/-/g, MINUS);
  }

  const thousands = new Intl.NumberFormat("en-US");
  const count = (n) => thousands.format(n);
  const percent = (share) => (share > 0 && share < 1e-4 ? "< 0.01 %" : `${number(100 * share, 3)} %`);
  const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

  // Affine columns of the encoder, as factor and shift of each feature.
  function fold(model) {
    const factor = new Float64Array(model.nFeatures).fill(1),
      shift = new Float64Array(model.nFeatures);
    let place = 0;
    for (const column of model.columns) {
      if (column.categories === null && column.lower === null && column.upper === null) {
        factor[place] = column.scale;
        shift[place] = -column.center * column.scale;
      }
      place += (column.categories === null ? 1 : column.categories.length) + (column.missing ? 1 : 0);
    }
    return { factor, shift };
  }

  // Terms of w . x + b in raw units: { label, feature, weight, influence } with the largest influence first, and b.
  function terms(model, folded, weight, start, bias) {
    const found = [];
    for (let j = 0; j < model.nFeatures; j++) {
      const w = weight[start + j];
      if (w === 0) continue;
      bias += w * folded.shift[j];
      const { label, spread } = model.features[j];
      found.push({ label, feature: j, weight: w * folded.factor[j], influence: Math.abs(w) * spread });
    }
    // Without any influence (constant columns) the weights themselves decide.
    found.sort((a, b) => b.influence - a.influence || Math.abs(b.weight) - Math.abs(a.weight) || a.feature - b.feature);
    return { terms: found, bias };
  }

  function sum(equation, most = Infinity) {
    let text = "";
    const add = (value, label) => {
      const size = number(Math.abs(value));
      const part = label && size === "1" ? label : label ? `${size} ${label}` : size;
      if (text === "") text = (value < 0 ? MINUS : "") + part;
      else text += ` ${value < 0 ? MINUS : "+"} ${part}`;
    };
    const shown = equation.terms.slice(0, most);
    for (const term of shown) add(term.weight, term.label);
    const rest = equation.terms.length - shown.length;
    if (rest > 0) text += ` + ${plural(rest, "more term")}`;
    if (equation.bias !== 0 || text === "") add(equation.bias, "");
    return text;
  }

  // What kind of feature a split on one feature asks about, if it can be said without a sum.
  function single(model, equation) {
    if (equation.terms.length !== 1) return null;
    const { feature, weight, label } = equation.terms[0];
    const at = -equation.bias / weight + 0;
    if (!Number.isFinite(at)) return null;
    const column = model.columns[model.features[feature].column];
    const flag =
      column.categories !== null ||
      (feature > 0 && model.features[feature - 1].column === model.features[feature].column);
    return { feature, at, up: weight > 0, label, flag, column };
  }

  function inequality(model, equation, right, most = Infinity) {
    const one = single(model, equation);
    if (one === null) return `${sum(equation, most)} ${right ? GREATER : AT_MOST} 0`;
    // The threshold tells 0 from 1: x > at going up, x < at going down.
    const apart = one.up ? one.at >= 0 && one.at < 1 : one.at > 0 && one.at <= 1;
    if (one.flag && apart) return flagText(one, one.up === right);
    const sign = one.up ? (right ? GREATER : AT_MOST) : right ? LESS : AT_LEAST;
    return `${one.label} ${sign} ${number(one.at)}`;
  }

  // A feature that is 0 or 1, told as words.
  function flagText({ label, column }, on) {
    const missing = `${column.name} missing`;
    if (label === missing) return on ? `${column.name} is missing` : `${column.name} is given`;
    const category = label.slice(column.name.length + 1);
    return `${column.name} ${on ? "is" : "is not"} ${category}`;
  }

  // Inequalities of the way to a node: { text, split }; those on one number are merged to an interval, without split.
  function region(model, equations, steps) {
    const intervals = new Map(),
      lines = [];
    for (const { split, right } of steps) {
      const equation = equations(split),
        one = single(model, equation);
      if (one === null || one.flag) {
        lines.push({ text: inequality(model, equation, right, equation.terms.length > 12 ? 6 : Infinity), split });
        continue;
      }
      if (!intervals.has(one.feature)) {
        intervals.set(one.feature, { label: one.label, low: null, high: null, place: lines.length });
        lines.push(null);
      }
      const interval = intervals.get(one.feature);
      const above = one.up === right;
      // Right is strict: x > at going up, x < at going down.
      if (above && (interval.low === null || one.at > interval.low.at || (one.at === interval.low.at && right))) {
        interval.low = { at: one.at, strict: right };
      }
      if (!above && (interval.high === null || one.at < interval.high.at || (one.at === interval.high.at && right))) {
        interval.high = { at: one.at, strict: right };
      }
    }
    for (const interval of intervals.values()) lines[interval.place] = { text: between(interval), split: null };
    return lines.filter((line, place) => lines.findIndex(({ text }) => text === line.text) === place);
  }

  function between({ label, low, high }) {
    const below = (end) => (end.strict ? LESS : AT_MOST);
    if (low && high) return `${number(low.at)} ${below(low)} ${label} ${below(high)} ${number(high.at)}`;
    if (low) return `${label} ${low.strict ? GREATER : AT_LEAST} ${number(low.at)}`;
    return `${label} ${high.strict ? LESS : AT_MOST} ${number(high.at)}`;
  }

  return { number, count, percent, plural, fold, terms, sum, inequality, region, single };
})();
