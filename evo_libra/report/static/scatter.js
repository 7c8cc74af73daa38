// The front in any two objectives: points, reference designs, proven band, bars of prices and errors; a rectangle selects.

const EDGE = { left: 58, right: 14, top: 12, bottom: 40 };
/** @type {{x: Scale, y: Scale, width: number, height: number}} */
let view = { x: { log: false, low: 0, high: 1 }, y: { log: false, low: 0, high: 1 }, width: 1, height: 1 };
/** @param {number} value */
const toX = (value) => EDGE.left + along(view.x, value) * (view.width - EDGE.left - EDGE.right);
/** @param {number} value */
const toY = (value) => view.height - EDGE.bottom - along(view.y, value) * (view.height - EDGE.top - EDGE.bottom);
/** @param {number} x */
const fromX = (x) => valueAt(view.x, (x - EDGE.left) / (view.width - EDGE.left - EDGE.right));
/** @param {number} y */
const fromY = (y) => valueAt(view.y, (view.height - EDGE.bottom - y) / (view.height - EDGE.top - EDGE.bottom));

/** Corners of the shapes in turn, in radii; the first and the last one are circles. */
const SHAPES = [[], [-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9], [0, -1.15, 1.1, 0.85, -1.1, 0.85], [0, -1.3, 1.1, 0, 0, 1.3, -1.1, 0],
  [0, 1.15, 1.1, -0.85, -1.1, -0.85], [-1.2, -0.6, 1.2, -0.6, 1.2, 0.6, -1.2, 0.6], [-0.6, -1.2, 0.6, -1.2, 0.6, 1.2, -0.6, 1.2],
  [-1.2, -1.2, 0, -0.5, 1.2, -1.2, 0.5, 0, 1.2, 1.2, 0, 0.5, -1.2, 1.2, -0.5, 0], []];
/** Fill one of the shapes. @param {CanvasRenderingContext2D} to @param {number} shape @param {number} x @param {number} y @param {number} r */
function stamp(to, shape, x, y, r) {
  const corners = SHAPES[shape] ?? [];
  to.beginPath();
  if (!corners.length) to.arc(x, y, shape ? 0.6 * r : r, 0, 7);
  for (let n = 0; n < corners.length; n += 2) to.lineTo(x + r * (corners[n] ?? 0), y + r * (corners[n + 1] ?? 0));
  to.fill();
}

/** The ends of an axis: of all rows and reference designs, or of those rows that are selected. @param {Field} one @returns {Scale} */
function extent(one) {
  const mine = [...one.data].filter((value, row) => !Number.isNaN(value) && (!state.zoomed || chosen[row]));
  if (one.faint) mine.push(...[...one.low, ...one.high].filter((value, place) => value !== null && (!state.zoomed || chosen[place % count])).map(Number));
  if (!state.zoomed || !mine.length) mine.push(...doc.references.map((reference) => reference.values[one.key] ?? one.most));
  return scaleOf(mine.reduce((a, b) => Math.min(a, b), Infinity), mine.reduce((a, b) => Math.max(a, b), -Infinity), one.log);
}

/** Draw axes with ticks, gridlines and labels. @param {CanvasRenderingContext2D} to @param {string} x @param {string} y */
function drawAxes(to, x, y) {
  Object.assign(to, { strokeStyle: theme.line, fillStyle: theme.faint, lineWidth: 1, textAlign: "center" });
  for (const value of ticks(view.x, Math.max(2, Math.floor(view.width / 80)))) {
    to.beginPath(); to.moveTo(toX(value), EDGE.top); to.lineTo(toX(value), view.height - EDGE.bottom); to.stroke();
    to.fillText(short(value), toX(value), view.height - EDGE.bottom + 15);
  }
  to.textAlign = "right";
  for (const value of ticks(view.y, Math.max(2, Math.floor(view.height / 45)))) {
    to.beginPath(); to.moveTo(EDGE.left, toY(value)); to.lineTo(view.width - EDGE.right, toY(value)); to.stroke();
    to.fillText(short(value), EDGE.left - 6, toY(value) + 4);
  }
  to.fillStyle = theme.text;
  to.fillText(x, view.width - EDGE.right, view.height - 6);
  to.save(); to.translate(13, EDGE.top); to.rotate(-Math.PI / 2); to.fillText(y, 0, 0); to.restore();
}

