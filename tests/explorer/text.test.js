import assert from "node:assert/strict";
import { test } from "node:test";
import { readModel } from "../../src/dtsemnet/explorer/page/model.js";
import {
  numberText,
  percentText,
  plural,
  questionText,
  readEquation,
  regionLines,
  sumParts,
} from "../../src/dtsemnet/explorer/page/text.js";
import { categorical, describe, feature, number } from "./model.fixture.js";

const MODEL = readModel(
  describe(
    [
      number("age", { center: 10, scale: 0.5 }),
      number("size"),
      categorical("colour", ["red", "blue"], { missing: "indicator" }),
    ],
    [
      feature("age", 0, "number", { scale: 0.5, shift: -5 }),
      feature("size", 1, "number", { spread: 4 }),
      feature("colour = red", 2, "category", { category: "red" }),
      feature("colour = blue", 2, "category", { category: "blue" }),
      feature("colour missing", 2, "missing"),
    ],
    [],
    [],
    [],
    [0],
  ),
);
const equation = (weight, bias) => readEquation(MODEL, Float64Array.from(weight), 0, bias);
const right = (weight, bias) => questionText(MODEL, equation(weight, bias), true);
const left = (weight, bias) => questionText(MODEL, equation(weight, bias), false);

test("numbers are rounded, with a true minus sign", () => {
  assert.deepEqual(
    [0, -0.123456, 123456, 1.5e-7, -2e9, Infinity, null, NaN].map((value) => numberText(value)),
    ["0", "−0.1235", "123,500", "1.5e−7", "−2e9", "∞", "–", "–"],
  );
  assert.deepEqual(
    [percentText(0.5), percentText(1e-6), plural(1, "row"), plural(1200, "row")],
    ["50 %", "< 0.01 %", "1 row", "1,200 rows"],
  );
});

test("sums are in raw units, the most influential term first", () => {
  assert.equal(sumParts(MODEL, equation([2, -1, 0, 0, 0], 3)).join(" "), "−size + age − 7");
  assert.equal(
    sumParts(MODEL, equation([2, -1, 3, 4, 5], 0), 2).join(" "),
    "5 (colour missing) + 4 (colour = blue) + … 3 more terms − 10",
  );
});

test("a split on one number is solved for it", () => {
  assert.equal(right([2, 0, 0, 0, 0], 0), "age > 10");
  assert.equal(left([2, 0, 0, 0, 0], 0), "age ≤ 10");
  assert.equal(right([0, -2, 0, 0, 0], 1), "size < 0.5");
  assert.equal(left([0, -2, 0, 0, 0], 1), "size ≥ 0.5");
});

test("a missing number counts as 0, and what is filled in joins its indicator", () => {
  const columns = [number("age", { missing: "indicator", fill: 40, center: 10, scale: 0.5 }), number("size")];
  const features = [
    feature("age", 0, "number", { scale: 0.5, shift: -5 }),
    feature("age missing", 0, "missing", { fill: 40 }),
    feature("size", 1),
  ];
  const model = readModel(describe(columns, features, [], [], [], [0]));
  const text = (weight, bias, side = true) =>
    questionText(model, readEquation(model, Float64Array.from(weight), 0, bias), side);
  assert.equal(text([2, 3, 1], 0), "43 (age missing) + age + size − 10 > 0");
  assert.equal(text([2, 0, 0], 0), "age > 10 or missing");
  assert.equal(text([2, 0, 0], 0, false), "age ≤ 10 and not missing");
  assert.equal(text([2, -40, 0], 0), "age > 10 and not missing");
  assert.equal(text([0, 1, 0], -0.5), "age is missing");
  assert.equal(text([0, 1, 0], -0.5, false), "age is not missing");
  const filled = readModel(
    describe([number("age", { missing: "fill", fill: 40 })], [feature("age", 0)], [], [], [], [0]),
  );
  assert.equal(questionText(filled, readEquation(filled, Float64Array.of(2), 0, -20), true), "age > 10");
});

test("a split on the categories of one column names them", () => {
  assert.equal(right([0, 0, 1, 0, 0], -0.5), "colour = red");
  assert.equal(left([0, 0, 1, 0, 0], -0.5), "colour ≠ red");
  assert.equal(right([0, 0, -1, 0, 0], 0.5), "colour ≠ red");
  assert.equal(right([0, 0, 1, 0, 1], -0.5), "colour in {red, missing}");
  assert.equal(left([0, 0, 1, 2, 0], -0.5), "colour not in {red, blue}");
  assert.equal(right([0, 0, 0, 0, 1], -0.5), "colour is missing");
  assert.equal(right([0, 0, 1, 0, 0], -2), "(colour = red) − 2 > 0");
  assert.equal(questionText(MODEL, equation([0, 0, 1, 2, 3], -0.5), true, 2), "colour in {red, blue, … 1 more}");
});

test("the region of a node has one interval for each number", () => {
  const splits = [equation([0, 1, 0, 0, 0], -1), equation([1, 1, 0, 0, 0], 0), equation([0, -1, 0, 0, 0], 4)];
  const turns = [
    { split: 0, right: true },
    { split: 1, right: false },
    { split: 2, right: true },
  ];
  assert.deepEqual(
    regionLines(MODEL, (split) => splits[split], turns),
    [
      { parts: ["1 < size < 4"], split: null },
      { parts: ["size", "+ 0.5 age", "− 5", "≤ 0"], split: 1 },
    ],
  );
});
