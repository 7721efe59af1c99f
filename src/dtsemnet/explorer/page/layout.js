// Where nodes are. A node is a number as in the table of children: k >= 0 is split k, k < 0 is leaf ~k.
// The horizontal unit is one leaf, the vertical unit is one level. Zoom stretches the horizontal alone: text keeps its
// size, and nodes get room for more of it. A split is drawn in the middle of those of its leaves that are in sight,
// like a sticky heading, so the way up to the root is never lost.

/** The structure of a tree: depth, parent and neighbours of each node, and the range of leaves below it. */
export class Layout {
  #depth = new Int32Array(0);
  #parent = new Int32Array(0);
  #first = new Int32Array(0);
  #last = new Int32Array(0);
  #leafDepth = new Int32Array(1);
  #leafParent = new Int32Array(1);
  /** @type {number[][] | null} */
  #levels = null;
  /** @type {readonly (readonly [number, number])[]} */
  children = [];
  nSplits = 0;
  nLeaves = 1;
  root = -1;
  height = 0;

  /** @param {readonly (readonly [number, number])[]} children */
  constructor(children) {
    this.read(children);
  }

  /**
   * Take over the structure of a tree, in place of the one before.
   * @param {readonly (readonly [number, number])[]} children
   */
  read(children) {
    const n = children.length;
    this.children = children;
    this.nSplits = n;
    this.nLeaves = n + 1;
    this.root = n ? 0 : -1;
    this.#levels = null;
    this.#depth = new Int32Array(n);
    this.#parent = new Int32Array(n).fill(-1);
    this.#first = new Int32Array(n);
    this.#last = new Int32Array(n);
    this.#leafDepth = new Int32Array(n + 1);
    this.#leafParent = new Int32Array(n + 1).fill(-1);
    for (let i = 0; i < n; i++) {
      for (const child of children[i]) {
        if (child >= 0) {
          this.#depth[child] = this.#depth[i] + 1;
          this.#parent[child] = i;
        } else {
          this.#leafDepth[~child] = this.#depth[i] + 1;
          this.#leafParent[~child] = i;
        }
      }
    }
    for (let i = n - 1; i >= 0; i--) {
      const [left, right] = children[i];
      this.#first[i] = left >= 0 ? this.#first[left] : ~left;
      this.#last[i] = right >= 0 ? this.#last[right] : ~right + 1;
    }
    this.height = this.#leafDepth.reduce((most, level) => Math.max(most, level), 0);
  }

  /** @param {number} node */
  depth(node) {
    return node >= 0 ? this.#depth[node] : this.#leafDepth[~node];
  }

  /**
   * @param {number} node
   * @returns {number | null}
   */
  parent(node) {
    const up = node >= 0 ? this.#parent[node] : this.#leafParent[~node];
    return up < 0 ? null : up;
  }

  /**
   * The leaves below a node are those from `first` up to, but without, `last`.
   * @param {number} node
   */
  first(node) {
    return node >= 0 ? this.#first[node] : ~node;
  }

  /** @param {number} node */
  last(node) {
    return node >= 0 ? this.#last[node] : ~node + 1;
  }

  /**
   * Whether a node is the right child of its parent: the side of "yes".
   * @param {number} node
   */
  isRight(node) {
    const up = this.parent(node);
    return up !== null && this.children[up][1] === node;
  }

  /**
   * The nodes from the root to a node, both included.
   * @param {number} node
   */
  pathTo(node) {
    const path = [node];
    for (let up = this.parent(node); up !== null; up = this.parent(up)) path.push(up);
    return path.reverse();
  }

  /**
   * The node `step` places to the right on the same level, or the node itself at the end of the level.
   * @param {number} node
   * @param {number} step
   */
  beside(node, step) {
    this.#levels ??= this.#readLevels();
    const level = this.#levels[this.depth(node)];
    let low = 0,
      high = level.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.first(level[middle]) < this.first(node)) low = middle + 1;
      else high = middle;
    }
    return level[low + step] ?? node;
  }

  #readLevels() {
    /** @type {number[][]} */
    const levels = Array.from({ length: this.height + 1 }, () => []);
    for (let i = 0; i < this.nSplits; i++) levels[this.depth(i)].push(i);
    for (let leaf = 0; leaf < this.nLeaves; leaf++) levels[this.depth(~leaf)].push(~leaf);
    for (const level of levels) level.sort((a, b) => this.first(a) - this.first(b));
    return levels;
  }
}

