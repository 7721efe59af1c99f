// The input: a box and a slider for each number, a list for each category, a picture to paint on for images, and the
// rows of the data to step through.
"use strict";

class WhatIf {
  static MOST = 40; // boxes shown at first; wide tables are found by name

  constructor(root, model, facts, change) {
    Object.assign(this, { root, model, facts, change, all: false, filter: "", fields: new Map() });
    this.row = Float64Array.from(model.columns, (column) => {
      if (column.categories === null) return column.start;
      return column.categories.length ? 0 : -1;
    });
    this.data = null;
    if (model.rows !== null && model.rows.number.length) {
      this.data = {
        number: model.rows.number,
        column: Routing.unpack(model.rows.column),
        target: Routing.unpack(model.rows.target),
      };
      this.width = model.rows.column.shape[1];
      this.targets = model.rows.target === null ? 0 : model.rows.target.shape[1];
    }
    this.at = null; // the row of the data that is shown, if any, and the last one that was
    this.last = 0;
    this.list = Dom.make("div", { class: "fields" });
    this.root.replaceChildren(
      ...[this.stepper(), this.painter(), this.finder(), this.list].filter((part) => part !== null),
    );
    this.render();
  }

  // The first row of the data, or the middle of every column.
  begin() {
    if (this.data !== null) this.load(0);
    else this.set(this.row);
  }

  // Columns by how much they matter over all splits.
  get ranking() {
    if (this.ranked === undefined) {
      const { model } = this,
        size = new Float64Array(model.columns.length);
      for (let i = 0; i < model.nSplits; i++) {
        const share = this.facts.share(i) ?? 2 ** -this.facts.layout.depth(i);
        for (let j = 0; j < model.nFeatures; j++) {
          size[model.features[j].column] +=
            share * Math.abs(model.weight[i * model.nFeatures + j]) * model.features[j].spread;
        }
      }
      this.ranked = Array.from(size.keys()).sort((a, b) => size[b] - size[a] || a - b);
    }
    return this.ranked;
  }

  // Rows of the data.
  stepper() {
    if (this.data === null) return null;
    const n = this.data.number.length,
      { given } = this.model.rows;
    this.box = Dom.make("input", {
      type: "number",
      min: 1,
      max: n,
      step: 1,
      id: "row",
      "aria-label": "Row of the data",
      onchange: () => this.load(Math.min(n, Math.max(1, Math.round(Number(this.box.value) || 1))) - 1),
    });
    this.truth = Dom.make("p", { class: "note", id: "truth" });
    const button = (text, label, id, step) =>
      Dom.make(
        "button",
        { type: "button", id, "aria-label": label, onclick: () => this.load((this.last + step + n) % n) },
        text,
      );
    const remark =
      n < given
        ? Dom.make(
            "p",
            { class: "soft", id: "cut" },
            `${Words.count(n)} of ${Words.count(given)} rows are in this page.`,
          )
        : null;
    return Dom.make(
      "div",
      { class: "stepper" },
      Dom.make(
        "div",
        { class: "row" },
        Dom.make("label", { for: "row" }, "Row"),
        button("\u2039", "Previous row", "row-previous", -1),
        this.box,
        Dom.make("span", { class: "soft" }, `of ${Words.count(n)}`),
        button("\u203a", "Next row", "row-next", 1),
      ),
      this.truth,
      remark,
    );
  }

  load(at) {
    this.last = at;
    this.set(this.data.column.subarray(at * this.width, (at + 1) * this.width), at);
  }

  // Say what the data say about the row that is shown.
  tell(result) {
    if (this.data === null) return;
    this.box.value = this.at === null ? "" : this.at + 1;
    if (this.at === null) {
      this.truth.textContent = "Changed by hand.";
      return;
    }
    const number = `X[${this.data.number[this.at]}]`;
    if (this.data.target === null) {
      this.truth.textContent = `${number}.`;
      return;
    }
    const target = Array.from(this.data.target.subarray(this.at * this.targets, (this.at + 1) * this.targets));
    if (this.model.classes === null)
      this.truth.textContent = `${number}: target ${target.map((v) => Words.number(v)).join(", ")}.`;
    else {
      const right = result.leaf !== undefined && Routing.leafClass(this.model, result.leaf) === target[0];
      const judged = result.leaf === undefined ? "" : right ? ", predicted right" : ", predicted wrong";
      this.truth.textContent = `${number}: ${this.model.classes[target[0]]}${judged}.`;
    }
  }

  finder() {
    if (this.model.columns.length <= 12) return null;
    return Dom.make("input", {
      type: "search",
      class: "finder",
      placeholder: "Find a column",
      "aria-label": "Find a column",
      oninput: (event) => {
        this.filter = event.target.value.trim().toLowerCase();
        this.render();
      },
    });
  }

  render() {
    const { columns } = this.model;
    let shown = Array.from(columns.keys());
    const matching = shown.filter((c) => columns[c].name.toLowerCase().includes(this.filter));
    shown = matching;
    const cut = !this.all && matching.length > WhatIf.MOST;
    if (cut) {
      const kept = new Set(this.ranking.filter((c) => matching.includes(c)).slice(0, WhatIf.MOST));
      shown = this.ranking.filter((c) => kept.has(c));
    }
    this.fields.clear();
    const fields = shown.map((c) => this.field(c));
    const more = cut
      ? Dom.make(
          "button",
          {
            type: "button",
            class: "link",
            onclick: () => {
              this.all = true;
              this.render();
            },
          },
          `The ${WhatIf.MOST} columns that matter most are shown. Show all ${Words.count(matching.length)}`,
        )
      : null;
    this.list.replaceChildren(...fields, ...(more ? [more] : []));
    shown.forEach((c) => this.refresh(c));
  }

