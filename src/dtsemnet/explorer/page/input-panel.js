// The input: a box and a slider for each number, a list for each category, a picture to paint on for images, and the
// rows of the data to step through.

/** @import { Facts } from "./facts.js" */
/** @import { Column } from "./model.js" */
/** @import { Pictures } from "./pictures.js" */
/** @import { Result } from "./routing.js" */

/**
 * @typedef {{ select: HTMLSelectElement } |
 *   { select?: undefined, box: HTMLInputElement, slider: HTMLInputElement, missing: HTMLInputElement | null }} Field
 *
 * @typedef {object} Table  the rows of data in the page
 * @property {number[]} number
 * @property {Float64Array} column
 * @property {Float64Array | null} target
 * @property {number} nColumns
 * @property {number} nTargets
 */

import { fill, link, make } from "./elements.js";
import { unpack } from "./model.js";
import { leafClass } from "./routing.js";
import { countText, numberText } from "./text.js";

const AT_FIRST_FIELDS = 40; // fields shown before "Show all"; the columns of wide tables are found by name

export class InputPanel {
  /** @type {Map<number, Field>} */
  #fields = new Map();
  /** @type {number[] | null} */
  #ranking = null;
  #all = false;
  #filter = "";
  /** @type {number | null} */
  #at = null; // the row of the data that is shown, or null after a change by hand
  #last = 0; // the row of the data that was shown last
  #list = make("div", { class: "fields" });
  #box = make("input", { type: "number", min: 1, step: 1, id: "row", "aria-label": "Row of the data" });
  #truth = make("p", { class: "note", id: "truth" });
  #erasing = make("input", { type: "checkbox" });
  /** @type {HTMLCanvasElement | null} */
  #canvas = null;

  /**
   * @param {HTMLElement} root
   * @param {Facts} facts
   * @param {Pictures} pictures
   * @param {() => void} onChange
   */
  constructor(root, facts, pictures, onChange) {
    this.facts = facts;
    this.model = facts.model;
    this.pictures = pictures;
    this.onChange = onChange;
    this.table = this.#readTable();
    this.row = Float64Array.from(this.model.columns, (column) => {
      if (column.categories === null) return column.start;
      return column.categories.length ? 0 : -1;
    });
    fill(root, this.#stepper(), this.#painter(), this.#finder(), this.#list);
    this.#render();
  }

  /** Start with the first row of the data, or the middle of every column. */
  begin() {
    if (this.table !== null) this.#load(0);
    else this.set(this.row);
  }

  /**
   * Make a row the input.
   * @param {ArrayLike<number>} row
   * @param {number | null} at
   */
  set(row, at = null) {
    this.row = Float64Array.from(row);
    this.#at = at;
    for (const c of this.#fields.keys()) this.#refresh(c);
    this.paint();
    this.onChange();
  }

  /** Draw the picture of the input, in the colours of the theme. */
  paint() {
    this.#canvas?.getContext("2d")?.drawImage(this.pictures.ofValues(this.row), 0, 0);
  }

  /**
   * Say what the data say about the row that is shown.
   * @param {Result} result
   */
  showTruth(result) {
    if (this.table === null) return;
    this.#box.value = this.#at === null ? "" : String(this.#at + 1);
    this.#truth.textContent = this.#truthText(this.table, result);
  }

  /**
   * @param {Table} table
   * @param {Result} result
   */
  #truthText({ number, target, nTargets }, result) {
    const at = this.#at,
      { classes } = this.model;
    if (at === null) return "Changed by hand.";
    const name = `X[${number[at]}]`;
    if (target === null) return `${name}.`;
    const truth = Array.from(target.subarray(at * nTargets, (at + 1) * nTargets));
    if (classes === null) return `${name}: target ${truth.map((value) => numberText(value)).join(", ")}.`;
    const text = `${name}: ${classes[truth[0]]}`;
    if (result.leaf === undefined) return `${text}.`;
    return `${text}, predicted ${leafClass(this.model, result.leaf) === truth[0] ? "right" : "wrong"}.`;
  }

  /** @returns {Table | null} */
  #readTable() {
    const { rows } = this.model;
    if (rows === null || !rows.number.length) return null;
    return {
      number: rows.number,
      column: unpack(rows.column),
      target: rows.target && unpack(rows.target),
      nColumns: rows.column.shape[1],
      nTargets: rows.target === null ? 0 : rows.target.shape[1],
    };
  }

