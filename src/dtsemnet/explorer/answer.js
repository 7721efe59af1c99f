// The answer to the input, and the way to it.
"use strict";

class AnswerPanel {
  constructor(model, facts, choose) {
    Object.assign(this, { model, facts, choose });
  }

  link(node) {
    const onclick = () => this.choose(node, true);
    return Dom.make("button", { type: "button", class: "link", onclick }, this.facts.name(node));
  }

  showAnswer(root, result) {
    const { model, facts } = this;
    delete root.dataset.leaf;
    if (result.refused) {
      root.replaceChildren(Dom.make("p", { class: "refused" }, `No answer: ${result.refused}.`));
      return;
    }
    root.dataset.leaf = result.leaf;
    const reached = this.link(~result.leaf);
    if (model.classes === null) {
      const shown = result.output.map((value, o) =>
        Dom.make("span", { title: String(value) }, (model.nOutputs > 1 ? `${o}: ` : "") + Words.number(value, 6)),
      );
      root.replaceChildren(
        Dom.make("p", { class: "soft" }, "Prediction, from ", reached),
        Dom.make("p", { class: `big${model.nOutputs > 1 ? " several" : ""}` }, ...shown),
        this.clipped(result) ?? "",
      );
      return;
    }
    const best = Routing.leafClass(model, result.leaf);
    const ranked = result.output
      .map((share, k) => ({ share, k }))
      .sort((a, b) => b.share - a.share || a.k - b.k)
      .filter(({ share }, place) => place < 3 && share > 0);
    root.replaceChildren(
      Dom.make("p", { class: "soft" }, "Prediction, from ", reached),
      Dom.make(
        "p",
        { class: "big" },
        Dom.make("span", { class: "swatch", style: { background: facts.classColour(best) } }),
        model.classes[best],
      ),
      Dom.make(
        "ul",
        { class: "bars" },
        ...ranked.map(({ share, k }) =>
          Dom.bar(model.classes[k], share, Words.percent(share), { colour: facts.classColour(k) }),
        ),
      ),
    );
  }

  // Whether the guard of the leaf holds the answer.
  clipped({ leaf, features }) {
    const { model } = this;
    if (model.coef === null || (model.lower === null && model.upper === null)) return null;
    const ends = Array.from({ length: model.nOutputs }, (_, o) => {
      const at = leaf * model.nOutputs + o,
        raw = Routing.dot(model.coef, at * model.nFeatures, features) + model.value[at];
      return (model.lower !== null && raw < model.lower[at]) || (model.upper !== null && raw > model.upper[at])
        ? raw
        : null;
    });
    if (ends.every((raw) => raw === null)) return null;
    return Dom.make(
      "p",
      { class: "note" },
      `Held by the guard of the leaf; its equation alone says ${ends
        .filter((raw) => raw !== null)
        .map((raw) => Words.number(raw))
        .join(", ")}.`,
    );
  }

  // The splits on the way, each with its score.
  showPath(root, { path, leaf, output }) {
    const { model, facts } = this;
    const far = path.map(({ split, score }) => facts.distance(split, score));
    const most = Math.max(...far.filter(Number.isFinite), Number.MIN_VALUE),
      closest = far.indexOf(Math.min(...far));
    const steps = path.map(({ split, score }, k) =>
      Dom.make(
        "li",
        { class: k === closest ? "closest" : null },
        this.link(split),
        Dom.make("span", { class: "step" }, Words.inequality(model, facts.equation(split), true, 3)),
        Dom.make(
          "span",
          { class: "margin", title: String(score) },
          [
            score > 0 ? "yes" : "no",
            `score ${score > 0 ? "+" : ""}${Words.number(score, 4)}`,
            `distance ${Words.number(far[k], 3)}`,
          ].join(" \u00b7 "),
        ),
        Dom.make(
          "span",
          { class: "bar-track" },
          Dom.make("span", {
            class: `bar-fill${score > 0 ? "" : " minus"}`,
            style: {
              width: `${(50 * Math.min(1, far[k] / most)).toFixed(1)}%`,
              ...(score > 0 ? { left: "50%" } : { right: "50%" }),
            },
          }),
        ),
      ),
    );
    if (leaf !== undefined) {
      const answer =
        model.classes === null ? output.map((value) => Words.number(value)).join(", ") : facts.leafTitle(leaf);
      steps.push(Dom.make("li", {}, this.link(~leaf), Dom.make("span", { class: "step" }, answer)));
    }
    const unit = model.leaves === null ? "in the units of the features" : "with every column measured in its spread";
    root.replaceChildren(
      Dom.make(
        "p",
        { class: "hint" },
        path.length
          ? `Distance is how far the input is from going the other way, ${unit}; the closest split is marked.`
          : "This tree has no split.",
      ),
      Dom.make("ol", { class: "steps" }, ...steps),
    );
  }
}
