// One node: a split's equation and weights, a leaf's region, rows, metrics and answer.

/** @import { Child } from "./elements.js" */
/** @import { Facts } from "./facts.js" */
/** @import { Pictures } from "./pictures.js" */
/** @import { Result } from "./routing.js" */
/** @import { Equation, Term } from "./text.js" */

import { bar, fill, link, make, phrase, swatch } from "./elements.js";
import { largest } from "./facts.js";
import { leafClass } from "./routing.js";
import { countText, numberText, percentText, plural, questionParts, regionLines, sumParts } from "./text.js";

const AT_FIRST = 10; // weights shown before "Show all"

export class NodePanel {
  #order = "influence";
  #all = false;
  /** @type {{ node: number | null, result: Result }} */
  #shown = { node: null, result: { path: [] } };

  /**
   * @param {HTMLElement} root
   * @param {Facts} facts
   * @param {Pictures} pictures
   * @param {(node: number) => void} choose
   */
  constructor(root, facts, pictures, choose) {
    this.root = root;
    this.facts = facts;
    this.pictures = pictures;
    this.choose = choose;
  }

  /**
   * @param {number | null} node
   * @param {Result} result
   */
  show(node, result) {
    this.#shown = { node, result };
    if (node === null) {
      const hint = "Click a split or a leaf of the tree, or move with the arrow keys.";
      fill(this.root, make("p", { class: "hint" }, hint));
      return;
    }
    fill(this.root, this.#head(node), node >= 0 ? this.#split(node, result) : this.#leaf(~node));
  }

  #again() {
    this.show(this.#shown.node, this.#shown.result);
  }

  /** @param {number} node */
  #head(node) {
    const { facts } = this,
      n = facts.rows(node),
      up = facts.layout.parent(node);
    const parts = [`depth ${facts.layout.depth(node)}`];
    if (n !== null) parts.push(`${plural(n, "row")} (${percentText(facts.share(node) ?? 0)})`);
    return make(
      "div",
      { class: "node-head" },
      make("h2", {}, facts.name(node)),
      make("span", { class: "soft" }, parts.join(" \u00b7 ")),
      up === null ? null : link("parent", () => this.choose(up)),
    );
  }

