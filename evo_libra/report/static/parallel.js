// Parallel coordinates over objectives, genes and plans; a drag along an axis selects a range of it.

const MARGIN = { top: 34, bottom: 20, side: 60 };
/** @type {{axes: {field: Field, scale: Scale, x: number}[], width: number, height: number}} */
let lines = { axes: [], width: 1, height: 1 };
/** @param {Scale} scale @param {number} value */
const lineY = (scale, value) => Number.isNaN(value) ? lines.height - 4
  : lines.height - MARGIN.bottom - along(scale, value) * (lines.height - MARGIN.top - MARGIN.bottom);

/** @param {Scale} scale @param {number} y */
const lineValue = (scale, y) => valueAt(scale, (lines.height - MARGIN.bottom - y) / (lines.height - MARGIN.top - MARGIN.bottom));

/** The fields that have an axis, in order: family, objectives, plans, genes. */
const axesShown = () => fields.filter((one) => one.shown && one.data.length);

const parallelBack = layer(() => {
  const { drawn, width, height } = context("parallel-back");
  const found = axesShown(), step = (width - 2 * MARGIN.side) / Math.max(found.length - 1, 1);
  lines = { width, height, axes: found.map((one, n) => ({
    field: one, x: MARGIN.side + n * step,
    scale: one.names.length ? { log: false, low: -0.5, high: one.names.length - 0.5 } : scaleOf(one.least, one.most, one.log),
  })) };
  return linesOn(drawn, true);
}, true);
const parallelFront = layer(() => linesOn(context("parallel-front").drawn, false), false);

/** Return what draws a row as a line over all axes. @param {CanvasRenderingContext2D} to @param {boolean} ghost */
function linesOn(to, ghost) {
  to.lineWidth = ghost ? 0.5 : 1;
  to.strokeStyle = theme.line;
  if (!ghost) to.globalAlpha = Math.max(0.25, Math.min(0.9, 60 / Math.max(selected, 1)));
  return (/** @type {number} */ row) => {
    if (!ghost) to.strokeStyle = colourOf(row);
    lineOf(to, row);
  };
}
/** @param {CanvasRenderingContext2D} to @param {number} row */
function lineOf(to, row) {
  to.beginPath();
  for (const { field: one, scale, x } of lines.axes) to.lineTo(x, lineY(scale, one.data[row] ?? NaN));
  to.stroke();
}

/** Draw the axes over the lines, with their labels, ranges and the design that is open. */
function parallelTop() {
  const { drawn } = context("parallel-top");
  if (state.picked >= 0) {
    drawn.strokeStyle = theme.accent;
    drawn.lineWidth = 2.5;
    lineOf(drawn, state.picked);
  }
  drawn.font = "11px system-ui, sans-serif";
  const room = Math.max(40, (lines.width - 2 * MARGIN.side) / lines.axes.length - 8);
  lines.axes.forEach(({ field: one, scale, x }, n) => {
    drawn.strokeStyle = theme.text;
    drawn.lineWidth = 1;
    drawn.beginPath(); drawn.moveTo(x, MARGIN.top); drawn.lineTo(x, lines.height - MARGIN.bottom); drawn.stroke();
    drawn.textAlign = "center";
    label(drawn, one.label, x, n % 2 ? 24 : 12, 2 * room, theme.text);
    drawn.textAlign = "left";
    const every = Math.ceil(one.names.length / 14);
    const places = one.names.map((_, place) => place).filter((place) => place % every === 0);
    for (const value of places.length ? places : one.few.length ? one.few : ticks(scale, 6)) {
      const text = one.names.length ? one.names[value] ?? "" : short(value);
      label(drawn, text, x + 4, lineY(scale, value) + 4, room, theme.faint);
    }
    const range = state.ranges.get(one.key);
    if (range) framed(drawn, x - 8, lineY(scale, range.high), 16, lineY(scale, range.low) - lineY(scale, range.high));
  });
}
/** Write a text that can be read over lines. @param {CanvasRenderingContext2D} to @param {string} text @param {number} x @param {number} y @param {number} room @param {string} style */
function label(to, text, x, y, room, style) {
  to.strokeStyle = theme.back;
  to.lineWidth = 3;
  to.strokeText(text, x, y, room);
  to.fillStyle = style;
  to.fillText(text, x, y, room);
}