/** Draw the band between each front and what is proven of it. @param {CanvasRenderingContext2D} to */
function drawBands(to) {
  const turned = state.x.key === "time_ms";
  if (![state.x.key, state.y.key].includes("time_ms") || ![state.x.key, state.y.key].includes("cost_usd")) return;
  to.save();
  to.fillStyle = theme.ghost;
  to.beginPath();
  to.rect(EDGE.left, EDGE.top, view.width - EDGE.left - EDGE.right, view.height - EDGE.top - EDGE.bottom);
  to.clip();
  for (const { band } of doc.results) {
    to.beginPath();
    for (const [time = 0, cost = 0] of band) to.lineTo(toX(turned ? time : cost), toY(turned ? cost : time));
    to.fill();
  }
  to.restore();
}

/** Boxes of the names that are written: left, top, right, bottom. @type {[number, number, number, number][]} */
let written = [];
/** Places that names leave free. @type {[number, number][]} */
let points = [];
/** Write a name beside a place, where it covers neither another name nor a point if there is such a place. @param {CanvasRenderingContext2D} to @param {string} name @param {number} x @param {number} y */
function beside(to, name, x, y) {
  const wide = to.measureText(name).width, sides = [x + 8, x - 8 - wide];
  const boxes = [-8, 16, -22, 30, -36, 44, -52, 60, -68, 76, -84, 92].flatMap((down) => sides.map((left) => /** @type {const} */ ([left, y + down - 11, left + wide, y + down + 2])));
  const inside = boxes.filter(([left, top, right, bottom]) => left > EDGE.left && right < view.width - 2 && top > 0 && bottom < view.height - EDGE.bottom);
  const covered = (/** @type {readonly [number, number, number, number]} */ box) => written.filter((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]).length
    + points.filter(([px, py]) => px > box[0] - 5 && px < box[2] + 5 && py > box[1] - 5 && py < box[3] + 5).length;
  const box = inside.reduce((/** @type {typeof boxes[number] | undefined} */ best, one) => (best && covered(best) <= covered(one) ? best : one), undefined) ?? [x, y, x, y];
  written.push([...box]);
  to.save();
  Object.assign(to, { textAlign: "left", strokeStyle: theme.back, lineWidth: 3 });
  to.strokeText(name, box[0], box[3] - 2); to.fillText(name, box[0], box[3] - 2);
  const down = (box[1] + box[3]) / 2;
  Object.assign(to, { strokeStyle: theme.faint, lineWidth: 0.7 }).beginPath();
  if (Math.abs(down - y) > 24) { to.moveTo(x, y); to.lineTo(box[0] > x ? box[0] : box[2], down); }
  to.stroke(); to.restore();
}
/** Places of the points and the reference designs, which no name covers; none where there are too many to leave room. @returns {[number, number][]} */
function occupied() {
  const marks = doc.references.map((one) => /** @type {[number, number]} */ ([toX(one.values[state.x.key] ?? NaN), toY(one.values[state.y.key] ?? NaN)]));
  return count > 2000 ? marks : [...marks, ...Array.from(chosen, (_, row) => /** @type {[number, number]} */ ([toX(state.x.data[row] ?? NaN), toY(state.y.data[row] ?? NaN)]))];
}
/** @param {CanvasRenderingContext2D} to */
function drawReferences(to) {
  Object.assign(to, { font: "11px system-ui, sans-serif", strokeStyle: theme.text, fillStyle: theme.text, lineWidth: 1.6 });
  for (const one of doc.references) {
    const x = toX(one.values[state.x.key] ?? NaN), y = toY(one.values[state.y.key] ?? NaN);
    if (Number.isNaN(x + y)) continue;
    to.beginPath(); to.moveTo(x - 5, y - 5); to.lineTo(x + 5, y + 5); to.moveTo(x + 5, y - 5); to.lineTo(x - 5, y + 5); to.stroke();
    beside(to, one.name, x, y);
  }
}

