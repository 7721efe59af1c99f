import assert from "node:assert/strict";
import { test } from "node:test";
import { readModel, unpack } from "../../src/dtsemnet/explorer/page/model.js";
import { dot, encode, evaluate } from "../../src/dtsemnet/explorer/page/routing.js";
import { categorical, describe, feature, number, pack } from "./model.fixture.js";

const MIXED = readModel(
  describe(
    [
      number("age", { missing: "indicator", fill: 40, center: 10, scale: 0.5, upper: 20 }),
      categorical("colour", ["red", "blue"]),
    ],
    [
      feature("age", 0),
      feature("age missing", 0, "missing"),
      feature("colour = red", 1, "category", { category: "red" }),
      feature("colour = blue", 1, "category", { category: "blue" }),
    ],
    [[~0, ~1]],
    [[1, 0, 0, -3]],
    [-2],
    [10, 20],
  ),
);

test("sparse arrays get their zeros back", () => {
  const place = Buffer.from(Uint32Array.from([2]).buffer).toString("base64");
  assert.deepEqual([...unpack({ shape: [1, 4], type: "u1", data: "Bw==", place })], [0, 0, 7, 0]);
});

test("the sum runs in sixteen lanes that are joined by halves", () => {
  // Left to right the sum is 0: 1 + 1e16 - 1e16. In lanes 0, 1 and 9 it is 1 + (1e16 - 1e16).
  const w = new Float64Array(10);
  w.set([1, 1e16]);
  w[9] = -1e16;
  assert.equal(dot(w, 0, new Float64Array(10).fill(1)), 1);
});

test("numbers are filled, scaled and clipped; categories become 0 and 1", () => {
  const features = (row) => [...encode(MIXED, row).features];
  assert.deepEqual(features([14, 1]), [2, 0, 0, 1]);
  assert.deepEqual(features([NaN, 0]), [15, 1, 1, 0]);
  assert.deepEqual(features([1e9, -1]), [20, 0, 0, 0]);
});

test("a column that only fills in reads a missing value as its fill", () => {
  const model = readModel(
    describe(
      [
        number("age", { missing: "fill", fill: 40, center: 10, scale: 0.5 }),
        categorical("colour", ["red", "blue"], { missing: "fill", fill: 1 }),
      ],
      [
        feature("age", 0),
        feature("colour = red", 1, "category", { category: "red" }),
        feature("colour = blue", 1, "category", { category: "blue" }),
      ],
      [[~0, ~1]],
      [[1, 0, 0]],
      [-2],
      [10, 20],
    ),
  );
  const features = (row) => [...encode(model, row).features];
  assert.deepEqual(features([NaN, NaN]), [15, 0, 1]);
  assert.deepEqual(features([14, 0]), [2, 1, 0]);
  assert.deepEqual(features([14, -1]), [2, 0, 0]);
});

test("a score above 0 goes right, a tie goes left", () => {
  assert.equal(evaluate(MIXED, [14, 0]).leaf, 0);
  assert.equal(evaluate(MIXED, [14.5, 0]).leaf, 1);
  assert.deepEqual(evaluate(MIXED, [14.5, 0]).output, [20]);
  assert.deepEqual(evaluate(MIXED, [14.5, 1]).path, [{ split: 0, score: -2.75 }]);
});

test("a row that Python refuses is refused, with the reason", () => {
  const plain = readModel(describe([number("size")], [feature("size", 0)], [[~0, ~1]], [[1]], [0], [0, 1]));
  assert.equal(evaluate(plain, [NaN]).refused, "size needs a number");
  assert.equal(evaluate(plain, [Infinity]).refused, "size must be finite");
});

test("probabilities from margins follow the sigmoid, and an overflow is refused", () => {
  const log = pack([0, -1, -1e-15, 0], [2, 2]);
  const fields = { kind: "classifier", classes: ["no", "yes"], probability: { rate: 2, log } };
  const line = readModel(
    describe([number("x")], [feature("x", 0)], [[~0, ~1]], [[1]], [0], [0.8, 0.2, 0.4, 0.6], fields),
  );
  const yes = (x) => evaluate(line, [x]).output[1];
  const sigmoid = (z) => 1 / (1 + Math.exp(-z));
  assert.ok(Math.abs(yes(3) - sigmoid(6)) < 1e-14);
  assert.ok(Math.abs(yes(-3) - sigmoid(-7)) < 1e-14);
  assert.ok(yes(1e300) === 1 && yes(-1e300) > 0);
  const apart = readModel(
    describe(
      [number("x"), number("y")],
      [feature("x", 0), feature("y", 1)],
      [[~0, ~1]],
      [[1e10, -1e10]],
      [0],
      [1, 0, 0, 1],
      fields,
    ),
  );
  assert.equal(evaluate(apart, [1e300, 1e300]).refused, "these numbers are too large: a sum overflows");
});

test("a guard clips, tanh squashes", () => {
  const leaf = (fields) => readModel(describe([number("x")], [feature("x", 0)], [], [], [], [5], fields));
  const bounds = { shape: [1, 1], type: "u1", data: "Aw==" };
  assert.deepEqual(evaluate(leaf({ upper: bounds }), [0]).output, [3]);
  const [squashed] = evaluate(leaf({ squash: { low: [-1], high: [1] } }), [0]).output;
  assert.ok(Math.abs(squashed - Math.tanh(5)) < 1e-15);
});
