// The panel on one node: a split's equation and weights, a leaf's region, rows, metrics and answer.
"use strict";

class NodePanel {
  constructor(root, model, layout, facts, actions) {
    Object.assign(this, { root, model, layout, facts, actions, order: "influence", all: false });
  }

  show(node, result, theme) {
    Object.assign(this, { node, result, theme });
    if (node === null) {
      this.root.replaceChildren(
        Dom.make("p", { class: "hint" }, "Click a split or a leaf of the tree, or move with the arrow keys."),
      );
      return;
    }
    const part = node >= 0 ? this.split(node) : this.leaf(~node);
    this.root.replaceChildren(this.head(node), ...part.filter((element) => element !== null));
  }

  head(node) {
    const { facts, layout } = this,
      n = facts.rows(node);
    const parts = [`depth ${layout.depth(node)}`];
    if (n !== null) parts.push(`${Words.plural(n, "row")} (${Words.percent(facts.share(node) ?? 0)})`);
    const up = layout.parent(node);
    return Dom.make(
      "div",
      { class: "node-head" },
      Dom.make("h2", {}, facts.name(node)),
      Dom.make("span", { class: "soft" }, parts.join(" \u00b7 ")),
      up === null ? null : this.link(up, "parent"),
    );
  }

  link(node, text) {
    return Dom.make("button", { type: "button", class: "link", onclick: () => this.actions.choose(node) }, text);
  }

  split(split) {
    const { model, facts, result } = this,
      equation = facts.equation(split);
    const many = equation.terms.length > 20;
    const met = result.path.find((step) => step.split === split);
    const [left, right] = model.children[split];
    return [
      model.image === null
        ? null
        : this.figure(
            split,
            model.leaves === null ? "Weights, pixel by pixel" : "Weights, each times the spread of its pixel",
          ),
      this.section(
        "Goes right if",
        Dom.make("p", { class: "equation" }, Words.inequality(model, equation, true, many ? 6 : Infinity)),
      ),
      met
        ? Dom.make(
            "p",
            { class: "note" },
            `Score of the input: ${Words.number(met.score, 5)}, so it goes ${met.score > 0 ? "right" : "left"}.`,
          )
        : null,
      Dom.make(
        "p",
        { class: "links" },
        "no \u2192 ",
        this.link(left, facts.name(left)),
        "\u2003yes \u2192 ",
        this.link(right, facts.name(right)),
      ),
      equation.terms.length ? this.weights(equation, "Weights") : null,
    ];
  }

  section(title, ...children) {
    return Dom.make("section", {}, Dom.make("h3", {}, title), ...children);
  }

  figure(node, label) {
    const canvas = Pictures.ofNode(this.model, this.facts, node, this.theme);
    canvas.className = "picture";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    return Dom.make("figure", {}, canvas, Dom.make("figcaption", { class: "soft" }, label));
  }

  // Weights as bars, in raw units; the order by influence is weight times the spread of the column.
  weights(equation, title) {
    const terms = [...equation.terms];
    const spread = this.model.leaves !== null;
    if (this.order === "column") terms.sort((a, b) => a.feature - b.feature);
    if (this.order === "weight") terms.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
    const size = (term) => (this.order === "influence" ? Math.sign(term.weight) * term.influence : term.weight);
    const most = Math.max(...terms.map((term) => Math.abs(size(term))), Number.MIN_VALUE);
    const shown = this.all ? terms : terms.slice(0, 10);
    const choices = [
      ["influence", spread ? "weight \u00d7 spread" : "influence"],
      ["weight", "weight"],
      ["column", "column"],
    ];
    const select = Dom.make(
      "select",
      {
        "aria-label": "Order of the weights",
        onchange: (event) => {
          this.order = event.target.value;
          this.again();
        },
      },
      ...choices.map(([value, text]) => Dom.make("option", { value, selected: value === this.order }, text)),
    );
    const list = Dom.make(
      "ul",
      { class: "bars weights" },
      ...shown.map((term) =>
        Dom.bar(term.label, size(term) / most, Words.number(term.weight), {
          signed: true,
          title: `${term.label}: ${term.weight}`,
        }),
      ),
    );
    const rest = terms.length - shown.length;
    const more =
      rest > 0 || (this.all && terms.length > 10)
        ? Dom.make(
            "button",
            {
              type: "button",
              class: "link",
              onclick: () => {
                this.all = !this.all;
                this.again();
              },
            },
            rest > 0 ? `Show all ${Words.count(terms.length)}` : "Show the largest",
          )
        : null;
    const head = Dom.make("div", { class: "row" }, Dom.make("h3", {}, title), select);
    return Dom.make("section", {}, head, list, more);
  }

