// Small models for the tests of the page's modules, written as dtsemnet/explorer/description.py writes them.

/** Pack numbers as doubles. */
export function pack(numbers, shape) {
  const bytes = new Uint8Array(Float64Array.from(numbers).buffer);
  return { shape, type: "f8", data: Buffer.from(bytes).toString("base64") };
}

export function number(name, fields = {}) {
  const affine = { fill: 0, center: 0, scale: 1, lower: null, upper: null };
  return { name, categories: null, missing: null, ...affine, low: 0, high: 1, start: 0, whole: false, ...fields };
}

export function categorical(name, categories, fields = {}) {
  return { ...number(name), categories, ...fields };
}

export function feature(label, column, kind = "number", fields = {}) {
  const term = kind === "number" ? label : `(${label})`;
  return { label, term, column, kind, category: null, scale: 1, shift: 0, fill: null, spread: 1, ...fields };
}

/** A regressor with constant leaves, or what the fields say. */
export function describe(columns, features, children, weight, bias, value, fields = {}) {
  const nOutputs = value.length / (children.length + 1);
  return {
    title: "a model",
    kind: "regressor",
    columns,
    features,
    children,
    weight: pack(weight.flat(), [children.length, features.length]),
    bias: pack(bias, [children.length]),
    value: pack(value, [children.length + 1, nOutputs]),
    coef: null,
    lower: null,
    upper: null,
    classes: null,
    palette: [],
    probability: null,
    squash: null,
    rows: null,
    leaves: null,
    image: null,
    proofs: null,
    reading: { splits: 0, leaves: 0, longest: 0, distinct: 0 },
    ...fields,
  };
}

/** The children of a complete tree. */
export function complete(depth) {
  const nSplits = 2 ** depth - 1;
  const child = (k) => (k < nSplits ? k : ~(k - nSplits));
  return Array.from({ length: nSplits }, (_, i) => [child(2 * i + 1), child(2 * i + 2)]);
}
