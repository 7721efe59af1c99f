// What is known about each node: its equation, its rows, its answer, its colour. Worked out when first asked for.
"use strict";

class Facts {
  // Colours that people with any kind of colour vision can tell apart: Okabe and Ito's for up to seven classes,
  // Tol's muted set for up to ten; beyond that they repeat, and the names tell classes apart.
  static FEW = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800"];
  static MANY = [
    "#4b3fb0",
    "#66b8e0",
    "#3fa294",
    "#1c7d3c",
    "#9a9a3a",
    "#d3b95a",
    "#cc6677",
    "#943058",
    "#aa4499",
    "#8a8a8a",
  ];

  constructor(model, layout) {
    Object.assign(this, { model, layout, folded: Words.fold(model), cache: new Map(), equations: new Map() });
    this.total = null;
    if (model.leaves !== null) {
      this.total = new Float64Array(model.nLeaves + 1);
      model.leaves.count.forEach((n, leaf) => {
        this.total[leaf + 1] = this.total[leaf] + n;
      });
    }
    this.levels = this.model.classes === null ? this.readLevels() : null;
  }

  once(key, make) {
    if (!this.cache.has(key)) this.cache.set(key, make());
    return this.cache.get(key);
  }

  // The terms of a split. The last few are kept: those of all splits of a large tree would fill the memory.
  equation(split) {
    const { model, equations } = this;
    if (!equations.has(split)) {
      if (equations.size >= 64) equations.clear();
      const start = split * model.nFeatures;
      equations.set(split, Words.terms(model, this.folded, model.weight, start, model.bias[split]));
    }
    return equations.get(split);
  }

  // The largest terms of a split.
  leading(split) {
    return this.once(`l${split}`, () => this.equation(split).terms.slice(0, 8));
  }

  // Output o of a leaf, as terms.
  answer(leaf, o) {
    const { model } = this,
      row = leaf * model.nOutputs + o;
    if (model.coef === null) return { terms: [], bias: model.value[row] };
    return Words.terms(model, this.folded, model.coef, row * model.nFeatures, model.value[row]);
  }

  // How far a score is from 0, with every feature measured in its spread: so that splits can be compared.
  distance(split, score) {
    const norm = Math.hypot(...this.equation(split).terms.map((term) => term.influence));
    return norm > 0 ? Math.abs(score) / norm : Infinity;
  }

  caption(split) {
    return this.once(`c${split}`, () => {
      const equation = this.equation(split);
      if (equation.terms.length <= 1) return Words.inequality(this.model, equation, true);
      return equation.terms
        .slice(0, 4)
        .map((term) => term.label)
        .join(", ");
    });
  }

  // The largest terms as signed lengths between -1 and 1.
  bars(split) {
    return this.once(`b${split}`, () => {
      const terms = this.leading(split);
      const flat = terms.every((term) => term.influence === 0);
      const size = (term) => (flat ? Math.abs(term.weight) : term.influence);
      const most = Math.max(...terms.map(size), Number.MIN_VALUE);
      return terms.map((term) => (Math.sign(term.weight) * size(term)) / most);
    });
  }

  // Rows below a node, or null where no rows were given.
  rows(node) {
    return this.total === null ? null : this.total[this.layout.last(node)] - this.total[this.layout.first(node)];
  }

  share(node) {
    const all = this.total === null ? 0 : this.total[this.model.nLeaves];
    return all > 0 ? this.rows(node) / all : null;
  }

  // The splits on the way to a node, from the root, and whether the way goes right.
  steps(node) {
    const found = [];
    for (let up = this.layout.parent(node), from = node; up !== null; from = up, up = this.layout.parent(up)) {
      found.unshift({ split: up, right: this.model.children[up][1] === from });
    }
    return found;
  }

  readLevels() {
    const { model } = this;
    return Array.from({ length: model.nLeaves }, (_, leaf) => {
      if (model.leaves !== null) return model.leaves.level[leaf] === null ? null : model.leaves.level[leaf][0];
      const o = leaf * model.nOutputs;
      if (model.coef === null) return Routing.output(model, leaf, [])[0];
      return model.lower !== null && model.upper !== null && model.squash === null
        ? (model.lower[o] + model.upper[o]) / 2
        : null;
    });
  }

  // What a leaf says in two or three words.
  leafTitle(leaf) {
    const { model } = this;
    if (model.classes !== null) return model.classes[Routing.leafClass(model, leaf)];
    if (model.coef === null) {
      const shown = Routing.output(model, leaf, [])
        .slice(0, 3)
        .map((v) => Words.number(v));
      return shown.join(", ") + (model.nOutputs > 3 ? ", \u2026" : "");
    }
    const level = this.levels[leaf];
    return level === null ? "linear" : `\u2248 ${Words.number(level, 3)}`;
  }

  // Whether a leaf is proved to be out of reach.
  isUnreachable(leaf) {
    return this.model.proofs !== null && this.model.proofs.status[leaf] === "unreachable";
  }

  // What is proved about a leaf, as a sentence, or null.
  proof(leaf) {
    const { proofs } = this.model;
    if (proofs === null) return null;
    const status = proofs.status[leaf];
    if (status === "reachable") return "Proved: an input of the domain comes here.";
    if (status === "unreachable") return `Proved: no input of the domain comes here, since ${proofs.reason[leaf]}.`;
    return "Undecided: the leaf is thinner than rounding can tell.";
  }

