// The page: reads the model, keeps what is chosen, and connects the parts.

/** @import { Result } from "./routing.js" */

import { AnswerPanel } from "./answer-panel.js";
import { Drawing } from "./drawing.js";
import { fill, get, make, swatch } from "./elements.js";
import { Facts } from "./facts.js";
import { listenToCanvas } from "./gestures.js";
import { InputPanel } from "./input-panel.js";
import { Layout, View } from "./layout.js";
import { readModel, unpack } from "./model.js";
import { NodePanel } from "./node-panel.js";
import { Outline } from "./outline.js";
import { Pictures } from "./pictures.js";
import { evaluate } from "./routing.js";
import { countText, numberText, plural } from "./text.js";
import { Theme } from "./theme.js";
import { PathSlider } from "./tree-path.js";

const LISTED = 12; // classes in the legend

function openPage() {
  const description = JSON.parse(get("model").textContent ?? ""),
    model = readModel(description),
    layout = new Layout(model.children),
    facts = new Facts(model, layout),
    view = new View(layout),
    theme = new Theme(),
    pictures = new Pictures(model, theme),
    canvas = /** @type {HTMLCanvasElement} */ (get("drawing")),
    searchBox = /** @type {HTMLInputElement} */ (get("search")),
    help = /** @type {HTMLDialogElement} */ (get("help")),
    tabs = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[role="tab"]')]);
  const drawing = new Drawing(canvas, facts, view, pictures, theme),
    outline = new Outline(get("tree"), facts),
    nodePanel = new NodePanel(get("node"), facts, pictures, (node) => choose(node, true)),
    answerPanel = new AnswerPanel(facts, (node) => choose(node, true)),
    inputPanel = new InputPanel(get("whatif"), facts, pictures, changed);
  /** @type {{ result: Result, chosen: number | null, hits: Set<number>, order: number[], at: number }} */
  const state = { result: { path: [] }, chosen: null, hits: new Set(), order: [], at: -1 };
  let waiting = false,
    tab = "whatif";

  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawing.draw(state);
    });
  }

  /** Route the input after a change, and show the answer. */
  function changed() {
    state.result = evaluate(model, inputPanel.row);
    inputPanel.showTruth(state.result);
    answerPanel.showAnswer(get("answer"), state.result);
    answerPanel.showPath(get("path"), state.result);
    if (tab === "node") nodePanel.show(state.chosen, state.result);
    outline.show(state);
    redraw();
  }

  /**
   * Show another tree of the path, with the same input.
   * @param {number} at
   */
  function moveTo(at) {
    const { tree } = description.path.steps[at];
    Object.assign(model, readModel({ ...description, ...tree }));
    layout.read(model.children);
    facts.read();
    pictures.forget();
    state.chosen = null;
    nodePanel.show(null, state.result);
    view.isFitted = true;
    drawing.resize();
    inputPanel.rank();
    search(searchBox.value);
    get("summary").textContent = facts.summary();
    showLegend();
    changed();
  }

  /** @type {(node: number | null, bring?: boolean) => void} */
  function choose(node, bring = false) {
    state.chosen = node;
    if (node !== null) {
      if (bring) view.show(node);
      openTab("node");
      // A screen reader reads out the item of the outline, if the outline has the focus.
      if (!outline.hasFocus) get("say").textContent = `${facts.line(node)}, depth ${layout.depth(node)}`;
    } else nodePanel.show(null, state.result);
    outline.show(state);
    redraw();
  }

  /** @param {string} name */
  function openTab(name) {
    tab = name;
    for (const button of tabs) {
      const open = button.id === `tab-${name}`;
      button.setAttribute("aria-selected", String(open));
      button.tabIndex = open ? 0 : -1;
      get(button.getAttribute("aria-controls") ?? "").hidden = !open;
    }
    if (name === "node") nodePanel.show(state.chosen, state.result);
  }

  /** @param {string} query */
  function search(query) {
    state.order = facts.find(query);
    state.hits = new Set(state.order);
    state.at = -1;
    const n = state.order.length;
    get("found").textContent = query.trim() === "" ? "" : n ? plural(n, "match", "matches") : "nothing found";
    redraw();
  }

  /** @param {number} step */
  function nextHit(step) {
    const n = state.order.length;
    if (!n) return;
    state.at = state.at < 0 && step < 0 ? n - 1 : (state.at + step + n) % n;
    get("found").textContent = `${state.at + 1} of ${countText(n)}`;
    choose(state.order[state.at], true);
  }

  /**
   * The child of a split: on the path, if the split is on it, otherwise the left one.
   * @param {number} node
   */
  function below(node) {
    if (node < 0) return node;
    const met = state.result.path.find(({ split }) => split === node);
    return model.children[node][met && met.score > 0 ? 1 : 0];
  }

  /** @type {Record<string, (node: number) => number>} */
  const MOVES = {
    ArrowUp: (node) => layout.parent(node) ?? node,
    ArrowDown: below,
    ArrowLeft: (node) => layout.beside(node, -1),
    ArrowRight: (node) => layout.beside(node, 1),
    Home: () => layout.root,
    End: () => (state.result.leaf === undefined ? layout.root : ~state.result.leaf),
  };
  /** @type {Record<string, () => void>} */
  const ZOOMS = {
    "+": () => view.zoom(1.5),
    "=": () => view.zoom(1.5),
    "-": () => view.zoom(1 / 1.5),
    0: () => view.fit(),
  };

  /** @param {string} key */
  function zoom(key) {
    ZOOMS[key]();
    redraw();
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target),
      typing = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName),
      { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "Escape") {
      if (help.open) return; // the dialog closes itself
      if (target === searchBox || state.hits.size) {
        searchBox.value = "";
        search("");
      } else choose(null);
      outline.focus();
    } else if (typing || help.open) return;
    else if (key === "/") {
      searchBox.focus();
      searchBox.select();
    } else if (key === "?") help.showModal();
    else if (key in ZOOMS) zoom(key);
    else if (key in MOVES && outline.hasFocus)
      choose(state.chosen === null ? layout.root : MOVES[key](state.chosen), true);
    else return;
    event.preventDefault();
  }

  function listen() {
    listenToCanvas(drawing, { redraw, choose, focus: () => outline.focus() });
    document.addEventListener("keydown", onKey);
    searchBox.addEventListener("input", () => search(searchBox.value));
    searchBox.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      nextHit(event.shiftKey ? -1 : 1);
    });
    get("zoom-in").addEventListener("click", () => zoom("+"));
    get("zoom-out").addEventListener("click", () => zoom("-"));
    get("zoom-fit").addEventListener("click", () => zoom("0"));
    tabs.forEach((button, k) => {
      button.addEventListener("click", () => openTab(button.id.slice("tab-".length)));
      button.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (step === undefined) return;
        const next = tabs[(k + step + tabs.length) % tabs.length];
        openTab(next.id.slice("tab-".length));
        next.focus();
      });
    });
    get("keys").addEventListener("click", () => help.showModal());
    get("help-close").addEventListener("click", () => help.close());
    new ResizeObserver(() => {
      drawing.resize();
      drawing.draw(state);
    }).observe(canvas);
  }

  function repaint() {
    get("theme").setAttribute("aria-pressed", String(theme.isDark));
    inputPanel.paint();
    if (tab === "node") nodePanel.show(state.chosen, state.result);
    showLegend();
    drawing.draw(state);
  }

  function showLegend() {
    const { classes } = model;
    if (classes !== null) {
      const more = classes.length - LISTED;
      fill(
        get("legend"),
        classes
          .slice(0, LISTED)
          .map((name, k) =>
            make("li", { title: name }, swatch(facts.classColour(k)), make("span", { class: "cut" }, name)),
          ),
        more > 0 ? make("li", { class: "soft" }, `and ${more} more`) : null,
      );
    } else if (facts.leafRange !== null) {
      const { low, high } = facts.leafRange,
        ends = theme.colours.ramp.map((colour) => `rgb(${colour.join(",")})`);
      fill(
        get("legend"),
        make(
          "li",
          {},
          model.nOutputs > 1 ? "output 0:\u2002" : null,
          numberText(low, 3),
          make("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${ends.join(", ")})` } }),
          numberText(high, 3),
        ),
      );
    }
  }

  get("summary").textContent = facts.summary();
  if (description.path) new PathSlider(get("sparsity"), description.path, moveTo);
  listen();
  drawing.resize();
  theme.onChange(repaint);
  theme.follow(get("theme"));
  inputPanel.begin();
  get("blocked").remove(); // what the page says if no script runs
  return {
    model,
    view,
    drawing,
    state,
    choose,
    moveTo,
    read: readModel,
    unpack,
    /** @type {(row: ArrayLike<number>, other?: typeof model) => Result} */
    evaluate: (row, other = model) => evaluate(other, row),
    /** @type {(row: ArrayLike<number>) => void} */
    set: (row) => inputPanel.set(row),
  };
}

// For the console of the browser, and for tests.
Object.assign(window, { explorer: openPage() });
