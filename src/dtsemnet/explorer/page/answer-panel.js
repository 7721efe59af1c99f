// The prediction for the input, and the path that leads to it.

/** @import { Facts } from "./facts.js" */
/** @import { Result } from "./routing.js" */

import { bar, barTrack, fill, link, make, phrase, swatch } from "./elements.js";
import { largest } from "./facts.js";
import { dot, leafClass } from "./routing.js";
import { numberText, percentText, questionParts } from "./text.js";

export class AnswerPanel {
  /**
   * @param {Facts} facts
   * @param {(node: number) => void} choose
   */
  constructor(facts, choose) {
    this.facts = facts;
    this.choose = choose;
  }

  /** @param {number} node */
  #link(node) {
    return link(this.facts.name(node), () => this.choose(node));
  }

  /**
   * @param {HTMLElement} root
   * @param {Result} result
   */
  showAnswer(root, result) {
    const { facts } = this,
      { model } = facts;
    delete root.dataset.leaf;
    if (result.leaf === undefined) {
      fill(root, make("p", { class: "refused" }, `No answer: ${result.refused}.`));
      return;
    }
    const { leaf, output = [] } = result;
    root.dataset.leaf = String(leaf);
    const heading = make("p", { class: "soft" }, "Prediction, from ", this.#link(~leaf));
    if (model.classes === null) {
      const several = model.nOutputs > 1;
      const shown = output.map((value, o) =>
        make("span", { title: String(value) }, (several ? `${o}: ` : "") + numberText(value, 6)),
      );
      fill(root, heading, make("p", { class: `big${several ? " several" : ""}` }, shown), this.#clipped(result));
      return;
    }
    const names = model.classes,
      best = leafClass(model, leaf);
    const ranked = output
      .map((share, k) => ({ share, k }))
      .sort((a, b) => b.share - a.share || a.k - b.k)
      .slice(0, 3)
      .filter(({ share }) => share > 0);
    fill(
      root,
      heading,
      make("p", { class: "big" }, swatch(facts.classColour(best)), names[best]),
      make(
        "ul",
        { class: "bars" },
        ranked.map(({ share, k }) => bar(names[k], share, percentText(share), { colour: facts.classColour(k) })),
      ),
    );
  }

  /**
   * A note if the guard of the leaf clips the prediction.
   * @param {Result} result
   */
  #clipped({ leaf = 0, features = new Float64Array(0) }) {
    const { coef, lower, upper, value, nFeatures, nOutputs } = this.facts.model;
    if (coef === null || (lower === null && upper === null)) return null;
    const beyond = [];
    for (let at = leaf * nOutputs; at < (leaf + 1) * nOutputs; at++) {
      const raw = dot(coef, at * nFeatures, features) + value[at];
      if ((lower !== null && raw < lower[at]) || (upper !== null && raw > upper[at])) beyond.push(numberText(raw));
    }
    if (!beyond.length) return null;
    return make(
      "p",
      { class: "note" },
      `Clipped by the guard of the leaf; its equation alone gives ${beyond.join(", ")}.`,
    );
  }

  /**
   * The splits on the path, each with its score.
   * @param {HTMLElement} root
   * @param {Result} result
   */
  showPath(root, { path, leaf, output = [] }) {
    const { facts } = this,
      { model } = facts;
    const distance = path.map(({ split, score }) => facts.distance(split, score));
    const most = largest(distance.filter(Number.isFinite)) || 1,
      closest = distance.reduce((best, far, k) => (far < distance[best] ? k : best), 0);
    const steps = path.map(({ split, score }, k) => {
      const margin = [
        score > 0 ? "yes" : "no",
        `score ${score > 0 ? "+" : ""}${numberText(score, 4)}`,
        `distance ${numberText(distance[k], 3)}`,
      ];
      return make(
        "li",
        { class: k === closest ? "closest" : null },
        this.#link(split),
        make("span", { class: "step" }, phrase(questionParts(model, facts.equation(split), true, 3))),
        make("span", { class: "margin", title: String(score) }, margin.join(" \u00b7 ")),
        barTrack(((score > 0 ? 1 : -1) * distance[k]) / most, true),
      );
    });
    if (leaf !== undefined) {
      const answer =
        model.classes === null ? output.map((value) => numberText(value)).join(", ") : facts.leafTitle(leaf);
      steps.push(make("li", {}, this.#link(~leaf), make("span", { class: "step" }, answer)));
    }
    const unit =
      model.leaves === null ? "in the units of the features" : "measured in standard deviations of the columns";
    const hint = path.length
      ? `Distance says how far the input is from the other side of the split, ${unit}. The closest split is marked.`
      : "This tree has no split.";
    fill(root, make("p", { class: "hint" }, hint), make("ol", { class: "steps" }, steps));
  }
}
