// Drag to pan, wheel to zoom, two fingers to do both, click to choose, double click to look below a split.

/** @import { Drawing } from "./drawing.js" */

/**
 * @param {Drawing} drawing
 * @param {{ redraw: () => void, choose: (node: number) => void, focus: () => void }} actions
 */
export function listenToCanvas(drawing, { redraw, choose, focus }) {
  const { canvas, view, facts } = drawing;
  /** @type {Map<number, PointerEvent>} */
  const down = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, event);
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault(); // the outline keeps the focus, so that arrow keys go on from a click
    focus();
  });
  canvas.addEventListener("pointermove", (event) => {
    const from = down.get(event.pointerId);
    if (from === undefined) {
      const node = drawing.at(event.offsetX, event.offsetY);
      canvas.style.cursor = node === null ? "grab" : "pointer";
      canvas.title = node === null ? "" : facts.line(node);
      return;
    }
    const dx = event.clientX - from.clientX,
      dy = event.clientY - from.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    const other = [...down.values()].find((pointer) => pointer.pointerId !== event.pointerId);
    if (other !== undefined) {
      const before = Math.hypot(from.clientX - other.clientX, from.clientY - other.clientY);
      const after = Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY);
      view.zoom(after / Math.max(1, before), (event.clientX + other.clientX) / 2 - canvas.getBoundingClientRect().left);
      view.pan(dx / 2, dy / 2);
    } else if (moved > 3) view.pan(dx, dy);
    down.set(event.pointerId, event);
    redraw();
  });
  /** @type {(event: PointerEvent) => void} */
  const up = (event) => {
    const was = down.delete(event.pointerId);
    if (was && moved <= 3 && event.type === "pointerup") {
      const node = drawing.at(event.offsetX, event.offsetY);
      if (node !== null) choose(node);
    }
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("dblclick", (event) => {
    const node = drawing.at(event.offsetX, event.offsetY);
    if (node === null || node < 0) view.zoom(2, event.offsetX);
    else view.showBelow(node, event.offsetX);
    redraw();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey)
        view.pan(-(event.deltaX || event.deltaY), 0);
      else view.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.offsetX);
      redraw();
    },
    { passive: false },
  );
}
