// Elements, made from names and text alone: no string is ever read as markup.
"use strict";

const Dom = (() => {
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") Object.assign(element.style, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  const get = (id) => document.getElementById(id);

  // A bar of a chart: label, length between 0 and 1 (or -1 and 1 around a middle), text.
  function bar(label, size, text, { colour, signed = false, title = label } = {}) {
    const long = `${(Math.min(1, Math.abs(size)) * (signed ? 50 : 100)).toFixed(2)}%`;
    const style = signed
      ? size >= 0
        ? { left: "50%", width: long }
        : { right: "50%", width: long }
      : { left: "0", width: long };
    if (colour) style.background = colour;
    return make(
      "li",
      { class: signed ? "bar signed" : "bar", title },
      make("span", { class: "bar-label" }, label),
      make("span", { class: "bar-track" }, make("span", { class: `bar-fill${size < 0 ? " minus" : ""}`, style })),
      make("span", { class: "bar-text" }, text),
    );
  }

  return { make, get, bar };
})();
