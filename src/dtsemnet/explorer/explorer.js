// The page: reads the model, keeps what is chosen, and hands events on.
"use strict";

window.explorer = (() => {
  const { make, get } = Dom;
  const model = Routing.read(JSON.parse(get("model").textContent));
  const layout = Layout.build(model.children);
  const facts = new Facts(model, layout);
  const view = new Layout.View(layout);
  const canvas = get("tree");
  const drawing = new Drawing(canvas, model, layout, facts, view);
  const state = { result: { path: [] }, chosen: null, hits: new Set(), order: [], at: -1 };
  const nodePanel = new NodePanel(get("node"), model, layout, facts, { choose: (node) => choose(node, true) });
  const answer = new AnswerPanel(model, facts, (node) => choose(node, true));
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

  function say(text) {
    get("say").textContent = text;
  }

  // The input changed: route it, show the answer.
  function changed() {
    state.result = Routing.evaluate(model, whatIf.row);
    whatIf.tell(state.result);
    answer.showAnswer(get("answer"), state.result);
    answer.showPath(get("path"), state.result);
    if (tab === "node") nodePanel.show(state.chosen, state.result, drawing.theme);
    redraw();
  }

  function choose(node, bring = false) {
    state.chosen = node;
    if (node !== null) {
      if (bring) view.show(node);
      openTab("node");
      say(`${facts.line(node)}, depth ${layout.depth(node)}`);
    } else nodePanel.show(null, state.result, drawing.theme);
    redraw();
  }

  function openTab(name) {
    tab = name;
    for (const button of document.querySelectorAll('[role="tab"]')) {
      const open = button.id === `tab-${name}`;
      button.setAttribute("aria-selected", String(open));
      button.tabIndex = open ? 0 : -1;
      get(button.getAttribute("aria-controls")).hidden = !open;
    }
    if (name === "node") nodePanel.show(state.chosen, state.result, drawing.theme);
  }

  function search(query) {
    state.order = facts.find(query);
    state.hits = new Set(state.order);
    state.at = -1;
    get("found").textContent =
      query.trim() === ""
        ? ""
        : state.order.length
          ? Words.plural(state.order.length, "match", "matches")
          : "nothing found";
    redraw();
  }

  function nextHit(step) {
    if (!state.order.length) return;
    state.at = (state.at + step + state.order.length) % state.order.length;
    get("found").textContent = `${state.at + 1} of ${Words.count(state.order.length)}`;
    choose(state.order[state.at], true);
  }

  // Neighbours on the same level, from left to right.
  function beside(node, step) {
    const level = facts.once("levels", () => {
      const rows = Array.from({ length: layout.height + 1 }, () => []);
      for (let i = 0; i < model.nSplits; i++) rows[layout.depth(i)].push(i);
      for (let leaf = 0; leaf < model.nLeaves; leaf++) rows[layout.depth(~leaf)].push(~leaf);
      for (const row of rows) row.sort((a, b) => layout.first(a) - layout.first(b));
      return rows;
    })[layout.depth(node)];
    return level[level.indexOf(node) + step] ?? node;
  }

  function below(node) {
    if (node < 0) return node;
    const met = state.result.path.find(({ split }) => split === node);
    return model.children[node][met && met.score > 0 ? 1 : 0];
  }

  const MOVES = {
    ArrowUp: (node) => layout.parent(node) ?? node,
    ArrowDown: below,
    ArrowLeft: (node) => beside(node, -1),
    ArrowRight: (node) => beside(node, 1),
    Home: () => layout.root,
    End: () => (state.result.leaf === undefined ? layout.root : ~state.result.leaf),
  };
  const ZOOMS = {
    "+": () => view.zoom(1.5),
    "=": () => view.zoom(1.5),
    "-": () => view.zoom(1 / 1.5),
    0: () => view.fit(),
  };

  function onKey(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName),
      help = get("help");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (help.open) return; // the dialog closes itself
      if (event.target === get("search") || state.hits.size) {
        get("search").value = "";
        search("");
      } else choose(null);
      canvas.focus();
    } else if (typing || help.open) return;
    else if (event.key === "/") {
      get("search").focus();
      get("search").select();
    } else if (event.key === "?") help.showModal();
    else if (ZOOMS[event.key]) {
      ZOOMS[event.key]();
      redraw();
    } else if (MOVES[event.key] && event.target === canvas)
      choose(state.chosen === null ? layout.root : MOVES[event.key](state.chosen), true);
    else return;
    event.preventDefault();
  }

  function listen() {
    listenToCanvas(canvas, { view, drawing, layout, facts, redraw, choose });
    document.addEventListener("keydown", onKey);
    get("search").addEventListener("input", (event) => search(event.target.value));
    get("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        nextHit(event.shiftKey ? -1 : 1);
      }
    });
    for (const [id, act] of [
      ["zoom-in", "+"],
      ["zoom-out", "-"],
      ["zoom-fit", "0"],
    ])
      get(id).addEventListener("click", () => {
        ZOOMS[act]();
        redraw();
      });
    const tabs = [...document.querySelectorAll('[role="tab"]')];
    tabs.forEach((button, k) => {
      button.addEventListener("click", () => openTab(button.id.slice(4)));
      button.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (step === undefined) return;
        const next = tabs[(k + step + tabs.length) % tabs.length];
        openTab(next.id.slice(4));
        next.focus();
      });
    });
    get("keys").addEventListener("click", () => get("help").showModal());
    get("help-close").addEventListener("click", () => get("help").close());
    new ResizeObserver(() => {
      drawing.resize();
      drawing.draw(state);
    }).observe(canvas);
  }

  // The system's theme until the button is used; paper is always light.
  function followSystem() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setTheme(dark.matches ? "dark" : "light");
    let chosen = null;
    follow();
    dark.addEventListener("change", follow);
    get("theme").addEventListener("click", () => {
      dark.removeEventListener("change", follow);
      setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    });
    window.addEventListener("beforeprint", () => {
      chosen = document.documentElement.dataset.theme;
      setTheme("light");
      drawing.draw(state);
    });
    window.addEventListener("afterprint", () => setTheme(chosen));
  }

  function setTheme(name) {
    document.documentElement.dataset.theme = name;
    get("theme").setAttribute("aria-pressed", String(name === "dark"));
    drawing.readTheme();
    whatIf.theme = drawing.theme;
    whatIf.paint();
    if (tab === "node") nodePanel.show(state.chosen, state.result, drawing.theme);
    showLegend();
    redraw();
  }

  function showLegend() {
    const swatch = (background) => make("span", { class: "swatch", style: { background } });
    let entries = [];
    if (model.classes !== null) {
      entries = model.classes
        .slice(0, 12)
        .map((name, k) =>
          make("li", { title: name }, swatch(facts.classColour(k)), make("span", { class: "cut" }, name)),
        );
      if (model.classes.length > 12)
        entries.push(make("li", { class: "soft" }, `and ${model.classes.length - 12} more`));
    } else if (facts.levels.some((level) => level !== null)) {
      const { low, high } = facts.range(),
        [from, to] = drawing.theme.ramp.map((colour) => `rgb(${colour.join(",")})`);
      entries = [
        make(
          "li",
          {},
          model.nOutputs > 1 ? "output 0:\u2002" : null,
          Words.number(low, 3),
          make("span", { class: "ramp", style: { background: `linear-gradient(90deg, ${from}, ${to})` } }),
          Words.number(high, 3),
        ),
      ];
    }
    get("legend").replaceChildren(...entries);
  }

  get("summary").textContent = facts.summary();
  const whatIf = new WhatIf(get("whatif"), model, facts, changed);
  listen();
  followSystem();
  drawing.resize();
  whatIf.begin();
  return {
    model,
    view,
    drawing,
    state,
    choose,
    evaluate: (row) => Routing.evaluate(model, row),
    set: (row) => whatIf.set(row),
  };
})();
