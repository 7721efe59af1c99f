// Pictures of splits (weights) and leaves (mean rows) for image-like columns, one pixel a column.
"use strict";

const Pictures = (() => {
  function paint(shape, colour) {
    const canvas = document.createElement("canvas");
    [canvas.height, canvas.width] = shape;
    const context = canvas.getContext("2d"),
      data = context.createImageData(shape[1], shape[0]);
    for (let j = 0; j < shape[0] * shape[1]; j++) {
      [data.data[4 * j], data.data[4 * j + 1], data.data[4 * j + 2]] = colour(j);
      data.data[4 * j + 3] = 255;
    }
    context.putImageData(data, 0, 0);
    return canvas;
  }

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const between = (from, to, t) => from.map((value, c) => value + (to[c] - value) * t);

  // Weights: plus and minus away from the colour of paper, by their share of the largest. Where rows are known each
  // weight counts by the spread of its pixel: one that is almost always blank would be the loudest otherwise.
  function ofWeights(model, start, theme) {
    const sizes = model.features.map((_, j) => model.weight[start + j] * model.features[j].spread);
    // The 98th percentile and not the largest: one loud pixel would turn all others pale.
    const sorted = sizes
      .map(Math.abs)
      .filter((size) => size > 0)
      .sort((a, b) => a - b);
    const most = sorted.length ? sorted[Math.floor(0.98 * (sorted.length - 1))] : 1;
    const [paper, plus, minus] = [theme.card, theme.plus, theme.minus].map(rgb);
    return paint(model.image.shape, (j) =>
      between(paper, sizes[j] > 0 ? plus : minus, Math.min(1, Math.abs(sizes[j]) / most)),
    );
  }

  // Grey values between the ends of a range, dark on light in either theme's paper.
  function ofValues(model, values, low, high, theme) {
    const [paper, ink] = [theme.card, theme.ink].map(rgb);
    const t = (value) => (high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0);
    return paint(model.image.shape, (j) => between(paper, ink, t(values[j])));
  }

  function range(model) {
    return {
      low: Math.min(...model.columns.map((column) => column.low)),
      high: Math.max(...model.columns.map((column) => column.high)),
    };
  }

  function ofNode(model, facts, id, theme) {
    const d = model.columns.length;
    if (id >= 0) return ofWeights(model, id * d, theme);
    if (facts.means === undefined) facts.means = Routing.unpack(model.image.mean);
    const { low, high } = range(model);
    return ofValues(model, facts.means.subarray(~id * d, (~id + 1) * d), low, high, theme);
  }

  return { ofNode, ofValues, range };
})();