  /** @param {number} at */
  #load(at) {
    if (this.table === null) return;
    const { column, nColumns } = this.table;
    this.#last = at;
    this.set(column.subarray(at * nColumns, (at + 1) * nColumns), at);
  }

  #stepper() {
    if (this.table === null || this.model.rows === null) return null;
    const n = this.table.number.length,
      { given } = this.model.rows,
      box = this.#box;
    box.max = String(n);
    box.addEventListener("change", () => {
      this.#load(Math.min(n, Math.max(1, Math.round(Number(box.value) || 1))) - 1);
    });
    /** @type {(text: string, label: string, id: string, step: number) => HTMLElement} */
    const button = (text, label, id, step) => {
      const onclick = () => this.#load((this.#last + step + n) % n);
      return make("button", { type: "button", id, "aria-label": label, onclick }, text);
    };
    return make(
      "div",
      { class: "stepper" },
      make(
        "div",
        { class: "row" },
        make("label", { for: "row" }, "Row"),
        button("\u2039", "Previous row", "row-previous", -1),
        box,
        make("span", { class: "soft" }, `of ${countText(n)}`),
        button("\u203a", "Next row", "row-next", 1),
      ),
      this.#truth,
      n < given
        ? make("p", { class: "soft", id: "cut" }, `${countText(n)} of ${countText(given)} rows are in this page.`)
        : null,
    );
  }

  #finder() {
    if (this.model.columns.length <= 12) return null;
    const finder = make("input", {
      type: "search",
      class: "finder",
      placeholder: "Find a column",
      "aria-label": "Find a column",
      oninput: () => {
        this.#filter = finder.value.trim().toLowerCase();
        this.#render();
      },
    });
    return finder;
  }

  /** Order the columns anew, after another tree has taken the place of the one before. */
  rank() {
    this.#ranking = null;
    this.#render();
  }

  /** Columns by how much they matter over all splits. */
  #rankColumns() {
    const { model, facts } = this,
      size = new Float64Array(model.columns.length);
    for (let i = 0; i < model.nSplits; i++) {
      const share = facts.share(i) ?? 2 ** -facts.layout.depth(i);
      for (let j = 0; j < model.nFeatures; j++) {
        const { column, spread } = model.features[j];
        size[column] += share * Math.abs(model.weight[i * model.nFeatures + j]) * spread;
      }
    }
    return Array.from(size.keys()).sort((a, b) => size[b] - size[a] || a - b);
  }

  #render() {
    const { columns } = this.model;
    const matches = columns.map((column) => column.name.toLowerCase().includes(this.#filter));
    const matching = Array.from(columns.keys()).filter((c) => matches[c]);
    const cut = !this.#all && matching.length > AT_FIRST_FIELDS;
    if (cut) this.#ranking ??= this.#rankColumns();
    const shown = cut ? (this.#ranking ?? []).filter((c) => matches[c]).slice(0, AT_FIRST_FIELDS) : matching;
    this.#fields.clear();
    const showAll = `The ${AT_FIRST_FIELDS} columns that matter most are shown. Show all ${countText(matching.length)}`;
    fill(
      this.#list,
      shown.map((c) => this.#field(c)),
      cut
        ? link(showAll, () => {
            this.#all = true;
            this.#render();
          })
        : null,
    );
    for (const c of shown) this.#refresh(c);
  }

  /** @param {number} c */
  #field(c) {
    const column = this.model.columns[c],
      id = `field-${c}`;
    const label = make("label", { for: id, title: column.name }, column.name);
    if (column.categories !== null) {
      const select = make(
        "select",
        { id, onchange: () => this.#put(c, select.value === "missing" ? NaN : Number(select.value)) },
        column.categories.map((name, k) => make("option", { value: k }, name)),
        make("option", { value: -1 }, "(unknown)"),
        column.missing ? make("option", { value: "missing" }, "(missing)") : null,
      );
      this.#fields.set(c, { select });
      return make("div", { class: "field" }, label, select);
    }
    const box = make("input", {
      type: "number",
      step: "any",
      id,
      oninput: () => this.#put(c, box.value === "" ? NaN : Number(box.value), box),
    });
    const slider = make("input", {
      type: "range",
      min: 0,
      max: 1000,
      step: 1,
      "aria-label": `Slide ${column.name}`,
      oninput: () => this.#put(c, slid(column, Number(slider.value) / 1000), slider),
    });
    // Where training had no missing values, an empty box is enough to leave one out.
    const marks = column.missing === "indicator",
      missing = marks ? make("input", { type: "checkbox", id: `${id}-missing` }) : null;
    missing?.addEventListener("change", () => this.#put(c, missing.checked ? NaN : column.start));
    this.#fields.set(c, { box, slider, missing });
    return make(
      "div",
      { class: "field" },
      label,
      box,
      slider,
      missing ? make("label", { class: "missing", for: `${id}-missing` }, missing, "missing") : null,
    );
  }

  /**
   * Change one column by hand.
   * @param {number} c
   * @param {number} value
   * @param {HTMLInputElement | null} from
   */
  #put(c, value, from = null) {
    this.row[c] = value;
    this.#at = null;
    this.#refresh(c, from);
    this.paint();
    this.onChange();
  }

  /**
   * Put the value of a column into its boxes, but not into the one that is being used.
   * @param {number} c
   * @param {HTMLInputElement | null} from
   */
  #refresh(c, from = null) {
    const field = this.#fields.get(c),
      value = this.row[c],
      column = this.model.columns[c];
    if (field === undefined) return;
    if (field.select) {
      field.select.value = Number.isNaN(value) ? "missing" : String(value);
      return;
    }
    const { box, slider, missing } = field,
      known = !Number.isNaN(value),
      width = column.high - column.low;
    if (from !== box) box.value = known ? (Object.is(value, -0) ? "-0" : String(value)) : "";
    box.setAttribute("aria-invalid", String(!known && !column.missing));
    if (from !== slider)
      slider.value = String(known && width > 0 ? Math.round((1000 * (value - column.low)) / width) : 0);
    if (missing) missing.checked = !known;
    slider.disabled = !known && missing !== null;
  }

  /** A picture to paint on, if columns are pixels. */
  #painter() {
    if (this.model.image === null) return null;
    const [height, width] = this.model.image.shape;
    const label = "The input as a picture; paint on it";
    const canvas = make("canvas", { width, height, class: "picture paint", role: "img", "aria-label": label });
    /** @type {(event: PointerEvent) => void} */
    const stroke = (event) => {
      if (event.buttons === 0) return;
      const box = canvas.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * width,
        y = ((event.clientY - box.top) / box.height) * height;
      this.#brush(x, y, width, height, this.#erasing.checked || event.shiftKey);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      stroke(event);
    });
    canvas.addEventListener("pointermove", stroke);
    this.#canvas = canvas;
    const clear = () => this.set(new Float64Array(width * height).fill(this.pictures.range.low));
    return make(
      "div",
      { class: "painter" },
      canvas,
      make(
        "div",
        { class: "row" },
        make("span", { class: "soft" }, "Paint on the picture."),
        make("label", { class: "missing" }, this.#erasing, "erase"),
        make("button", { type: "button", onclick: clear }, "Clear"),
      ),
    );
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {boolean} erase
   */
  #brush(x, y, width, height, erase) {
    const { low, high } = this.pictures.range;
    for (let r = 0; r < height; r++) {
      for (let s = 0; s < width; s++) {
        const near = Math.max(0, 1.6 - Math.hypot(s + 0.5 - x, r + 0.5 - y)),
          c = r * width + s;
        if (near <= 0) continue;
        this.row[c] = erase ? low : Math.max(this.row[c], Math.round(low + Math.min(1, near) * (high - low)));
        this.#refresh(c);
      }
    }
    this.#at = null;
    this.paint();
    this.onChange();
  }
}

/**
 * The value of a slider, with no more digits than the width of its range calls for.
 * @param {Column} column
 * @param {number} t  between 0 and 1
 */
function slid(column, t) {
  if (t === 0) return column.low;
  if (t === 1) return column.high;
  const width = column.high - column.low,
    value = column.low + t * width;
  if (column.whole) return Math.round(value);
  const digits = 3 - Math.floor(Math.log10(width || 1));
  return digits >= 0 && digits <= 15 ? Number(value.toFixed(digits)) : Number(value.toPrecision(6));
}
