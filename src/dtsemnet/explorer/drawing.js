// The tree on a canvas. Only what is in sight is drawn, and a subtree narrower than a pixel is drawn as one tick, so
// the work of a frame depends on the size of the window and not on the size of the tree. How much a node shows
// depends on its room: a tick, a dot, a chip with its number, a card with text, weights and class mix.
"use strict";

class Drawing {
  constructor(canvas, model, layout, facts, view) {
    Object.assign(this, { canvas, model, layout, facts, view, pictures: new Map(), texts: new Map() });
    this.context = canvas.getContext("2d");
    this.stats = { nodes: 0, edges: 0, milliseconds: 0 };
    this.readTheme();
  }

  readTheme() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(`--${name}`).trim();
    this.theme = Object.fromEntries(
      ["back", "card", "ink", "soft", "line", "accent", "mark", "plus", "minus"].map((name) => [name, get(name)]),
    );
    this.theme.ramp = [get("ramp-low"), get("ramp-high")].map((hex) =>
      [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)),
    );
    this.pictures.clear();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(),
      ratio = window.devicePixelRatio || 1;
    if (box.width < 1 || box.height < 1) return;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    this.view.resize(box.width, box.height);
  }

  // What the page shows besides the tree: the path, the node chosen, the hits of a search.
  draw(state) {
    const begin = performance.now();
    const { context: c, theme, view } = this;
    c.setTransform(this.ratio || 1, 0, 0, this.ratio || 1, 0, 0);
    c.fillStyle = theme.back;
    c.fillRect(0, 0, view.width, view.height);
    const onPath = new Map(state.result.path.map(({ split, score }) => [split, score]));
    const leaf = state.result.leaf === undefined ? null : ~state.result.leaf;
    const isOn = (node) => onPath.has(node) || node === leaf;
    const { nodes, edges } = this.collect(isOn);
    this.drawEdges(edges, isOn, state.hits.size > 0);
    this.placed = nodes;
    for (const node of nodes) {
      node.faded = state.hits.size > 0 && !state.hits.has(node.id) && !isOn(node.id);
      this.drawNode(node, { on: isOn(node.id), chosen: node.id === state.chosen, hit: state.hits.has(node.id) });
    }
    this.drawScores(
      edges.filter(({ child }) => isOn(child.id)),
      onPath,
    );
    this.stats = { nodes: nodes.length, edges: edges.length, milliseconds: performance.now() - begin };
  }

  // Nodes in sight and the edges between them, from the root down.
  collect(isOn) {
    const nodes = [],
      edges = [],
      todo = [{ id: this.layout.root, parent: null }];
    while (todo.length) {
      const { id, parent } = todo.pop();
      const place = this.view.place(id);
      if (place === null) continue;
      const node = { id, ...place, ...this.size(id, place.room) };
      if (parent !== null) edges.push({ parent, child: node });
      if (node.y > -80 && node.y < this.view.height + 80) nodes.push(node);
      // Below a pixel a subtree is one tick, but the path is followed to its leaf.
      if (id < 0 || node.y > this.view.height + 80) continue;
      for (const child of this.model.children[id])
        if (place.room >= 1.5 || isOn(child)) todo.push({ id: child, parent: node });
    }
    return { nodes, edges };
  }

  size(id, room) {
    const image = this.model.image !== null && (id >= 0 || this.model.image.mean !== null) && this.view.step >= 72;
    const wide = Math.min(image ? 150 : 168, room - 8);
    if (wide >= 62) return { look: "card", wide, tall: image ? 52 : 46, image };
    if (wide >= 22) return { look: "chip", wide: Math.min(wide, id < 0 ? 58 : 34), tall: 24, image };
    if (room >= 4)
      return { look: "dot", wide: Math.max(2.5, Math.min(id < 0 ? 14 : 10, room - 2)), tall: id < 0 ? 18 : 10, image };
    return { look: "tick", wide: Math.max(0.6, room - (room > 2 ? 1 : 0)), tall: id < 0 ? 14 : 4, image };
  }

  drawEdges(edges, isOn, faded) {
    const { context: c, theme } = this;
    c.lineCap = "round";
    for (const pass of ["rest", "path"]) {
      for (const { parent, child } of edges) {
        const on = isOn(parent.id) && isOn(child.id);
        if (on !== (pass === "path")) continue;
        const from = parent.y + parent.tall / 2,
          to = child.y - child.tall / 2,
          middle = (from + to) / 2;
        if (child.look === "tick" && !on) {
          // upright, for all that can be seen: a rectangle is far cheaper than a curve
          c.globalAlpha = 0.4;
          c.fillStyle = theme.line;
          c.fillRect(child.x - 0.3, from, 0.6, to - from);
          continue;
        }
        const share = this.facts.share(child.id);
        c.strokeStyle = on ? theme.accent : theme.line;
        c.globalAlpha = faded && !on ? 0.4 : 1;
        c.lineWidth = on ? 3 : share === null ? 1.4 : 1 + 7 * Math.sqrt(share);
        c.beginPath();
        c.moveTo(parent.x, from);
        c.bezierCurveTo(parent.x, middle, child.x, middle, child.x, to);
        c.stroke();
      }
    }
    c.globalAlpha = 1;
    this.drawSides(edges);
  }

  // "no" and "yes" where there is room beside the edges of a card.
  drawSides(edges) {
    const { context: c, theme } = this;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.fillStyle = theme.soft;
    for (const { parent, child } of edges) {
      if (parent.look !== "card" || parent.room < 190 || this.view.step < 84) continue;
      const right = this.model.children[parent.id][1] === child.id;
      c.textAlign = right ? "left" : "right";
      c.fillText(right ? "yes" : "no", parent.x + (right ? 14 : -14), parent.y + parent.tall / 2 + 9);
    }
  }

  drawNode(node, marks) {
    const { context: c, theme } = this;
    const { x, y, wide, tall, id } = node;
    const gone = id < 0 && this.facts.isUnreachable(~id);
    c.globalAlpha = node.faded ? 0.35 : gone ? 0.5 : 1;
    const left = x - wide / 2,
      top = y - tall / 2;
    if (marks.on && id >= 0 && (node.look === "tick" || node.look === "dot")) {
      c.fillStyle = theme.accent;
      c.beginPath();
      c.arc(x, y, 5, 0, 2 * Math.PI);
      c.fill();
    } else if (node.look === "tick" || node.look === "dot") {
      c.fillStyle = id < 0 ? this.facts.leafColour(~id, theme) : theme.soft;
      if (node.look === "tick") c.fillRect(left, top, wide, tall);
      else if (id < 0) this.box(left, top, wide, tall, 3, c.fillStyle, null);
      else {
        c.beginPath();
        c.arc(x, y, wide / 2, 0, 2 * Math.PI);
        c.fill();
      }
    } else if (node.look === "chip") this.drawChip(node, left, top);
    else if (id >= 0) this.drawSplit(node, left, top);
    else this.drawLeaf(node, left, top);
    c.globalAlpha = 1;
    if (gone) this.strike(node, left, top);
    if (marks.hit) this.outline(left - 3, top - 3, wide + 6, tall + 6, theme.mark, 3);
    if (marks.on && (id < 0 || node.look === "card" || node.look === "chip"))
      this.outline(left, top, wide, tall, theme.accent, 2);
    if (marks.chosen) this.outline(left - 3, top - 3, Math.max(wide, 4) + 6, tall + 6, theme.ink, 2.5);
  }

  // A leaf that nothing reaches has a dashed edge; where it is too small to say so in words it is crossed out.
  strike({ look, wide, tall, faded }, left, top) {
    const { context: c, theme } = this;
    c.globalAlpha = faded ? 0.35 : 1;
    if (look === "card" || look === "chip") {
      c.setLineDash([4, 3]);
      this.outline(left, top, wide, tall, theme.soft, 1.2);
      c.setLineDash([]);
    }
    if (look !== "card") {
      c.lineWidth = look === "tick" ? 0.6 : 1.2;
      c.strokeStyle = theme.soft;
      c.beginPath();
      c.moveTo(left, top + tall);
      c.lineTo(left + wide, top);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  drawChip({ id, wide, tall, x, y }, left, top) {
    const { context: c, theme } = this;
    this.box(left, top, wide, tall, 6, theme.card, theme.line);
    if (id < 0) this.strip(left, top, tall, ~id);
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = theme.ink;
    const text = id < 0 ? this.facts.leafTitle(~id).replace("\u2248 ", "") : String(id);
    const cut = this.fitText(text, wide - (id < 0 ? 8 : 4));
    if (cut.length > 2 || cut === text) c.fillText(cut, x + (id < 0 ? 2 : 0), y + 0.5);
  }

  drawSplit(node, left, top) {
    const { context: c, theme } = this;
    const { id, wide, tall, x } = node;
    this.box(left, top, wide, tall, 8, theme.card, theme.line);
    let inner = left + 10;
    if (node.image) {
      c.imageSmoothingEnabled = false;
      c.drawImage(this.picture(id), node.wide < 106 ? x - 21 : left + 6, top + 5, 42, 42);
      if (wide < 106) return;
      inner = left + 56;
    }
    const room = left + wide - 10 - inner;
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.font = node.image ? "600 12px system-ui, sans-serif" : "12px system-ui, sans-serif";
    c.fillStyle = theme.ink;
    c.fillText(
      this.fitText(node.image ? this.facts.name(id) : this.facts.caption(id), room),
      inner,
      top + (node.image ? 23 : 18),
    );
    const n = this.facts.rows(id);
    c.font = "11px system-ui, sans-serif";
    c.fillStyle = theme.soft;
    if (node.image) {
      if (n !== null) c.fillText(this.fitFirst([Words.plural(n, "row"), Words.count(n)], room), inner, top + 39);
      return;
    }
    const bars = this.facts.bars(id);
    if (bars.length <= 1) {
      c.fillText(
        this.fitFirst(n === null ? [this.facts.name(id)] : [Words.plural(n, "row"), Words.count(n)], room),
        inner,
        top + 35,
      );
      return;
    }
    const width = Math.min(9, (room - 2) / bars.length - 2),
      base = top + 32;
    bars.forEach((size, k) => {
      c.fillStyle = size > 0 ? theme.plus : theme.minus;
      const long = Math.max(1, Math.abs(size) * 9);
      c.fillRect(inner + k * (width + 2), size > 0 ? base - long : base, width, long);
    });
    c.fillStyle = theme.line;
    c.fillRect(inner, base - 0.5, bars.length * (width + 2) - 2, 1);
    const used = bars.length * (width + 2) + 6;
    if (n !== null && room - used > 20) {
      c.fillStyle = theme.soft;
      c.textAlign = "right";
      c.fillText(this.fitFirst([Words.plural(n, "row"), Words.count(n), ""], room - used), inner + room, top + 36);
    }
  }

  drawLeaf(node, left, top) {
    const { context: c, theme, facts, model } = this;
    const { id, wide, tall } = node,
      leaf = ~id;
    this.box(left, top, wide, tall, 8, theme.card, theme.line);
    this.strip(left, top, tall, leaf);
    let inner = left + 13;
    if (node.image && wide >= 106) {
      c.imageSmoothingEnabled = false;
      c.drawImage(this.picture(id), left + 9, top + 5, 42, 42);
      inner = left + 58;
    }
    const room = left + wide - 8 - inner,
      shift = node.image ? 2 : 0;
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.fillStyle = theme.ink;
    c.font = "600 12px system-ui, sans-serif";
    c.fillText(this.fitText(facts.leafTitle(leaf), room), inner, top + 18 + shift);
    c.font = "11px system-ui, sans-serif";
    c.fillStyle = theme.soft;
    const detail = facts.leafDetail(leaf);
    c.fillText(this.fitFirst([detail, detail.split(" \u00b7 ")[0]], room), inner, top + 32 + shift);
    if (model.classes === null) return;
    let at = inner;
    facts.mix(leaf).forEach((share, k) => {
      c.fillStyle = facts.classColour(k);
      c.fillRect(at, top + tall - 8, share * room, 3);
      at += share * room;
    });
  }

  // The colour of a leaf, along its left side.
  strip(left, top, tall, leaf) {
    const { context: c } = this;
    c.beginPath();
    c.roundRect(left, top, 5, tall, [5, 0, 0, 5]);
    c.fillStyle = this.facts.leafColour(leaf, this.theme);
    c.fill();
  }

  // Scores along the path: how far the row is from going the other way.
  drawScores(edges, onPath) {
    const { context: c, theme } = this;
    c.font = "600 11px system-ui, sans-serif";
    c.textAlign = "center";
    c.textBaseline = "middle";
    for (const { parent, child } of edges) {
      if (!onPath.has(parent.id)) continue;
      const score = onPath.get(parent.id);
      const text = (score > 0 ? "+" : "") + Words.number(score, 3);
      const x = (parent.x + child.x) / 2,
        y = (parent.y + parent.tall / 2 + child.y - child.tall / 2) / 2;
      const wide = c.measureText(text).width + 10;
      this.box(x - wide / 2, y - 8, wide, 16, 8, theme.accent, null);
      c.fillStyle = theme.back;
      c.fillText(text, x, y + 0.5);
    }
  }

  trace(left, top, wide, tall, radius) {
    this.context.beginPath();
    this.context.roundRect(left, top, wide, tall, Math.min(radius, wide / 2, tall / 2));
  }

  box(left, top, wide, tall, radius, fill, stroke) {
    const { context: c } = this;
    this.trace(left, top, wide, tall, radius);
    c.fillStyle = fill;
    c.fill();
    if (stroke === null) return;
    c.strokeStyle = stroke;
    c.lineWidth = 1;
    c.stroke();
  }

  outline(left, top, wide, tall, colour, width) {
    const { context: c } = this;
    this.trace(left, top, wide, tall, 9);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.stroke();
  }

  // Text cut to a width, with dots; measured once for each step of four pixels, since zooming runs through all widths.
  fitText(text, width) {
    const c = this.context,
      room = 4 * Math.floor(width / 4),
      key = `${c.font}|${room}|${text}`;
    if (this.texts.has(key)) return this.texts.get(key);
    if (this.texts.size > 20000) this.texts.clear();
    let cut = text;
    if (c.measureText(text).width > room) {
      let low = 0,
        high = Math.min(text.length, 200);
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (c.measureText(text.slice(0, middle) + "\u2026").width <= room) low = middle;
        else high = middle - 1;
      }
      cut = low > 0 ? text.slice(0, low).trimEnd() + "\u2026" : "";
    }
    this.texts.set(key, cut);
    return cut;
  }

  // The first of several texts that fits, or the last of them, cut.
  fitFirst(texts, room) {
    return texts.find((text) => this.fitText(text, room) === text) ?? this.fitText(texts[texts.length - 1], room);
  }

  picture(id) {
    if (!this.pictures.has(id)) this.pictures.set(id, Pictures.ofNode(this.model, this.facts, id, this.theme));
    return this.pictures.get(id);
  }

  // The node at a point of the canvas, or null; ticks are met by the column they stand in.
  at(x, y) {
    let best = null,
      least = Infinity;
    for (const node of this.placed) {
      const dx = Math.max(0, Math.abs(x - node.x) - node.wide / 2),
        dy = Math.max(0, Math.abs(y - node.y) - node.tall / 2);
      const away = Math.hypot(dx, dy);
      if (away < least && away <= 8) {
        best = node.id;
        least = away;
      }
    }
    return best;
  }
}
