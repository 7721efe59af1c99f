import assert from "node:assert/strict";
import { test } from "node:test";
import { Facts } from "../../src/dtsemnet/explorer/page/facts.js";
import { Layout } from "../../src/dtsemnet/explorer/page/layout.js";
import { readModel } from "../../src/dtsemnet/explorer/page/model.js";
import { limitText, scoreText, stepText } from "../../src/dtsemnet/explorer/page/tree-path.js";
import { complete, describe, feature, number } from "./model.fixture.js";

const COLUMNS = [number("length", { low: -1, high: 3 }), number("width")],
  FEATURES = [feature("length", 0), feature("width", 1)];

function step(limit, fields = {}) {
  return { limit, columns: 1.5, total: 3, score: 0.9123, tree: { children: complete(2) }, ...fields };
}

test("a step says its limit, its size and its score in words", () => {
  const path = { at: 0, measure: "accuracy", steps: [step(null), step(1)] };
  assert.equal(
    stepText(path, path.steps[1]),
    "at most 1 column a split, 1.5 on average, 4 leaves, accuracy 91.2 %, 3 columns to read in all",
  );
  assert.match(stepText(path, path.steps[0]), /^no limit on columns, /);
  assert.deepEqual(path.steps.map(limitText), ["all", "1"]);
});

test("R2 is a number, and a score that is not known is a dash", () => {
  assert.equal(scoreText({ measure: "R2" }, step(2)), "0.912");
  assert.equal(scoreText({ measure: "accuracy" }, step(2, { score: null })), "\u2013");
});

test("facts and layout of a model are those of the tree that took its place", () => {
  const one = describe(COLUMNS, FEATURES, complete(1), [[1, 0]], [-1], [1, 2], { leaves: { count: [3, 1] } });
  const weight = [
    [1, 1],
    [0, 1],
    [2, 0],
  ];
  const two = describe(COLUMNS, FEATURES, complete(2), weight, [0, 0, 0], [1, 2, 3, 4], {
    leaves: { count: [1, 1, 1, 1] },
    reading: { splits: 4, leaves: 0, longest: 3, distinct: 2 },
  });
  const model = readModel(one),
    layout = new Layout(model.children),
    facts = new Facts(model, layout);
  assert.equal(facts.line(0), "Split 0: length > 1");
  assert.equal(facts.rows(0), 4);
  Object.assign(model, readModel(two));
  layout.read(model.children);
  facts.read();
  assert.equal(facts.rows(1), 2);
  assert.equal(facts.caption(0), "length, width");
  assert.equal(layout.height, 2);
  assert.equal(layout.beside(1, 1), 2);
  assert.deepEqual(facts.leafRange, { low: 1, high: 4 });
  assert.match(facts.summary(), /reads 2 of 2 columns, 1.3 a split, at most 3 on a path/);
});

test("what an equation does not show adds no more than the sliders allow", () => {
  const model = readModel(describe(COLUMNS, FEATURES, complete(1), [[2, -1]], [0], [1, 2]));
  const facts = new Facts(model, new Layout(model.children));
  assert.deepEqual(facts.rangeOfTerms(facts.equation(0).terms), { low: -3, high: 6 });
  assert.deepEqual(facts.rangeOfTerms([]), { low: 0, high: 0 });
});
