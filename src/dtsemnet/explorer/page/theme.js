// The colours of the page: those of the style sheet, light or dark. The system's theme is followed until the button is
// used; paper is always light.

/**
 * @typedef {Record<"back" | "card" | "ink" | "soft" | "line" | "accent" | "mark" | "plus" | "minus", string> &
 *   { ramp: [number[], number[]] }} Colours
 */

export class Theme {
  /** @type {(() => void)[]} */
  #listeners = [];

  constructor() {
    this.colours = readColours();
  }

  /**
   * Call a function whenever the colours have changed.
   * @param {() => void} listener
   */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  get isDark() {
    return document.documentElement.dataset.theme === "dark";
  }

  /** @param {boolean} dark */
  setDark(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.colours = readColours();
    for (const listener of this.#listeners) listener();
  }

  /** @param {HTMLElement} button */
  follow(button) {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const followSystem = () => this.setDark(system.matches);
    let wasDark = false;
    followSystem();
    system.addEventListener("change", followSystem);
    button.addEventListener("click", () => {
      system.removeEventListener("change", followSystem);
      this.setDark(!this.isDark);
    });
    window.addEventListener("beforeprint", () => {
      wasDark = this.isDark;
      this.setDark(false);
    });
    window.addEventListener("afterprint", () => this.setDark(wasDark));
  }
}

/** @returns {Colours} */
function readColours() {
  const style = getComputedStyle(document.documentElement);
  /** @type {(name: string) => string} */
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    back: get("back"),
    card: get("card"),
    ink: get("ink"),
    soft: get("soft"),
    line: get("line"),
    accent: get("accent"),
    mark: get("mark"),
    plus: get("plus"),
    minus: get("minus"),
    ramp: [rgbOf(get("ramp-low")), rgbOf(get("ramp-high"))],
  };
}

/**
 * Red, green and blue of a colour like #12ab34.
 * @param {string} hex
 */
export function rgbOf(hex) {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}
