// Elements, made from names and text alone: no string is ever read as markup.

/** @typedef {Node | string | null | undefined | Child[]} Child  lists are flattened, null and undefined left out */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} attributes  "on..." are listeners, "style" is an object
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === "style") Object.assign(element.style, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  addTo(element, children);
  return element;
}

/**
 * Replace all that is in an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  const content = document.createDocumentFragment();
  addTo(content, children);
  element.replaceChildren(content);
}

/**
 * The element of the page that has an id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function get(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element;
}

/**
 * A button that looks like a link.
 * @param {string} text
 * @param {() => void} onclick
 */
export function link(text, onclick) {
  return make("button", { type: "button", class: "link", onclick }, text);
}

/**
 * A small square in a colour.
 * @param {string} colour
 */
export function swatch(colour) {
  return make("span", { class: "swatch", style: { background: colour } });
}

/**
 * Pieces of text, between which alone a line is broken.
 * @param {string[]} parts
 * @returns {Child[]}
 */
export function phrase(parts) {
  return parts.map((part, k) => [k ? " " : "", make("span", { class: "part" }, part)]);
}

/**
 * A bar of a chart: label, length between 0 and 1 (or -1 and 1 around a middle), text.
 * @param {string} label
 * @param {number} size
 * @param {string} text
 * @param {{ colour?: string, signed?: boolean, title?: string }} options
 */
export function bar(label, size, text, { colour, signed = false, title = label } = {}) {
  return make(
    "li",
    { class: signed ? "bar signed" : "bar", title },
    make("span", { class: "bar-label" }, label),
    barTrack(size, signed, colour),
    make("span", { class: "bar-text" }, text),
  );
}

/**
 * The track of a bar and its filled part.
 * @param {number} size
 * @param {boolean} signed
 * @param {string} [colour]
 */
export function barTrack(size, signed, colour) {
  const width = `${(Math.min(1, Math.abs(size)) * (signed ? 50 : 100)).toFixed(2)}%`;
  const side = signed ? (size >= 0 ? { left: "50%" } : { right: "50%" }) : { left: "0" };
  const style = { width, ...side, ...(colour ? { background: colour } : {}) };
  return make(
    "span",
    { class: "bar-track" },
    make("span", { class: `bar-fill${signed && size < 0 ? " minus" : ""}`, style }),
  );
}

/**
 * @param {Node} parent
 * @param {Child[]} children
 */
function addTo(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) addTo(parent, child);
    else if (typeof child === "string") parent.appendChild(document.createTextNode(child));
    else if (child) parent.appendChild(child);
  }
}
