// The tree for screen readers: a hidden list with role=tree, which has the keyboard's focus while the canvas draws.
// Only the nodes near the chosen one and near the path of the input are in it, so its size depends on the depth of the
// tree and not on the number of leaves.

/** @import { State } from "./drawing.js" */
/** @import { Facts } from "./facts.js" */

import { fill, make } from "./elements.js";

export class Outline {
  /**
   * @param {HTMLElement} root
   * @param {Facts} facts
   */
  constructor(root, facts) {
    this.root = root;
    this.facts = facts;
  }

  get hasFocus() {
    return document.activeElement === this.root;
  }

  focus() {
    this.root.focus({ preventScroll: true });
  }

  /**
   * List the path of the input and the way to the chosen node, each with the siblings beside it.
   * @param {State} state
   */
  show({ result, chosen }) {
    const { layout } = this.facts,
      path = result.path.map(({ split }) => split);
    if (result.leaf !== undefined) path.push(~result.leaf);
    const open = new Set([...path, ...layout.pathTo(chosen ?? layout.root)]),
      onPath = new Set(path),
      items = [];
    for (const todo = [layout.root]; todo.length; ) {
      const node = /** @type {number} */ (todo.pop()),
        isOpen = node >= 0 && open.has(node);
      items.push(this.#item(node, isOpen, onPath.has(node), node === chosen));
      if (isOpen) todo.push(layout.children[node][1], layout.children[node][0]);
    }
    fill(this.root, items);
    if (chosen === null) this.root.removeAttribute("aria-activedescendant");
    else this.root.setAttribute("aria-activedescendant", itemId(chosen));
  }

  /**
   * The items are not nested: their levels say where they belong.
   * @param {number} node
   * @param {boolean} isOpen
   * @param {boolean} onPath
   * @param {boolean} isChosen
   */
  #item(node, isOpen, onPath, isChosen) {
    const { layout } = this.facts;
    return make("li", {
      id: itemId(node),
      role: "treeitem",
      "aria-label": this.#name(node, onPath),
      "aria-level": layout.depth(node) + 1,
      "aria-setsize": node === layout.root ? 1 : 2,
      "aria-posinset": layout.isRight(node) ? 2 : 1,
      "aria-selected": String(isChosen),
      "aria-expanded": node >= 0 ? String(isOpen) : null,
    });
  }

  /**
   * A node in words: the answer that leads to it, what it is, and whether the input comes here.
   * @param {number} node
   * @param {boolean} onPath
   */
  #name(node, onPath) {
    const { facts } = this,
      { layout } = facts;
    const answer = node === layout.root ? "" : layout.isRight(node) ? "Yes: " : "No: ";
    const rows = node >= 0 ? facts.rowsText(node) : "";
    return [answer + facts.line(node), rows, onPath ? "on the path of the input" : ""].filter(Boolean).join(", ");
  }
}

/** @param {number} node */
function itemId(node) {
  return node >= 0 ? `split-${node}` : `leaf-${~node}`;
}
