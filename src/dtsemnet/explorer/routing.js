// Routing: the encoder, the splits and the leaves on doubles, in the order of summation that the library documents.
// Knows no page: plain numbers in, plain numbers out. A row is one number a column: the number itself, the position
// of its category, -1 for a category that is not known, NaN for a missing value.
"use strict";

const Routing = (() => {
  const LANES = 16;
  const TYPES = { u1: Uint8Array, f4: Float32Array, f8: Float64Array };

  function bytesOf(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes.buffer;
  }

  // What dtsemnet.explorer.arrays packed, widened to doubles; the bytes are little-endian, as every browser's are.
  function unpack(packed) {
    if (packed === null) return null;
    const given = new TYPES[packed.type](bytesOf(packed.data));
    if (packed.place === undefined) return Float64Array.from(given);
    const place = new Uint32Array(bytesOf(packed.place));
    const numbers = new Float64Array(packed.shape.reduce((product, n) => product * n, 1));
    for (let k = 0; k < place.length; k++) numbers[place[k]] = given[k];
    return numbers;
  }

  function read(description) {
    const model = { ...description };
    for (const name of ["weight", "bias", "value", "coef", "lower", "upper"]) model[name] = unpack(description[name]);
    model.nSplits = description.children.length;
    model.nLeaves = model.nSplits + 1;
    model.nFeatures = description.features.length;
    model.nOutputs = description.value.shape[1];
    return model;
  }

  // One rounded product and one rounded sum at a time, sixteen sums side by side, joined by halves.
  function dot(w, start, x) {
    const acc = new Float64Array(LANES);
    for (let j = 0; j < x.length; j++) acc[j & 15] += w[start + j] * x[j];
    for (let half = LANES / 2; half >= 1; half /= 2) {
      for (let k = 0; k < half; k++) acc[k] += acc[k + half];
    }
    return acc[0];
  }

  // The features of a row, or the reason why there are none.
  function encode(model, row) {
    const features = new Float64Array(model.nFeatures);
    let place = 0;
    for (let c = 0; c < model.columns.length; c++) {
      const column = model.columns[c];
      const missing = Number.isNaN(row[c]);
      if (column.categories !== null) {
        if (!missing && row[c] >= 0) features[place + row[c]] = 1;
        place += column.categories.length;
      } else {
        if (missing && !column.missing) return { refused: `${column.name} needs a number` };
        let number = missing ? column.fill : row[c];
        if (!Number.isFinite(number)) return { refused: `${column.name} must be finite` };
        number = (number - column.center) * column.scale;
        if (column.lower !== null && number < column.lower) number = column.lower;
        if (column.upper !== null && number > column.upper) number = column.upper;
        if (!Number.isFinite(number)) return { refused: `${column.name} is too large` };
        features[place++] = number;
      }
      if (column.missing) features[place++] = missing ? 1 : 0;
    }
    return { features };
  }

  // Splits met with their scores, and the leaf.
  function route(model, features) {
    const path = [];
    let node = model.nSplits ? 0 : -1;
    while (node >= 0) {
      const score = dot(model.weight, node * model.nFeatures, features) + model.bias[node];
      if (Number.isNaN(score)) return { refused: "these numbers are too large: a sum overflows", path };
      path.push({ split: node, score });
      node = model.children[node][score > 0 ? 1 : 0];
    }
    return { path, leaf: ~node };
  }

  function leafClass(model, leaf) {
    let best = 0;
    const start = leaf * model.nOutputs;
    for (let k = 1; k < model.nOutputs; k++) if (model.value[start + k] > model.value[start + best]) best = k;
    return best;
  }

  // Probabilities of a classifier's leaf, or the numbers that a regressor answers with.
  function output(model, leaf, features) {
    const start = leaf * model.nOutputs;
    const found = Array.from(model.value.subarray(start, start + model.nOutputs));
    if (model.classes !== null) return found;
    for (let o = 0; o < model.nOutputs; o++) {
      if (model.coef !== null) found[o] += dot(model.coef, (start + o) * model.nFeatures, features);
      if (model.lower !== null && found[o] < model.lower[start + o]) found[o] = model.lower[start + o];
      else if (model.upper !== null && found[o] > model.upper[start + o]) found[o] = model.upper[start + o];
      if (model.squash !== null) {
        const { low, high } = model.squash;
        found[o] = low[o] + ((Math.tanh(found[o]) + 1) / 2) * (high[o] - low[o]);
      }
    }
    return found;
  }

  // All of it: { leaf, path, output } or { refused }.
  function evaluate(model, row) {
    const encoded = encode(model, row);
    if (encoded.refused) return { refused: encoded.refused, path: [] };
    const found = route(model, encoded.features);
    if (found.refused) return found;
    const answer = output(model, found.leaf, encoded.features);
    if (answer.some(Number.isNaN)) return { refused: "these numbers are too large: a sum overflows", path: found.path };
    return { ...found, output: answer, features: encoded.features };
  }

  return { read, unpack, dot, encode, route, output, leafClass, evaluate };
})();