  /** @param {number} node */
  #link(node) {
    return link(this.facts.name(node), () => this.choose(node));
  }

  /**
   * @param {number} split
   * @param {Result} result
   * @returns {Child[]}
   */
  #split(split, result) {
    const { facts } = this,
      { model } = facts,
      equation = facts.equation(split),
      [left, right] = model.children[split];
    const met = result.path.find((step) => step.split === split);
    const most = equation.terms.length > 20 ? 6 : Infinity;
    return [
      this.#figure(
        split,
        model.leaves === null ? "Weights, pixel by pixel" : "Weights, each times the standard deviation of its pixel",
      ),
      section("Goes right if", make("p", { class: "equation" }, phrase(questionParts(model, equation, true, most)))),
      equation.terms.length > most ? note(this.#restText(equation.terms.slice(most))) : null,
      met
        ? note(`Score of the input: ${numberText(met.score, 5)}, so it goes ${met.score > 0 ? "right" : "left"}.`)
        : null,
      make("p", { class: "links" }, "no \u2192 ", this.#link(left), "\u2003yes \u2192 ", this.#link(right)),
      equation.terms.length ? this.#weights(equation, "Weights") : null,
    ];
  }

  /** @param {Term[]} rest  the terms that an equation does not show */
  #restText(rest) {
    const { low, high } = this.facts.rangeOfTerms(rest);
    const ends = `between ${numberText(low, 3)} and ${numberText(high, 3)}`;
    return `The other ${plural(rest.length, "term")} add ${ends} while columns stay within the ranges of their sliders.`;
  }

  /**
   * @param {number} node
   * @param {string} label
   */
  #figure(node, label) {
    if (!this.pictures.has(node)) return null;
    const canvas = make("canvas", { class: "picture", role: "img", "aria-label": label }),
      picture = this.pictures.ofNode(node);
    Object.assign(canvas, { width: picture.width, height: picture.height });
    canvas.getContext("2d")?.drawImage(picture, 0, 0);
    return make("figure", {}, canvas, make("figcaption", { class: "soft" }, label));
  }

  /**
   * Weights as bars, in raw units. Influence is weight times the spread of the column.
   * @param {Equation} equation
   * @param {string} title
   */
  #weights(equation, title) {
    const { model } = this.facts;
    const terms = [...equation.terms];
    if (this.#order === "column") terms.sort((a, b) => a.feature - b.feature);
    if (this.#order === "weight") terms.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
    /** @type {(term: Term) => number} */
    const size = (term) => (this.#order === "influence" ? Math.sign(term.weight) * term.influence : term.weight);
    const most = largest(terms.map((term) => Math.abs(size(term)))) || 1;
    const shown = this.#all ? terms : terms.slice(0, AT_FIRST);
    const bars = shown.map((term) => {
      const { label } = model.features[term.feature];
      const options = { signed: true, title: `${label}: ${term.weight}` };
      return bar(label, size(term) / most, numberText(term.weight), options);
    });
    return make(
      "section",
      {},
      make("div", { class: "row" }, make("h3", {}, title), this.#orderChoice()),
      make("ul", { class: "bars weights" }, bars),
      terms.length > AT_FIRST
        ? link(this.#all ? "Show the largest" : `Show all ${countText(terms.length)}`, () => {
            this.#all = !this.#all;
            this.#again();
          })
        : null,
    );
  }

  #orderChoice() {
    const choices = [
      ["influence", this.facts.model.leaves === null ? "influence" : "weight \u00d7 std. dev."],
      ["weight", "weight"],
      ["column", "column"],
    ];
    const select = make(
      "select",
      {
        "aria-label": "Order of the weights",
        onchange: () => {
          this.#order = select.value;
          this.#again();
        },
      },
      choices.map(([value, text]) => make("option", { value, selected: value === this.#order }, text)),
    );
    return select;
  }

  /**
   * @param {number} leaf
   * @returns {Child[]}
   */
  #leaf(leaf) {
    const { facts } = this,
      { model } = facts,
      proof = facts.proof(leaf);
    const lines = regionLines(model, (split) => facts.equation(split), facts.turns(~leaf));
    const region = lines.map(({ parts, split }) =>
      make("li", {}, phrase(parts), split === null ? null : make("span", { class: "origin" }, this.#link(split))),
    );
    return [
      facts.rows(~leaf) ? this.#figure(~leaf, "Mean of the rows") : null,
      model.classes === null ? this.#numbers(leaf) : this.#classes(leaf, model.classes),
      proof === null ? null : section("Proofs", note(proof)),
      section(
        lines.length > 1 ? "An input comes here if all of these hold" : "An input comes here if",
        lines.length ? make("ul", { class: "region" }, region) : make("p", { class: "soft" }, "All inputs."),
      ),
    ];
  }

  /**
   * @param {number} leaf
   * @param {string[]} names
   * @returns {Child[]}
   */
  #classes(leaf, names) {
    const { facts } = this,
      { model } = facts,
      best = leafClass(model, leaf),
      n = facts.rows(~leaf);
    const start = leaf * model.nOutputs,
      probabilities = Array.from(model.value.subarray(start, start + model.nOutputs));
    /** @type {(shares: number[], text: (share: number, k: number) => string) => HTMLElement} */
    const bars = (shares, text) =>
      make(
        "ul",
        { class: "bars" },
        shares
          .map((share, k) => ({ share, k }))
          .filter(({ share }) => share > 0)
          .sort((a, b) => b.share - a.share)
          .map(({ share, k }) => bar(names[k], share, text(share, k), { colour: facts.classColour(k) })),
      );
    const { mix, right } = model.leaves ?? {};
    const counted = n && mix && right ? { n, mix: mix[leaf], right: right[leaf] } : null;
    return [
      make("p", { class: "big" }, swatch(facts.classColour(best)), names[best]),
      counted &&
        note(
          `${countText(counted.right)} of ${plural(counted.n, "row")} right: ` +
            `accuracy ${percentText(counted.right / counted.n)}.`,
        ),
      n === 0 ? note("No row of the data reaches this leaf.") : null,
      counted &&
        section(
          "Classes of the rows",
          bars(facts.mix(leaf), (_, k) => countText(counted.mix[k])),
        ),
      section(
        "Probabilities",
        bars(probabilities, (share) => percentText(share)),
      ),
    ];
  }

  /**
   * @param {number} leaf
   * @returns {Child[]}
   */
  #numbers(leaf) {
    const { model } = this.facts,
      { level, error, target } = model.leaves ?? {};
    /** @type {Child[]} */
    const parts = [];
    /** @type {[string, (number[] | null)[] | undefined][]} */
    const metrics = [
      ["RMSE", error],
      ["mean target", target],
      ["mean prediction", level],
    ];
    if (error?.[leaf]) {
      const text = metrics.map(([name, values]) => `${name} ${values?.[leaf]?.map((v) => numberText(v)).join(", ")}`);
      parts.push(note(`${text.join("; ")}.`));
    } else if (this.facts.rows(~leaf) === 0) parts.push(note("No row of the data reaches this leaf."));
    for (let o = 0; o < model.nOutputs; o++) parts.push(this.#output(leaf, o));
    return parts;
  }

  /**
   * The equation of one output, and what bounds it.
   * @param {number} leaf
   * @param {number} o
   * @returns {Child[]}
   */
  #output(leaf, o) {
    const { model } = this.facts,
      several = model.nOutputs > 1,
      at = leaf * model.nOutputs + o;
    const equation = this.facts.answer(leaf, o);
    const parts = [make("p", { class: "equation" }, phrase(sumParts(model, equation, 6)))];
    if (model.lower !== null || model.upper !== null) {
      const [low, high] = [model.lower ? model.lower[at] : -Infinity, model.upper ? model.upper[at] : Infinity];
      parts.push(note(`Guard: clipped to the range from ${numberText(low)} to ${numberText(high)}.`));
    }
    if (model.squash !== null) {
      const [low, high] = [model.squash.low[o], model.squash.high[o]];
      parts.push(note(`Mapped by tanh into the range from ${numberText(low)} to ${numberText(high)}.`));
    }
    return [
      section(several ? `Output ${o}` : "Answer", parts),
      equation.terms.length ? this.#weights(equation, several ? `Coefficients of output ${o}` : "Coefficients") : null,
    ];
  }
}

/**
 * @param {string} title
 * @param {...Child} children
 */
function section(title, ...children) {
  return make("section", {}, make("h3", {}, title), children);
}

/** @param {string} text */
function note(text) {
  return make("p", { class: "note" }, text);
}