  field(c) {
    const column = this.model.columns[c],
      id = `field-${c}`;
    const label = Dom.make("label", { for: id, title: column.name }, column.name);
    if (column.categories !== null) {
      const select = Dom.make(
        "select",
        { id, onchange: () => this.put(c, select.value === "missing" ? NaN : Number(select.value)) },
        ...column.categories.map((name, k) => Dom.make("option", { value: k }, name)),
        Dom.make("option", { value: -1 }, "(unknown)"),
        column.missing ? Dom.make("option", { value: "missing" }, "(missing)") : null,
      );
      this.fields.set(c, { select });
      return Dom.make("div", { class: "field" }, label, select);
    }
    const box = Dom.make("input", {
      type: "number",
      step: "any",
      id,
      oninput: () => this.put(c, box.value === "" ? NaN : Number(box.value), box),
    });
    const slider = Dom.make("input", {
      type: "range",
      min: 0,
      max: 1000,
      step: 1,
      "aria-label": `Slide ${column.name}`,
      oninput: () => this.put(c, this.slid(column, Number(slider.value) / 1000), slider),
    });
    let missing = null;
    if (column.missing) {
      missing = Dom.make("input", {
        type: "checkbox",
        id: `${id}-missing`,
        onchange: () => this.put(c, missing.checked ? NaN : column.start),
      });
    }
    this.fields.set(c, { box, slider, missing });
    return Dom.make(
      "div",
      { class: "field" },
      label,
      box,
      slider,
      missing ? Dom.make("label", { class: "missing", for: `${id}-missing` }, missing, "missing") : null,
    );
  }

  // A slider's value, with no more digits than the width of its range calls for.
  slid(column, t) {
    if (t === 0) return column.low;
    if (t === 1) return column.high;
    const width = column.high - column.low,
      value = column.low + t * width;
    if (column.whole) return Math.round(value);
    const digits = 3 - Math.floor(Math.log10(width || 1));
    return digits >= 0 && digits <= 15 ? Number(value.toFixed(digits)) : Number(value.toPrecision(6));
  }

  put(c, value, from = null) {
    this.row[c] = value;
    this.at = null;
    this.refresh(c, from);
    this.paint();
    this.change();
  }

  set(row, at = null) {
    this.row = Float64Array.from(row);
    this.at = at;
    for (const c of this.fields.keys()) this.refresh(c);
    this.paint();
    this.change();
  }

  // Put the value of a column into its boxes, but not into the one that is being typed in.
  refresh(c, from = null) {
    const field = this.fields.get(c),
      value = this.row[c],
      column = this.model.columns[c];
    if (field === undefined) return;
    if (field.select) {
      field.select.value = Number.isNaN(value) ? "missing" : String(value);
      return;
    }
    const known = !Number.isNaN(value);
    if (from !== field.box) field.box.value = known ? (Object.is(value, -0) ? "-0" : String(value)) : "";
    field.box.setAttribute("aria-invalid", String(!known && !column.missing));
    if (from !== field.slider)
      field.slider.value =
        known && column.high > column.low ? Math.round((1000 * (value - column.low)) / (column.high - column.low)) : 0;
    if (field.missing) field.missing.checked = !known;
    field.slider.disabled = !known && column.missing;
  }

  // A picture to paint on, for image-like columns.
  painter() {
    if (this.model.image === null) return null;
    const [height, width] = this.model.image.shape;
    this.canvas = Dom.make("canvas", {
      width,
      height,
      class: "picture paint",
      role: "img",
      "aria-label": "The input as a picture; paint on it",
    });
    this.ends = Pictures.range(this.model);
    this.erasing = Dom.make("input", { type: "checkbox" });
    const stroke = (event) => {
      if (event.buttons === 0) return;
      const box = this.canvas.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * width,
        y = ((event.clientY - box.top) / box.height) * height;
      this.brush(x, y, width, height, this.erasing.checked || event.shiftKey);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      stroke(event);
    });
    this.canvas.addEventListener("pointermove", stroke);
    const clear = Dom.make(
      "button",
      { type: "button", onclick: () => this.set(new Float64Array(width * height).fill(this.ends.low)) },
      "Clear",
    );
    return Dom.make(
      "div",
      { class: "painter" },
      this.canvas,
      Dom.make(
        "div",
        { class: "row" },
        Dom.make("span", { class: "soft" }, "Paint on the picture."),
        Dom.make("label", { class: "missing" }, this.erasing, "erase"),
        clear,
      ),
    );
  }

  brush(x, y, width, height, erase) {
    const { low, high } = this.ends;
    for (let r = 0; r < height; r++) {
      for (let s = 0; s < width; s++) {
        const near = Math.max(0, 1.6 - Math.hypot(s + 0.5 - x, r + 0.5 - y)),
          c = r * width + s;
        if (near <= 0) continue;
        this.row[c] = erase ? low : Math.max(this.row[c], Math.round(low + Math.min(1, near) * (high - low)));
        this.refresh(c);
      }
    }
    this.at = null;
    this.paint();
    this.change();
  }

  paint() {
    if (!this.canvas || !this.theme) return;
    this.canvas
      .getContext("2d")
      .drawImage(Pictures.ofValues(this.model, this.row, this.ends.low, this.ends.high, this.theme), 0, 0);
  }
}
