// Pictures of splits (weights) and leaves (mean rows) for columns that are pixels.

/** @import { Model } from "./model.js" */
/** @import { Theme } from "./theme.js" */

import { rangeOf } from "./facts.js";
import { unpack } from "./model.js";
import { rgbOf } from "./theme.js";

export class Pictures {
  /** @type {Map<number, HTMLCanvasElement>} */
  #drawn = new Map();
  /** @type {Float64Array | null} */
  #means = null; // mean row of each leaf, unpacked when the first leaf is shown

  /**
   * @param {Model} model
   * @param {Theme} theme
   */
  constructor(model, theme) {
    this.model = model;
    this.theme = theme;
    this.range = rangeOf(model.columns.flatMap((column) => [column.low, column.high])) ?? { low: 0, high: 1 };
    theme.onChange(() => this.forget());
  }

  /** Forget what was drawn, since colours or the tree have changed. */
  forget() {
    this.#drawn.clear();
    this.#means = null;
  }

  /**
   * Whether a node has a picture: splits always, leaves if the page was written with rows.
   * @param {number} node
   */
  has(node) {
    const { image } = this.model;
    return image !== null && (node >= 0 || image.mean !== null);
  }

  /**
   * The picture of a node, drawn once in each theme.
   * @param {number} node
   */
  ofNode(node) {
    let picture = this.#drawn.get(node);
    if (picture === undefined) {
      picture = node >= 0 ? this.#ofWeights(node) : this.#ofMean(~node);
      this.#drawn.set(node, picture);
    }
    return picture;
  }

  /**
   * Values between the ends of the range: low is the colour of the card, high is the colour of text.
   * @param {ArrayLike<number>} values
   */
  ofValues(values) {
    const { low, high } = this.range,
      { card, ink } = this.theme.colours;
    const [from, to] = [rgbOf(card), rgbOf(ink)];
    /** @type {(value: number) => number} */
    const share = (value) => (high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0);
    return this.#paint((j) => mix(from, to, share(values[j])));
  }

  // Plus and minus away from the colour of the card, by the share of the largest weight. If rows are known each
  // weight counts by the spread of its pixel: one that is almost always blank would be the loudest otherwise.
  /** @param {number} split */
  #ofWeights(split) {
    const { features, weight } = this.model;
    const sizes = features.map(({ spread }, j) => weight[split * features.length + j] * spread);
    const sorted = sizes
      .map(Math.abs)
      .filter((size) => size > 0)
      .sort((a, b) => a - b);
    // The 98th percentile and not the largest: one loud pixel would turn all others pale.
    const most = sorted.length ? sorted[Math.floor(0.98 * (sorted.length - 1))] : 1;
    const { card, plus, minus } = this.theme.colours;
    const [from, up, down] = [rgbOf(card), rgbOf(plus), rgbOf(minus)];
    return this.#paint((j) => mix(from, sizes[j] > 0 ? up : down, Math.min(1, Math.abs(sizes[j]) / most)));
  }

  /** @param {number} leaf */
  #ofMean(leaf) {
    const { columns, image } = this.model,
      width = columns.length;
    if (!image?.mean) throw new Error("the page has no mean pictures");
    this.#means ??= unpack(image.mean);
    return this.ofValues(this.#means.subarray(leaf * width, (leaf + 1) * width));
  }

  /** @param {(pixel: number) => number[]} colourOf */
  #paint(colourOf) {
    const canvas = document.createElement("canvas");
    const [height, width] = this.model.image?.shape ?? [1, 1];
    Object.assign(canvas, { height, width });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")),
      data = context.createImageData(width, height);
    for (let j = 0; j < height * width; j++) {
      const [red, green, blue] = colourOf(j);
      data.data.set([red, green, blue, 255], 4 * j);
    }
    context.putImageData(data, 0, 0);
    return canvas;
  }
}

/**
 * @param {number[]} from
 * @param {number[]} to
 * @param {number} share
 */
function mix(from, to, share) {
  return from.map((part, c) => part + (to[c] - part) * share);
}