  again() {
    this.show(this.node, this.result, this.theme);
  }

  leaf(leaf) {
    const { model, facts } = this;
    const lines = Words.region(model, (split) => facts.equation(split), facts.steps(~leaf));
    const region = lines.length
      ? Dom.make(
          "ul",
          { class: "region" },
          ...lines.map(({ text, split }) =>
            Dom.make(
              "li",
              {},
              text,
              split === null ? null : Dom.make("span", { class: "origin" }, this.link(split, facts.name(split))),
            ),
          ),
        )
      : Dom.make("p", { class: "soft" }, "All inputs.");
    return [
      model.image !== null && model.image.mean !== null && facts.rows(~leaf) > 0
        ? this.figure(~leaf, "Mean of the rows")
        : null,
      ...(model.classes === null ? this.numbers(leaf) : this.classes(leaf)),
      facts.proof(leaf) === null ? null : this.section("Proofs", this.note(facts.proof(leaf))),
      this.section(lines.length > 1 ? "Rows come here if all hold" : "Rows come here if", region),
    ];
  }

  classes(leaf) {
    const { model, facts } = this,
      best = Routing.leafClass(model, leaf),
      n = facts.rows(~leaf);
    const counted = model.leaves !== null && model.leaves.mix && n > 0;
    const right = counted ? model.leaves.right[leaf] : null;
    const found = [
      Dom.make(
        "p",
        { class: "big" },
        Dom.make("span", { class: "swatch", style: { background: facts.classColour(best) } }),
        model.classes[best],
      ),
    ];
    if (counted)
      found.push(
        Dom.make(
          "p",
          { class: "note" },
          `${Words.count(right)} of ${Words.plural(n, "row")} right: accuracy ${Words.percent(right / n)}.`,
        ),
      );
    else if (n === 0) found.push(Dom.make("p", { class: "note" }, "None of the rows given comes here."));
    const bars = (shares, text) =>
      Dom.make(
        "ul",
        { class: "bars" },
        ...shares
          .map((share, k) => ({ share, k }))
          .filter(({ share }) => share > 0)
          .sort((a, b) => b.share - a.share)
          .map(({ share, k }) => Dom.bar(model.classes[k], share, text(share, k), { colour: facts.classColour(k) })),
      );
    if (counted)
      found.push(
        this.section(
          "Classes of the rows",
          bars(facts.mix(leaf), (share, k) => Words.count(model.leaves.mix[leaf][k])),
        ),
      );
    const own = Array.from(model.value.subarray(leaf * model.nOutputs, (leaf + 1) * model.nOutputs));
    found.push(
      this.section(
        "Probabilities",
        bars(own, (share) => Words.percent(share)),
      ),
    );
    return found;
  }

  numbers(leaf) {
    const { model, facts } = this,
      { leaves } = model,
      found = [];
    if (leaves !== null && leaves.error && leaves.error[leaf]) {
      const parts = [
        ["RMSE", leaves.error],
        ["mean target", leaves.target],
        ["mean prediction", leaves.level],
      ].map(([name, of]) => `${name} ${of[leaf].map((value) => Words.number(value)).join(", ")}`);
      found.push(this.note(`${parts.join("; ")}.`));
    } else if (facts.rows(~leaf) === 0) found.push(this.note("None of the rows given comes here."));
    for (let o = 0; o < model.nOutputs; o++) found.push(...this.output(leaf, o));
    return found;
  }

  // The equation of one output, and what bounds it.
  output(leaf, o) {
    const { model } = this,
      several = model.nOutputs > 1;
    const equation = this.facts.answer(leaf, o),
      at = leaf * model.nOutputs + o;
    const parts = [Dom.make("p", { class: "equation" }, Words.sum(equation, 6))];
    if (model.lower !== null || model.upper !== null) {
      const [low, high] = [model.lower ? model.lower[at] : -Infinity, model.upper ? model.upper[at] : Infinity];
      parts.push(this.note(`Guard: kept within ${Words.number(low)} and ${Words.number(high)}.`));
    }
    if (model.squash !== null) {
      const [low, high] = [model.squash.low[o], model.squash.high[o]];
      parts.push(this.note(`Squashed by tanh into ${Words.number(low)} to ${Words.number(high)}.`));
    }
    const found = [this.section(several ? `Output ${o}` : "Answer", ...parts)];
    if (equation.terms.length) {
      found.push(this.weights(equation, several ? `Coefficients of output ${o}` : "Coefficients"));
    }
    return found;
  }

  note(text) {
    return Dom.make("p", { class: "note" }, text);
  }
}
