// The slider that moves along a path of trees, from dense splits to splits on one column, with the accuracy of each.

/** @import { PathStep, TreePath } from "./model.js" */

import { fill, get, make } from "./elements.js";
import { numberText, percentText, plural } from "./text.js";

/**
 * The score of a step, as it is shown.
 * @param {TreePath} path
 * @param {PathStep} step
 */
export function scoreText({ measure }, { score }) {
  if (score === null) return "\u2013";
  return measure === "accuracy" ? percentText(score) : numberText(score, 3);
}

/** @param {PathStep} step */
export function limitText({ limit }) {
  return limit === null ? "all" : String(limit);
}

/**
 * A step in words, for screen readers.
 * @param {TreePath} path
 * @param {PathStep} step
 */
export function stepText(path, step) {
  const limit = step.limit === null ? "no limit on columns" : `at most ${plural(step.limit, "column")} a split`;
  return [
    limit,
    `${numberText(step.columns, 3)} on average`,
    plural(step.tree.children.length + 1, "leaf", "leaves"),
    `${measureText(path)} ${scoreText(path, step)}`,
    `${plural(step.total, "column")} to read in all`,
  ].join(", ");
}

/** @param {TreePath} path */
function measureText({ measure }) {
  return measure === "accuracy" ? "accuracy" : "R squared";
}

export class PathSlider {
  #ticks;
  #slider = make("input", { type: "range", id: "along", min: 0, step: 1 });
  #told = make("output", { id: "along-says", for: "along" });

  /**
   * @param {HTMLElement} root  shown if there is a path
   * @param {TreePath} path
   * @param {(at: number) => void} onMove
   */
  constructor(root, path, onMove) {
    this.path = path;
    this.#ticks = path.steps.map((step, at) =>
      make(
        "button",
        { type: "button", tabindex: -1, "aria-hidden": "true", class: "tick", onclick: () => this.#move(at, onMove) },
        make("b", {}, limitText(step)),
        make("span", {}, scoreText(path, step)),
      ),
    );
    this.#slider.max = String(path.steps.length - 1);
    this.#slider.addEventListener("input", () => this.#move(Number(this.#slider.value), onMove));
    const name = "Columns a split, from many to few";
    this.#slider.setAttribute("aria-label", name);
    fill(
      root,
      make("label", { for: "along", class: "soft" }, "Columns a split"),
      make("div", { class: "rail" }, this.#slider, make("div", { class: "ticks" }, this.#ticks)),
      make("span", { class: "soft wide" }, `${path.measure} on rows that the trees were not trained on`),
      this.#told,
    );
    root.hidden = false;
    this.show(path.at);
  }

  /** @param {number} at */
  show(at) {
    const step = this.path.steps[at];
    this.#slider.value = String(at);
    this.#slider.setAttribute("aria-valuetext", stepText(this.path, step));
    this.#told.textContent = `${plural(step.total, "column")} to read`;
    this.#ticks.forEach((tick, k) => {
      tick.classList.toggle("now", k === at);
      tick.title = stepText(this.path, this.path.steps[k]);
    });
  }

  /**
   * @param {number} at
   * @param {(at: number) => void} onMove
   */
  #move(at, onMove) {
    this.show(at);
    onMove(at);
    get("along").focus();
  }
}
