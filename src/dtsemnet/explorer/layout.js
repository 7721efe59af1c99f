// Where nodes stand. A node is a number as in the table of children: k >= 0 is split k, k < 0 is leaf ~k.
// The horizontal unit is one leaf, the vertical one is one level. Zoom stretches the horizontal alone: text keeps its
// size, and nodes get room for more of it. A split stands in the middle of what is in sight of the leaves below it,
// like a heading that sticks, so the way up to the root is never lost.
"use strict";

const Layout = (() => {
  function build(children) {
    const n = children.length;
    const depth = new Int32Array(n),
      parent = new Int32Array(n).fill(-1);
    const first = new Int32Array(n),
      last = new Int32Array(n);
    const leafDepth = new Int32Array(n + 1),
      leafParent = new Int32Array(n + 1).fill(-1);
    for (let i = 0; i < n; i++) {
      for (const child of children[i]) {
        if (child >= 0) {
          depth[child] = depth[i] + 1;
          parent[child] = i;
        } else {
          leafDepth[~child] = depth[i] + 1;
          leafParent[~child] = i;
        }
      }
    }
    for (let i = n - 1; i >= 0; i--) {
      const [left, right] = children[i];
      first[i] = left >= 0 ? first[left] : ~left;
      last[i] = right >= 0 ? last[right] : ~right + 1;
    }
    return {
      children,
      n,
      nLeaves: n + 1,
      root: n ? 0 : -1,
      height: leafDepth.reduce((most, level) => Math.max(most, level), 0),
      depth: (node) => (node >= 0 ? depth[node] : leafDepth[~node]),
      parent: (node) => {
        const up = node >= 0 ? parent[node] : leafParent[~node];
        return up < 0 ? null : up;
      },
      first: (node) => (node >= 0 ? first[node] : ~node),
      last: (node) => (node >= 0 ? last[node] : ~node + 1),
    };
  }

  const PAD = 24,
    WIDEST = 240;

  class View {
    constructor(layout) {
      Object.assign(this, { layout, width: 1, height: 1, scale: 1, left: 0, top: 0, step: 90 });
    }

    resize(width, height) {
      const centre = (this.width / 2 - this.left) / this.scale;
      const fitted = this.isFitted;
      Object.assign(this, { width, height });
      this.step = Math.min(132, Math.max(60, (height - 116) / Math.max(1, this.layout.height)));
      if (fitted === undefined || fitted) this.fit();
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

    zoom(factor, at = this.width / 2) {
      const scale = Math.min(WIDEST, Math.max(this.fitScale, this.scale * factor));
      this.left = at - ((at - this.left) * scale) / this.scale;
      this.scale = scale;
      this.isFitted = scale === this.fitScale;
      this.clamp();
    }

    pan(dx, dy) {
      this.left += dx;
      this.top += dy;
      this.isFitted = false;
      this.clamp();
    }

    // Half the view may be empty, never all of it.
    clamp() {
      const wide = this.scale * this.layout.nLeaves,
        tall = this.layout.height * this.step;
      this.left = Math.min(this.width / 2, Math.max(this.width / 2 - wide, this.left));
      this.top = Math.min(this.height - 60, Math.max(60 - tall, this.top));
    }

    // Bring a node into view, with room to read it.
    show(node) {
      const { layout } = this,
        span = layout.last(node) - layout.first(node),
        middle = layout.first(node) + span / 2;
      if (span * this.scale < 70) this.zoom(126 / (span * this.scale), this.left + middle * this.scale);
      const place = this.place(node),
        half = Math.min(84, (span * this.scale) / 2);
      if (place === null || place.x < half || place.x > this.width - half)
        this.pan(this.width / 2 - this.left - middle * this.scale, 0);
      if (this.y(node) < 30 || this.y(node) > this.height - 40) this.pan(0, this.height / 2 - this.y(node));
    }

    y(node) {
      return this.top + this.layout.depth(node) * this.step;
    }

    // Place on the screen, or null if out of sight: centre, room to either side, and width of all that is below.
    place(node) {
      const low = this.left + this.layout.first(node) * this.scale;
      const high = this.left + this.layout.last(node) * this.scale;
      const y = this.y(node);
      if (high < 0 || low > this.width) return null;
      const room = high - low,
        half = Math.min(168, room) / 2;
      // At an edge of the view it stays above its own leaves, and may be cut.
      const least = Math.max(low, Math.min(0, high - 2 * half)) + half;
      const most = Math.min(high, Math.max(this.width, low + 2 * half)) - half;
      const middle = (Math.max(0, low) + Math.min(this.width, high)) / 2;
      return { x: Math.max(least, Math.min(most, middle)), y, room };
    }
  }

  return { build, View };
})();
