import assert from "node:assert/strict";
import { test } from "node:test";
import { Facts, largest, rangeOf } from "../../src/dtsemnet/explorer/page/facts.js";
import { Layout } from "../../src/dtsemnet/explorer/page/layout.js";
import { readModel } from "../../src/dtsemnet/explorer/page/model.js";
import { complete, describe, feature, number } from "./model.fixture.js";

const factsOf = (description) => {
  const model = readModel(description);
  return new Facts(model, new Layout(model.children));
};
const COLUMNS = [number("length"), number("width")],
  FEATURES = [feature("length", 0), feature("width", 1)];

function classifier(fields = {}) {
  const value = [1, 0, 0, 1, 0.5, 0.5, 0.25, 0.75];
  const weight = [
    [1, 0],
    [1, 1],
    [0, -1],
  ];
  const classes = { kind: "classifier", classes: ["short", "long"], palette: ["#111111", "#222222"] };
  return factsOf(describe(COLUMNS, FEATURES, complete(2), weight, [-1, 0, 2], value, { ...classes, ...fields }));
}

test("rows of a split are those of its leaves", () => {
  const facts = classifier({ leaves: { count: [1, 2, 3, 4] } });
  assert.deepEqual([facts.rows(0), facts.rows(2), facts.rows(~1), facts.share(1)], [10, 7, 2, 0.3]);
  assert.equal(classifier().rows(0), null);
});

test("a node has a line in words", () => {
  const facts = classifier({ leaves: { count: [1, 2, 3, 4] } });
  assert.equal(facts.line(0), "Split 0: length > 1");
  assert.equal(facts.line(~3), "Leaf 3: long, 75 % · 4 rows");
  assert.equal(facts.caption(1), "length, width");
});

test("the summary counts what is right", () => {
  const leaves = {
    count: [1, 2, 3, 4],
    mix: [
      [1, 0],
      [0, 2],
      [3, 0],
      [4, 0],
    ],
    right: [1, 2, 3, 0],
  };
  assert.match(classifier({ leaves }).summary(), /accuracy 60 % on 10 rows$/);
  assert.deepEqual(classifier({ leaves }).mix(3), [1, 0]);
  assert.deepEqual(classifier().mix(3), [0.25, 0.75]);
});

test("a search finds columns, classes and numbers", () => {
  const facts = classifier();
  assert.deepEqual(facts.find("WIDTH"), [1, 2]);
  assert.deepEqual(facts.find("long"), [~1, ~3]);
  assert.deepEqual(facts.find("leaf 2"), [~2]);
  assert.deepEqual(facts.find("1"), [1, ~1]);
  assert.deepEqual(facts.find(" "), []);
});

test("distances are in spreads, also for terms that would overflow when squared", () => {
  const features = [feature("length", 0, "number", { spread: 3 }), feature("width", 1, "number", { spread: 4 })];
  const of = (weight) => factsOf(describe(COLUMNS, features, complete(1), [weight], [0], [0, 1]));
  assert.equal(of([1, 1]).distance(0, -10).toFixed(9), "2.000000000");
  assert.equal(of([1e200, 1e200]).distance(0, 1e201).toFixed(9), "2.000000000");
  assert.equal(of([0, 0]).distance(0, 1), Infinity);
});

test("a regressor with 2^17 leaves has a range of values and a colour for each leaf", () => {
  const children = complete(17),
    n = children.length;
  const facts = factsOf(
    describe(COLUMNS, FEATURES, children, new Array(2 * n).fill(1), new Array(n).fill(0), [...new Array(n + 1).keys()]),
  );
  assert.deepEqual(facts.leafRange, { low: 0, high: n });
  assert.equal(
    facts.leafColour(n, {
      ramp: [
        [0, 0, 0],
        [10, 20, 30],
      ],
    }),
    "rgb(10,20,30)",
  );
  assert.equal(facts.line(~n), `Leaf ${n}: 131,100, leaf ${n}`);
});

test("the largest of many numbers is found without a call of many arguments", () => {
  const many = Array.from({ length: 300_000 }, (_, k) => k);
  assert.equal(largest(many), 299_999);
  assert.deepEqual(rangeOf([...many, null]), { low: 0, high: 299_999 });
  assert.equal(rangeOf([null]), null);
});
