// The tree on a canvas. Only what is in sight is drawn, and a subtree narrower than a pixel is drawn as one tick, so
// the work of a frame depends on the size of the window and not on the size of the tree. How much a node shows
// depends on its room: a tick, a dot, a chip with its number, a card with text, weights and class mix.

/** @import { Facts } from "./facts.js" */
/** @import { View } from "./layout.js" */
/** @import { Pictures } from "./pictures.js" */
/** @import { Result } from "./routing.js" */
/** @import { Theme } from "./theme.js" */

import { countText, numberText, plural } from "./text.js";

/**
 * @typedef {{ result: Result, chosen: number | null, hits: Set<number> }} State
 *   what the page shows besides the tree: the path, the node that is chosen, the matches of a search
 * @typedef {"card" | "chip" | "dot" | "tick"} Look
 * @typedef {{ id: number, x: number, y: number, room: number, look: Look, wide: number, tall: number,
 *   image: boolean, faded: boolean }} Box  a node as it is drawn; x and y are its centre
 * @typedef {{ parent: Box, child: Box }} Edge
 */

const SMALL = "11px system-ui, sans-serif",
  NORMAL = "12px system-ui, sans-serif",
  BOLD = "600 12px system-ui, sans-serif";

export class Drawing {
  /** @type {Map<string, string>} */
  #texts = new Map();
  #ratio = 1; // device pixels for each pixel of the page
  /** @type {Box[]} */
  placed = [];
  stats = { nodes: 0, edges: 0, milliseconds: 0 };

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Facts} facts
   * @param {View} view
   * @param {Pictures} pictures
   * @param {Theme} theme
   */
  constructor(canvas, facts, view, pictures, theme) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.facts = facts;
    this.model = facts.model;
    this.layout = facts.layout;
    this.view = view;
    this.pictures = pictures;
    this.theme = theme;
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(),
      ratio = window.devicePixelRatio || 1;
    if (box.width < 1 || box.height < 1) return;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.#ratio = ratio;
    this.view.resize(box.width, box.height);
  }

  /** @param {State} state */
  draw(state) {
    const begin = performance.now();
    const { context: c, view } = this;
    c.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    c.fillStyle = this.theme.colours.back;
    c.fillRect(0, 0, view.width, view.height);
    const onPath = new Map(state.result.path.map(({ split, score }) => [split, score]));
    const leaf = state.result.leaf === undefined ? null : ~state.result.leaf;
    /** @type {(node: number) => boolean} */
    const isOn = (node) => onPath.has(node) || node === leaf;
    const { nodes, edges } = this.#collect(isOn);
    this.#drawEdges(edges, isOn, state.hits.size > 0);
    this.placed = nodes;
    for (const node of nodes) {
      node.faded = state.hits.size > 0 && !state.hits.has(node.id) && !isOn(node.id);
      this.#drawNode(node, { on: isOn(node.id), chosen: node.id === state.chosen, hit: state.hits.has(node.id) });
    }
    this.#drawScores(
      edges.filter(({ child }) => isOn(child.id)),
      onPath,
    );
    this.stats = { nodes: nodes.length, edges: edges.length, milliseconds: performance.now() - begin };
  }

  /**
   * Nodes in sight and the edges between them, from the root down.
   * @param {(node: number) => boolean} isOn
   */
  #collect(isOn) {
    /** @type {Box[]} */
    const nodes = [];
    /** @type {Edge[]} */
    const edges = [];
    /** @type {{ id: number, parent: Box | null }[]} */
    const todo = [{ id: this.layout.root, parent: null }];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      const { id, parent } = next,
        position = this.view.position(id);
      if (position === null) continue;
      const node = { id, ...position, ...this.#size(id, position.room), faded: false };
      if (parent !== null) edges.push({ parent, child: node });
      if (node.y > -80 && node.y < this.view.height + 80) nodes.push(node);
      // Below a pixel a subtree is one tick, but the path is followed to its leaf.
      if (id < 0 || node.y > this.view.height + 80) continue;
      for (const child of this.model.children[id])
        if (position.room >= 1.5 || isOn(child)) todo.push({ id: child, parent: node });
    }
    return { nodes, edges };
  }

  /**
   * How a node looks in so much room.
   * @param {number} id
   * @param {number} room
   * @returns {Pick<Box, "look" | "wide" | "tall" | "image">}
   */
  #size(id, room) {
    // A leaf without rows has no mean picture to show.
    const image = this.pictures.has(id) && (id >= 0 || this.facts.rows(id) !== 0) && this.view.step >= 72;
    const wide = Math.min(image ? 150 : 168, room - 8);
    if (wide >= 62) return { look: "card", wide, tall: image ? 52 : 46, image };
    if (wide >= 22) return { look: "chip", wide: Math.min(wide, id < 0 ? 58 : 34), tall: 24, image };
    if (room >= 4)
      return { look: "dot", wide: Math.max(2.5, Math.min(id < 0 ? 14 : 10, room - 2)), tall: id < 0 ? 18 : 10, image };
    return { look: "tick", wide: Math.max(0.6, room - (room > 2 ? 1 : 0)), tall: id < 0 ? 14 : 4, image };
  }

  /**
   * @param {Edge[]} edges
   * @param {(node: number) => boolean} isOn
   * @param {boolean} faded
   */
  #drawEdges(edges, isOn, faded) {
    const { context: c } = this,
      { accent, line } = this.theme.colours;
    c.lineCap = "round";
    for (const pass of ["rest", "path"]) {
      for (const { parent, child } of edges) {
        const on = isOn(parent.id) && isOn(child.id);
        if (on !== (pass === "path")) continue;
        const from = parent.y + parent.tall / 2,
          to = child.y - child.tall / 2,
          middle = (from + to) / 2;
        if (child.look === "tick" && !on) {
          // Upright, as far as anyone can see: a rectangle is far cheaper than a curve.
          c.globalAlpha = 0.4;
          c.fillStyle = line;
          c.fillRect(child.x - 0.3, from, 0.6, to - from);
          continue;
        }
        const share = this.facts.share(child.id);
        c.strokeStyle = on ? accent : line;
        c.globalAlpha = faded && !on ? 0.4 : 1;
        c.lineWidth = on ? 3 : share === null ? 1.4 : 1 + 7 * Math.sqrt(share);
        c.beginPath();
        c.moveTo(parent.x, from);
        c.bezierCurveTo(parent.x, middle, child.x, middle, child.x, to);
        c.stroke();
      }
    }
    c.globalAlpha = 1;
    this.#drawSides(edges);
  }

  /**
   * "no" and "yes", if there is room beside the edges of a card.
   * @param {Edge[]} edges
   */
  #drawSides(edges) {
    const { context: c } = this;
    this.#pen(SMALL, this.theme.colours.soft, "left", "middle");
    for (const { parent, child } of edges) {
      if (parent.look !== "card" || parent.room < 190 || this.view.step < 84) continue;
      const right = this.layout.isRight(child.id);
      c.textAlign = right ? "left" : "right";
      c.fillText(right ? "yes" : "no", parent.x + (right ? 14 : -14), parent.y + parent.tall / 2 + 9);
    }
  }

  /**
   * @param {Box} node
   * @param {{ on: boolean, chosen: boolean, hit: boolean }} marks
   */
  #drawNode(node, marks) {
    const { context: c } = this,
      { accent, ink, mark, soft } = this.theme.colours,
      { x, y, wide, tall, id, look } = node;
    const unreachable = id < 0 && this.facts.isUnreachable(~id),
      small = look === "tick" || look === "dot",
      left = x - wide / 2,
      top = y - tall / 2;
    c.globalAlpha = node.faded ? 0.35 : unreachable ? 0.5 : 1;
    if (marks.on && id >= 0 && small) this.#disc(x, y, 5, accent);
    else if (small && id < 0) {
      const colour = this.facts.leafColour(~id, this.theme.colours);
      if (look === "dot") this.#fillBox(left, top, wide, tall, 3, colour, null);
      else this.#fillRect(left, top, wide, tall, colour);
    } else if (look === "tick") this.#fillRect(left, top, wide, tall, soft);
    else if (look === "dot") this.#disc(x, y, wide / 2, soft);
    else if (look === "chip") this.#drawChip(node, left, top);
    else if (id >= 0) this.#drawSplit(node, left, top);
    else this.#drawLeaf(node, left, top);
    c.globalAlpha = 1;
    if (unreachable) this.#strike(node, left, top);
    if (marks.hit) this.#outline(left - 3, top - 3, wide + 6, tall + 6, mark, 3);
    if (marks.on && (id < 0 || !small)) this.#outline(left, top, wide, tall, accent, 2);
    if (marks.chosen) this.#outline(left - 3, top - 3, Math.max(wide, 4) + 6, tall + 6, ink, 2.5);
  }

  /**
   * A leaf that no input reaches has a dashed edge; if it is too small to say so in words, it is crossed out.
   * @param {Box} node
   * @param {number} left
   * @param {number} top
   */
  #strike({ look, wide, tall, faded }, left, top) {
    const { context: c } = this,
      { soft } = this.theme.colours;
    c.globalAlpha = faded ? 0.35 : 1;
    if (look === "card" || look === "chip") {
      c.setLineDash([4, 3]);
      this.#outline(left, top, wide, tall, soft, 1.2);
      c.setLineDash([]);
    }
    if (look !== "card") {
      c.lineWidth = look === "tick" ? 0.6 : 1.2;
      c.strokeStyle = soft;
      c.beginPath();
      c.moveTo(left, top + tall);
      c.lineTo(left + wide, top);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  /**
   * @param {Box} node
   * @param {number} left
   * @param {number} top
   */
  #drawChip({ id, wide, tall, x, y }, left, top) {
    const { card, ink, line } = this.theme.colours;
    this.#fillBox(left, top, wide, tall, 6, card, line);
    if (id < 0) this.#strip(left, top, tall, ~id);
    this.#pen(SMALL, ink, "center", "middle");
    const text = id < 0 ? this.facts.leafTitle(~id).replace("\u2248 ", "") : String(id);
    const cut = this.#fitText(text, wide - (id < 0 ? 8 : 4));
    if (cut.length > 2 || cut === text) this.context.fillText(cut, x + (id < 0 ? 2 : 0), y + 0.5);
  }

  /**
   * @param {Box} node
   * @param {number} left
   * @param {number} top
   */
  #drawSplit(node, left, top) {
    const { context: c, facts } = this,
      { card, ink, line, soft } = this.theme.colours,
      { id, wide, tall, x } = node;
    this.#fillBox(left, top, wide, tall, 8, card, line);
    let inner = left + 10;
    if (node.image) {
      this.#drawPicture(id, wide < 106 ? x - 21 : left + 6, top + 5);
      if (wide < 106) return;
      inner = left + 56;
    }
    const room = left + wide - 10 - inner,
      n = facts.rows(id),
      rows = n === null ? [] : [plural(n, "row"), countText(n)];
    this.#pen(node.image ? BOLD : NORMAL, ink, "left", "alphabetic");
    const title = node.image ? facts.name(id) : facts.caption(id);
    c.fillText(this.#fitText(title, room), inner, top + (node.image ? 23 : 18));
    this.#pen(SMALL, soft, "left", "alphabetic");
    const bars = facts.bars(id);
    if (node.image) c.fillText(this.#fitFirst(rows, room), inner, top + 39);
    else if (bars.length <= 1) {
      c.fillText(this.#fitFirst(rows.length ? rows : [facts.name(id)], room), inner, top + 35);
    } else {
      const used = this.#drawBars(bars, inner, top + 32, room) + 6;
      if (room - used <= 20) return;
      this.#pen(SMALL, soft, "right", "alphabetic");
      c.fillText(this.#fitFirst([...rows, ""], room - used), inner + room, top + 36);
    }
  }

  /**
   * The largest weights of a split as bars, up or down from a line. Returns their width.
   * @param {number[]} bars
   * @param {number} left
   * @param {number} base
   * @param {number} room
   */
  #drawBars(bars, left, base, room) {
    const { line, minus, plus } = this.theme.colours,
      width = Math.min(9, (room - 2) / bars.length - 2);
    bars.forEach((size, k) => {
      const long = Math.max(1, Math.abs(size) * 9);
      this.#fillRect(left + k * (width + 2), size > 0 ? base - long : base, width, long, size > 0 ? plus : minus);
    });
    this.#fillRect(left, base - 0.5, bars.length * (width + 2) - 2, 1, line);
    return bars.length * (width + 2);
  }

  /**
   * @param {Box} node
   * @param {number} left
   * @param {number} top
   */
  #drawLeaf(node, left, top) {
    const { context: c, facts, model } = this,
      { card, ink, line, soft } = this.theme.colours,
      { id, wide, tall } = node,
      leaf = ~id;
    this.#fillBox(left, top, wide, tall, 8, card, line);
    this.#strip(left, top, tall, leaf);
    let inner = left + 13;
    if (node.image && wide >= 106) {
      this.#drawPicture(id, left + 9, top + 5);
      inner = left + 58;
    }
    const room = left + wide - 8 - inner,
      shift = node.image ? 2 : 0;
    this.#pen(BOLD, ink, "left", "alphabetic");
    const title = this.#fitText(facts.leafTitle(leaf), room),
      free = room - c.measureText(title).width - 8;
    c.fillText(title, inner, top + 18 + shift);
    this.#pen(SMALL, soft, "right", "alphabetic");
    const number = `leaf ${leaf}`;
    const fits = !node.image && c.measureText(number).width <= free;
    if (fits) c.fillText(number, inner + room, top + 18);
    this.#pen(SMALL, soft, "left", "alphabetic");
    const detail = facts.leafDetail(leaf),
      lines = [detail, detail.split(" \u00b7 ")[0]],
      numbered = fits ? [] : lines.map((line) => `${line} \u00b7 ${number}`);
    c.fillText(this.#fitFirst([...numbered, ...lines], room), inner, top + 32 + shift);
    if (model.classes === null) return;
    let at = inner;
    facts.mix(leaf).forEach((share, k) => {
      this.#fillRect(at, top + tall - 8, share * room, 3, facts.classColour(k));
      at += share * room;
    });
  }

  /**
   * The colour of a leaf, along its left side.
   * @param {number} left
   * @param {number} top
   * @param {number} tall
   * @param {number} leaf
   */
  #strip(left, top, tall, leaf) {
    const { context: c } = this;
    c.beginPath();
    c.roundRect(left, top, 5, tall, [5, 0, 0, 5]);
    c.fillStyle = this.facts.leafColour(leaf, this.theme.colours);
    c.fill();
  }

  /**
   * Scores along the path: how far the row is from going the other way.
   * @param {Edge[]} edges
   * @param {Map<number, number>} scores
   */
  #drawScores(edges, scores) {
    const { context: c } = this,
      { accent, back } = this.theme.colours;
    for (const { parent, child } of edges) {
      const score = scores.get(parent.id);
      if (score === undefined) continue;
      const text = (score > 0 ? "+" : "") + numberText(score, 3),
        x = (parent.x + child.x) / 2,
        y = (parent.y + parent.tall / 2 + child.y - child.tall / 2) / 2;
      this.#pen(`600 ${SMALL}`, back, "center", "middle");
      const wide = c.measureText(text).width + 10;
      this.#fillBox(x - wide / 2, y - 8, wide, 16, 8, accent, null);
      c.fillStyle = back;
      c.fillText(text, x, y + 0.5);
    }
  }

  /**
   * @param {number} id
   * @param {number} left
   * @param {number} top
   */
  #drawPicture(id, left, top) {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(this.pictures.ofNode(id), left, top, 42, 42);
  }

  /**
   * How the next texts are written.
   * @param {string} font
   * @param {string} colour
   * @param {CanvasTextAlign} align
   * @param {CanvasTextBaseline} baseline
   */
  #pen(font, colour, align, baseline) {
    Object.assign(this.context, { font, fillStyle: colour, textAlign: align, textBaseline: baseline });
  }

  /**
   * @param {number} left
   * @param {number} top
   * @param {number} wide
   * @param {number} tall
   * @param {number} radius
   */
  #trace(left, top, wide, tall, radius) {
    this.context.beginPath();
    this.context.roundRect(left, top, wide, tall, Math.min(radius, wide / 2, tall / 2));
  }

  /**
   * @param {number} left
   * @param {number} top
   * @param {number} wide
   * @param {number} tall
   * @param {number} radius
   * @param {string} colour
   * @param {string | null} edge
   */
  #fillBox(left, top, wide, tall, radius, colour, edge) {
    const { context: c } = this;
    this.#trace(left, top, wide, tall, radius);
    c.fillStyle = colour;
    c.fill();
    if (edge === null) return;
    c.strokeStyle = edge;
    c.lineWidth = 1;
    c.stroke();
  }

  /**
   * @param {number} left
   * @param {number} top
   * @param {number} wide
   * @param {number} tall
   * @param {string} colour
   */
  #fillRect(left, top, wide, tall, colour) {
    this.context.fillStyle = colour;
    this.context.fillRect(left, top, wide, tall);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   * @param {string} colour
   */
  #disc(x, y, radius, colour) {
    const { context: c } = this;
    c.fillStyle = colour;
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    c.fill();
  }

  /**
   * @param {number} left
   * @param {number} top
   * @param {number} wide
   * @param {number} tall
   * @param {string} colour
   * @param {number} width
   */
  #outline(left, top, wide, tall, colour, width) {
    const { context: c } = this;
    this.#trace(left, top, wide, tall, 9);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.stroke();
  }

  /**
   * Text cut to a width, with dots. It is measured once for each step of four pixels, since zooming passes all widths.
   * @param {string} text
   * @param {number} width
   */
  #fitText(text, width) {
    const c = this.context,
      room = 4 * Math.floor(width / 4),
      key = `${c.font}|${room}|${text}`,
      known = this.#texts.get(key);
    if (known !== undefined) return known;
    if (this.#texts.size > 20000) this.#texts.clear();
    let cut = text;
    if (c.measureText(text).width > room) {
      let low = 0,
        high = Math.min(text.length, 200);
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (c.measureText(`${text.slice(0, middle)}\u2026`).width <= room) low = middle;
        else high = middle - 1;
      }
      cut = low > 0 ? `${text.slice(0, low).trimEnd()}\u2026` : "";
    }
    this.#texts.set(key, cut);
    return cut;
  }

  /**
   * The first of several texts that fits, or the last of them, cut; no text for none.
   * @param {string[]} texts
   * @param {number} room
   */
  #fitFirst(texts, room) {
    return texts.find((text) => this.#fitText(text, room) === text) ?? this.#fitText(texts.at(-1) ?? "", room);
  }

  /**
   * The node at a point of the canvas, or null. A tick is met in a few pixels around it.
   * @param {number} x
   * @param {number} y
   */
  at(x, y) {
    let best = null,
      least = 8;
    for (const node of this.placed) {
      const dx = Math.max(0, Math.abs(x - node.x) - node.wide / 2),
        dy = Math.max(0, Math.abs(y - node.y) - node.tall / 2);
      const away = Math.hypot(dx, dy);
      if (away < least || (away === least && best === null)) {
        best = node.id;
        least = away;
      }
    }
    return best;
  }
}