const PAD = 24,
  WIDEST = 240;

/** The part of the tree that is in sight, in pixels. */
export class View {
  width = 1;
  height = 1;
  scale = 1;
  left = 0;
  top = 0;
  step = 90;
  isFitted = true;

  /** @param {Layout} layout */
  constructor(layout) {
    this.layout = layout;
  }

  /**
   * @param {number} width
   * @param {number} height
   */
  resize(width, height) {
    const centre = (this.width / 2 - this.left) / this.scale;
    this.width = width;
    this.height = height;
    this.step = Math.min(132, Math.max(60, (height - 116) / Math.max(1, this.layout.height)));
    if (this.isFitted) this.fit();
    else {
      this.left = width / 2 - centre * this.scale;
      this.clamp();
    }
  }

  get fitScale() {
    return Math.min(WIDEST, (this.width - 2 * PAD) / this.layout.nLeaves);
  }

  fit() {
    this.isFitted = true;
    this.scale = this.fitScale;
    this.left = (this.width - this.scale * this.layout.nLeaves) / 2;
    this.top = Math.max(38, (this.height - this.layout.height * this.step) / 2 - 16);
  }

  /**
   * @param {number} factor
   * @param {number} at  the horizontal position that stays where it is
   */
  zoom(factor, at = this.width / 2) {
    const scale = Math.min(WIDEST, Math.max(this.fitScale, this.scale * factor));
    this.left = at - ((at - this.left) * scale) / this.scale;
    this.scale = scale;
    this.isFitted = scale === this.fitScale;
    this.clamp();
  }

  /**
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    this.left += dx;
    this.top += dy;
    this.isFitted = false;
    this.clamp();
  }

  /** Half the view may be empty, never all of it. */
  clamp() {
    const wide = this.scale * this.layout.nLeaves,
      tall = this.layout.height * this.step;
    this.left = Math.min(this.width / 2, Math.max(this.width / 2 - wide, this.left));
    this.top = Math.min(this.height - 60, Math.max(60 - tall, this.top));
  }

  /**
   * Bring a node into view, with room to read it.
   * @param {number} node
   */
  show(node) {
    const { layout } = this,
      span = layout.last(node) - layout.first(node),
      middle = layout.first(node) + span / 2;
    if (span * this.scale < 70) this.zoom(126 / (span * this.scale), this.left + middle * this.scale);
    const box = this.position(node),
      half = Math.min(84, (span * this.scale) / 2);
    if (box === null || box.x < half || box.x > this.width - half)
      this.pan(this.width / 2 - this.left - middle * this.scale, 0);
    if (this.y(node) < 30 || this.y(node) > this.height - 40) this.pan(0, this.height / 2 - this.y(node));
  }

  /**
   * Show all leaves below a split.
   * @param {number} split
   * @param {number} at  the horizontal position to zoom around
   */
  showBelow(split, at) {
    const { layout } = this,
      span = layout.last(split) - layout.first(split);
    this.zoom((this.width - 40) / span / this.scale, at);
    this.pan(this.width / 2 - (this.left + (layout.first(split) + span / 2) * this.scale), 0);
  }

  /** @param {number} node */
  y(node) {
    return this.top + this.layout.depth(node) * this.step;
  }

  /**
   * The centre of a node on the screen and the width of all that is below it, or null if it is out of sight.
   * @param {number} node
   */
  position(node) {
    const low = this.left + this.layout.first(node) * this.scale;
    const high = this.left + this.layout.last(node) * this.scale;
    const y = this.y(node);
    if (high < 0 || low > this.width) return null;
    const room = high - low,
      half = Math.min(168, room) / 2;
    // At an edge of the view a node stays above its own leaves, and may be cut off.
    const least = Math.max(low, Math.min(0, high - 2 * half)) + half;
    const most = Math.min(high, Math.max(this.width, low + 2 * half)) - half;
    const middle = (Math.max(0, low) + Math.min(this.width, high)) / 2;
    return { x: Math.max(least, Math.min(most, middle)), y, room };
  }
}