const radius = count > 2000 ? 3 : 4;
/** Return what draws a row as a point. @param {CanvasRenderingContext2D} to @param {boolean} ghost */
function pointsOn(to, ghost) {
  to.fillStyle = theme.line;
  return (/** @type {number} */ row) => {
    const x = toX(state.x.data[row] ?? NaN), y = toY(state.y.data[row] ?? NaN);
    if (!(x >= EDGE.left - 9 && x <= view.width && y >= 0 && y <= view.height - EDGE.bottom + 9)) return;
    if (!ghost) to.fillStyle = colourOf(row);
    stamp(to, ghost ? OTHERS : shapeOf(row), x, y, radius);
  };
}

/** Draw the range of a row along an axis, faint: of its cost with other prices, or of its time by measured errors. @param {CanvasRenderingContext2D} to @param {number} row @param {boolean} across */
function barOf(to, row, across) {
  const one = across ? state.x : state.y, low = one.low[row], high = one.high[row];
  if (typeof low !== "number" || typeof high !== "number") return;
  const x = toX(state.x.data[row] ?? 0), y = toY(state.y.data[row] ?? 0), bottom = view.height - EDGE.bottom;
  const right = view.width - EDGE.right, within = (/** @type {number} */ at, /** @type {number} */ from, /** @type {number} */ to_) => Math.min(Math.max(at, from), to_);
  Object.assign(to, { strokeStyle: colourOf(row), globalAlpha: one.faint ? 0.35 : 1 }).beginPath();
  to.moveTo(across ? within(toX(low), EDGE.left, right) : x, across ? y : within(toY(low), EDGE.top, bottom));
  to.lineTo(across ? within(toX(high), EDGE.left, right) : x, across ? y : within(toY(high), EDGE.top, bottom));
  to.stroke(); to.globalAlpha = 1;
}

const scatterBack = layer(() => {
  const { drawn, width, height } = context("scatter-back");
  view = { x: extent(state.x), y: extent(state.y), width, height };
  drawAxes(drawn, state.x.label, state.y.label);
  drawBands(drawn);
  return pointsOn(drawn, true);
}, true);

const scatterFront = layer(() => {
  const { drawn } = context("scatter-front"), draw = pointsOn(drawn, false);
  drawn.lineWidth = 1; return (row) => {
    if (state.bars) for (const across of [true, false]) barOf(drawn, row, across);
    draw(row);
  };
}, false);

/** Draw what lies over the points: reference designs, marks, the rectangle, the design that is open. */
function scatterTop() {
  const { drawn } = context("scatter-top");
  written = [];
  points = occupied();
  drawReferences(drawn);
  for (const [name, rows] of Object.entries(doc.marks)) {
    for (const row of rows) ringed(drawn, row, theme.text, 1, doc.results.length > 1 || row === state.picked ? "" : name);
  }
  if (state.area) {
    const { x, y } = state.area;
    framed(drawn, toX(x.low), toY(y.high), toX(x.high) - toX(x.low), toY(y.low) - toY(y.high));
  }
  if (state.picked >= 0) ringed(drawn, state.picked, theme.accent, 2.5, `#${doc.rows.id[state.picked]}`);
}
/** Draw what a brush covers. @param {CanvasRenderingContext2D} to @param {number} x @param {number} y @param {number} width @param {number} height */
function framed(to, x, y, width, height) {
  Object.assign(to, { strokeStyle: theme.accent, fillStyle: theme.ghost, lineWidth: 1 });
  to.fillRect(x, y, width, height);
  to.strokeRect(x, y, width, height);
}
/** @param {CanvasRenderingContext2D} to @param {number} row @param {string} style @param {number} width @param {string} name */
function ringed(to, row, style, width, name) {
  const x = toX(state.x.data[row] ?? NaN), y = toY(state.y.data[row] ?? NaN);
  Object.assign(to, { strokeStyle: style, lineWidth: width, fillStyle: theme.text });
  to.beginPath(); to.arc(x, y, radius + 4, 0, 7); to.stroke();
  if (name) beside(to, name, x, y);
}

/** The selected row nearest to a place, within some pixels; -1 for none. @param {number} x @param {number} y */
function nearest(x, y) {
  let best = 18 * 18, found = -1;
  for (let row = 0; row < count; row++) {
    if (!chosen[row]) continue;
    const far = (toX(state.x.data[row] ?? NaN) - x) ** 2 + (toY(state.y.data[row] ?? NaN) - y) ** 2;
    if (far < best) { best = far; found = row; }
  }
  return found;
}
