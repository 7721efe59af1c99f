// The description of a model, as the page carries it: the types of its fields, and the arrays unpacked.
// dtsemnet/explorer/description.py writes the description and says what each field means.

/**
 * @typedef {{ shape: number[], type: "u1" | "f4" | "f8", data: string, place?: string }} Packed
 *
 * @typedef {object} Column
 * @property {string} name
 * @property {string[] | null} categories
 * @property {"indicator" | "fill" | null} missing  missing values have a feature, are only filled in, or are refused
 * @property {number} fill  for categories, the position of one
 * @property {number} center
 * @property {number} scale
 * @property {number | null} lower
 * @property {number | null} upper
 * @property {number} low  left end of the slider; low, high and start belong to columns of numbers alone
 * @property {number} high
 * @property {number} start
 * @property {boolean} whole
 *
 * @typedef {object} Feature
 * @property {string} label
 * @property {string} term  the label in a sum: in brackets if the feature is 0 or 1
 * @property {number} column
 * @property {"number" | "category" | "missing"} kind
 * @property {string | null} category
 * @property {number} scale
 * @property {number} shift  the feature is scale * x + shift in raw units
 * @property {number | null} fill  for the indicator of a missing number: what the number counts as
 * @property {boolean} in_steps  whether a number is counted in steps of its column, as the tree does
 * @property {number} spread  standard deviation of the feature, 1 if the page was written without rows
 *
 * @typedef {object} Rows
 * @property {number} given
 * @property {number[]} number
 * @property {Packed} column
 * @property {Packed | null} target
 *
 * @typedef {object} Leaves
 * @property {number[]} count
 * @property {string} [are]  what the rows are to the tree
 * @property {(number[] | null)[]} [level]
 * @property {number[][]} [mix]
 * @property {number[]} [right]
 * @property {(number[] | null)[]} [error]
 * @property {(number[] | null)[]} [target]
 *
 * @typedef {object} Shared  fields that the page uses as they were written
 * @property {string} title
 * @property {"classifier" | "regressor"} kind
 * @property {Column[]} columns
 * @property {Feature[]} features
 * @property {[number, number][]} children
 * @property {string[] | null} classes
 * @property {string[]} palette
 * @property {{ low: number[], high: number[] } | null} squash
 * @property {Rows | null} rows
 * @property {Leaves | null} leaves
 * @property {{ shape: [number, number], mean: Packed | null } | null} image
 * @property {{ status: string[], reason: (string | null)[], shares: string[] } | null} proofs
 * @property {Reading} reading
 *
 * @typedef {object} Reading  what it costs to read the tree, in columns
 * @property {number} splits  added up over the splits
 * @property {number} leaves  added up over linear leaves
 * @property {number} longest  most on one path
 * @property {number} distinct
 *
 * @typedef {Pick<Feature, "label" | "column" | "spread"> & Partial<Feature>} FeatureEntry
 * @typedef {Omit<Shared, "features"> & { features: FeatureEntry[], weight: Packed, bias: Packed, value: Packed, coef: Packed | null, lower: Packed | null,
 *   upper: Packed | null, probability: { rate: number, log: Packed } | null, path?: TreePath | null }} Description
 *
 * @typedef {Pick<Description, "children" | "weight" | "bias" | "value" | "coef" | "lower" | "upper" | "probability" |
 *   "squash" | "leaves" | "image" | "reading">} OwnFields  what differs along a path of trees
 * @typedef {{ limit: number | null, columns: number, total: number, score: number | null, tree: OwnFields }} PathStep
 * @typedef {{ at: number, measure: "accuracy" | "R2", steps: PathStep[] }} TreePath
 *
 * @typedef {Shared & { weight: Float64Array, bias: Float64Array, value: Float64Array, coef: Float64Array | null,
 *   lower: Float64Array | null, upper: Float64Array | null, probability: { rate: number, log: Float64Array } | null,
 *   nSplits: number, nLeaves: number, nFeatures: number, nOutputs: number }} Model
 */

/** @satisfies {Partial<Feature>} */
const PLAIN = {
  kind: /** @type {const} */ ("number"),
  category: null,
  scale: 1,
  shift: 0,
  fill: null,
  in_steps: false,
};
const TYPES = { u1: Uint8Array, f4: Float32Array, f8: Float64Array };

/**
 * The numbers of a packed array as doubles. Its bytes are little-endian, as those of every browser are.
 * @param {Packed} packed
 */
export function unpack(packed) {
  const numbers = new TYPES[packed.type](bytesOf(packed.data));
  if (packed.place === undefined) return Float64Array.from(numbers);
  const place = new Uint32Array(bytesOf(packed.place));
  const all = new Float64Array(packed.shape.reduce((product, length) => product * length, 1));
  for (let k = 0; k < place.length; k++) all[place[k]] = numbers[k];
  return all;
}

/**
 * @param {Description} description
 * @returns {Model}
 */
export function readModel(description) {
  const { weight, bias, value, coef, lower, upper, probability, features, path: _, ...shared } = description;
  const nSplits = description.children.length;
  return {
    ...shared,
    features: features.map((feature) => ({ ...PLAIN, term: feature.label, ...feature })),
    weight: unpack(weight),
    bias: unpack(bias),
    value: unpack(value),
    coef: coef && unpack(coef),
    lower: lower && unpack(lower),
    upper: upper && unpack(upper),
    probability: probability && { rate: probability.rate, log: unpack(probability.log) },
    nSplits,
    nLeaves: nSplits + 1,
    nFeatures: features.length,
    nOutputs: value.shape[1],
  };
}

/** @param {string} text */
function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}
