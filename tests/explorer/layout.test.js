import assert from "node:assert/strict";
import { test } from "node:test";
import { Layout, View } from "../../src/dtsemnet/explorer/page/layout.js";
import { complete } from "./model.fixture.js";

// 0 -> (leaf 0, 1); 1 -> (2, leaf 3); 2 -> (leaf 1, leaf 2)
const CHAIN = new Layout([
  [~0, 1],
  [2, ~3],
  [~1, ~2],
]);

test("depths, parents and leaves of every node", () => {
  assert.equal(CHAIN.height, 3);
  assert.deepEqual(
    [0, 1, 2, ~0, ~1, ~2, ~3].map((node) => CHAIN.depth(node)),
    [0, 1, 2, 1, 3, 3, 2],
  );
  assert.deepEqual(
    [0, 2, ~0, ~3].map((node) => CHAIN.parent(node)),
    [null, 1, 0, 1],
  );
  assert.deepEqual([CHAIN.first(1), CHAIN.last(1)], [1, 4]);
  assert.deepEqual(CHAIN.pathTo(~2), [0, 1, 2, ~2]);
  assert.ok(CHAIN.isRight(1) && !CHAIN.isRight(2));
});

test("neighbours are those on the same level, splits and leaves alike", () => {
  assert.equal(CHAIN.beside(~0, 1), 1);
  assert.equal(CHAIN.beside(2, 1), ~3);
  assert.equal(CHAIN.beside(~3, 1), ~3);
  assert.equal(CHAIN.beside(~1, 1), ~2);
});

test("a tree of one leaf has a layout", () => {
  const leaf = new Layout([]);
  assert.deepEqual([leaf.root, leaf.height, leaf.nLeaves], [~0, 0, 1]);
});

test("the view shows all leaves at first, and a node that is brought into view", () => {
  const layout = new Layout(complete(10)),
    view = new View(layout);
  view.resize(800, 600);
  assert.ok(Math.abs(view.scale - (800 - 48) / 1024) < 1e-12);
  view.show(~700);
  const { x, room } = view.position(~700);
  assert.ok(x > 0 && x < 800 && room >= 70);
  view.fit();
  view.showBelow(1, 0);
  assert.ok(Math.abs(view.scale - 760 / 512) < 1e-12);
});

test("half of the view may be empty, never all of it", () => {
  const view = new View(CHAIN);
  view.resize(800, 600);
  view.pan(1e9, 1e9);
  assert.deepEqual([view.left, view.top], [400, 540]);
});

test("a tree with 2^17 leaves is laid out and walked", () => {
  const layout = new Layout(complete(17));
  assert.equal(layout.nLeaves, 2 ** 17);
  assert.equal(layout.beside(~70000, 1), ~70001);
});