  leafDetail(leaf) {
    if (this.isUnreachable(leaf)) return "unreachable";
    const { model } = this,
      n = this.rows(~leaf);
    const size = n === null ? "" : Words.plural(n, "row");
    if (model.classes === null) return size || `leaf ${leaf}`;
    const sure = Words.percent(model.value[leaf * model.nOutputs + Routing.leafClass(model, leaf)]);
    return size ? `${sure} \u00b7 ${size}` : sure;
  }

  name(node) {
    return node >= 0 ? `Split ${node}` : `Leaf ${~node}`;
  }

  // One line on a node, for a tip and for those who listen.
  line(node) {
    const text =
      node >= 0
        ? Words.inequality(this.model, this.equation(node), true, 3)
        : `${this.leafTitle(~node)}, ${this.leafDetail(~node)}`;
    return `${this.name(node)}: ${text}`;
  }

  summary() {
    const { model, layout } = this;
    const parts = [
      model.kind,
      `depth ${layout.height}`,
      Words.plural(model.nSplits, "split"),
      Words.plural(model.nLeaves, "leaf", "leaves"),
      Words.plural(model.columns.length, "column"),
    ];
    if (model.proofs !== null) {
      const gone = model.proofs.status.filter((status) => status === "unreachable").length;
      parts.push(`${Words.plural(gone, "leaf", "leaves")} proved unreachable`, ...model.proofs.shares);
    }
    if (model.leaves === null) return parts.join(" \u00b7 ");
    const n = this.total[model.nLeaves];
    if (model.leaves.right)
      parts.push(
        `accuracy ${Words.percent(model.leaves.right.reduce((a, b) => a + b, 0) / n)} on ${Words.plural(n, "row")}`,
      );
    else if (model.leaves.error)
      parts.push(
        `RMSE ${this.rmse()
          .map((e) => Words.number(e))
          .join(", ")} on ${Words.plural(n, "row")}`,
      );
    else parts.push(Words.plural(n, "row"));
    return parts.join(" \u00b7 ");
  }

  rmse() {
    const { count, error } = this.model.leaves,
      n = this.total[this.model.nLeaves];
    return Array.from({ length: this.model.nOutputs }, (_, o) =>
      Math.sqrt(count.reduce((sum, rows, leaf) => sum + (rows && error[leaf] ? rows * error[leaf][o] ** 2 : 0), 0) / n),
    );
  }

  classColour(k) {
    const palette = this.model.classes.length <= Facts.FEW.length ? Facts.FEW : Facts.MANY;
    return palette[k % palette.length];
  }

  // Ends of the numbers that leaves are coloured by.
  range() {
    return this.once("range", () => {
      const known = this.levels.filter((level) => level !== null);
      return { low: Math.min(...known), high: Math.max(...known) };
    });
  }

  leafColour(leaf, theme) {
    if (this.model.classes !== null) return this.classColour(Routing.leafClass(this.model, leaf));
    const level = this.levels[leaf];
    if (level === null) return theme.line;
    const { low, high } = this.range();
    const t = high > low ? (level - low) / (high - low) : 0.5;
    const mix = theme.ramp[0].map((from, c) => Math.round(from + (theme.ramp[1][c] - from) * t));
    return `rgb(${mix.join(",")})`;
  }

  // Class mix of a leaf: rows counted where they are known, the leaf's own probabilities otherwise.
  mix(leaf) {
    const { model } = this;
    if (model.leaves !== null && model.leaves.mix && model.leaves.count[leaf] > 0) {
      return model.leaves.mix[leaf].map((n) => n / model.leaves.count[leaf]);
    }
    return Array.from(model.value.subarray(leaf * model.nOutputs, (leaf + 1) * model.nOutputs));
  }

  // Nodes that a search names: a number, a class, a column that is among the five largest terms of a split, or
  // "unreachable" where leaves are proved to be so.
  find(query) {
    const text = query.trim().toLowerCase(),
      hits = [];
    if (text === "") return hits;
    const numbered = /^(?:(leaf|split)\s*)?#?(\d+)$/.exec(text);
    const { model } = this;
    const classes = (model.classes || []).map((name) => name.toLowerCase().includes(text));
    const labels = model.features.map(({ label }) => label.toLowerCase().includes(text));
    const anyLabel = labels.includes(true);
    for (let split = 0; split < model.nSplits; split++) {
      if (numbered && numbered[1] !== "leaf" && Number(numbered[2]) === split) hits.push(split);
      else if (
        anyLabel &&
        this.leading(split)
          .slice(0, 5)
          .some((term) => labels[term.feature])
      )
        hits.push(split);
    }
    for (let leaf = 0; leaf < model.nLeaves; leaf++) {
      if (numbered && numbered[1] !== "split" && Number(numbered[2]) === leaf) hits.push(~leaf);
      else if (text === "unreachable" && this.isUnreachable(leaf)) hits.push(~leaf);
      else if (model.classes !== null && classes[Routing.leafClass(model, leaf)]) hits.push(~leaf);
    }
    return hits;
  }
}
