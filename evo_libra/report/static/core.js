"use strict";
// Data, selection, colours, axes: what all views share.

/** @param {string} id */
const el = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @param {string} id */
const input = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
/**
 * Return a new element; every text goes in as text, never as markup.
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** @type {Doc} */
const doc = JSON.parse(el("data").textContent || "");
const count = doc.rows.id.length;
/** @type {Field[]} */
const fields = doc.columns.map((one) => ({ ...one, data: Float64Array.from(one.values, (value) => value ?? NaN) }));
const objectives = fields.filter((one) => one.kind === "objective");
const families = /** @type {Field} */ (fields.find((one) => one.key === "family"));
// Of several results, colours tell results apart; of one, its families, or structures where there are many families.
const groups = /** @type {Field} */ (["result", "structure", "family"].map((key) => fields.find((one) => one.key === key)).find(Boolean));
const shapedBy = fields.find((one) => one.key === "structure") ?? families;

/** What is selected. `ranges` are of axes, by key; `area` is a rectangle of the scatter plot; `off` hides groups. */
const state = {
  /** @type {Map<string, Limits>} */ ranges: new Map(),
  /** @type {{x: Limits, y: Limits} | null} */ area: null,
  /** @type {Set<number>} */ off: new Set(),
  words: "", picked: -1, zoomed: false, bars: false,
  x: /** @type {Field} */ (objectives[Math.min(1, objectives.length - 1)]),
  y: /** @type {Field} */ (objectives[0]),
};
const chosen = new Uint8Array(count).fill(1);
let selected = count;

// Mixed once, so that a part of the rows is a fair sample while the rest is still being drawn.
const mixed = (/** @type {number} */ row) => Math.imul(row, 2654435761) >>> 0;
const shuffled = Int32Array.from(chosen, (_, row) => row).sort((a, b) => mixed(a) - mixed(b));

const OTHERS = 8;
/** The sizes of groups, the groups from the largest on, and the place of each of them: `OTHERS` for those that share a colour. @param {Field} one */
function ranked({ data, names }) {
  const sizes = names.map(() => 0), place = names.map(() => OTHERS);
  for (const group of data) sizes[group] = (sizes[group] ?? 0) + 1;
  const order = names.map((_, n) => n).sort((a, b) => (sizes[b] ?? 0) - (sizes[a] ?? 0) || a - b);
  order.slice(0, OTHERS).forEach((group, n) => { place[group] = n; });
  return { sizes, order, place };
}
const colours = ranked(groups), shapes = ranked(shapedBy);
/** @param {number} row */
const colourOf = (row) => doc.colours[colours.place[groups.data[row] ?? 0] ?? OTHERS] ?? "";
/** @param {number} row */
const shapeOf = (row) => shapes.place[shapedBy.data[row] ?? 0] ?? OTHERS;

/** The test of the filter; one with a mistake leaves the last good one, and the page names the mistake. */
let tested = (/** @type {number} */ _row) => true;
function readFilter() {
  let mistake = "";
  try {
    tested = queryTest(state.words, doc.searched, doc.units);
  } catch (error) {
    mistake = /** @type {Error} */ (error).message;
  }
  el("said").textContent = mistake;
  input("filter").setAttribute("aria-invalid", String(mistake !== ""));
}

/** Find what is selected again. */
function refresh() {
  readFilter();
  /** @type {[Float64Array, Limits][]} */
  const limits = fields.flatMap((one) => { const range = state.ranges.get(one.key); return range ? [[one.data, range]] : []; });
  if (state.area) limits.push([state.x.data, state.area.x], [state.y.data, state.area.y]);
  selected = 0;
  for (let row = 0; row < count; row++) {
    const group = groups.data[row] ?? 0;
    let kept = !state.off.has(group) && !(state.off.has(-1) && colours.place[group] === OTHERS);
    for (const [data, range] of limits) kept = kept && (data[row] ?? NaN) >= range.low && (data[row] ?? NaN) <= range.high;
    chosen[row] = Number(kept && tested(row));
    selected += chosen[row] ?? 0;
  }
}

/** @param {number} value */
function short(value) {
  const size = Math.abs(value);
  for (const [factor, suffix] of /** @type {[number, string][]} */ ([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])) {
    if (size >= factor * (factor > 1e3 ? 1 - 1e-9 : 10)) return `${Number((value / factor).toPrecision(4))}${suffix}`;
  }
  return String(Number(value.toPrecision(4)));
}
/** A figure as commands print it. @param {number} value */
const figure = (value) => value.toLocaleString("en", Math.abs(value) < 1e5 ? { maximumSignificantDigits: 5, useGrouping: false } : { maximumFractionDigits: 0 });
/** A value of a column for reading. @param {Field} one @param {number} row */
function shownValue(one, row) {
  const value = one.data[row] ?? NaN;
  if (Number.isNaN(value)) return "–";
  return one.names.length ? one.names[value] ?? "" : figure(value);
}

/** @param {Scale} scale @param {number} value */
const along = ({ log, low, high }, value) =>
  log ? (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low)) : (value - low) / (high - low);
/** @param {Scale} scale @param {number} share */
const valueAt = ({ log, low, high }, share) =>
  log ? Math.exp(Math.log(low) + share * (Math.log(high) - Math.log(low))) : low + share * (high - low);

/** @param {number} low @param {number} high @param {boolean} log @returns {Scale} */
function scaleOf(low, high, log) {
  if (!(high > low)) return log ? { log, low: low / 1.1, high: high * 1.1 } : { log, low: low - 1, high: high + 1 };
  if (log) return { log, low: low / (high / low) ** 0.03, high: high * (high / low) ** 0.03 };
  return { log, low: low - 0.03 * (high - low), high: high + 0.03 * (high - low) };
}

/** Return round values to label, at least two. @param {Scale} scale @param {number} most */
function ticks({ log, low, high }, most) {
  for (const steps of log && high / low > 20 ? [[1, 2, 5], [1, 3], [1]] : []) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) found.push(...steps.map((step) => step * 10 ** power));
    const inside = found.filter((value) => value >= low && value <= high);
    if (inside.length >= 2 && inside.length <= most) return inside;
  }
  for (let parts = Math.max(most, 2); ; parts++) {
    const rough = (high - low) / parts, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1), first = Math.ceil(low / step);
    const found = Array.from({ length: Math.floor(high / step) - first + 1 }, (_, n) => Number(((first + n) * step).toPrecision(12)));
    if (found.length >= 2) return found;
  }
}

/** The colours of the theme, as the style sheet has them. */
const theme = { text: "", faint: "", line: "", back: "", accent: "", ghost: "" };
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of /** @type {(keyof typeof theme)[]} */ (Object.keys(theme))) theme[name] = style.getPropertyValue(`--${name}`).trim();
}

/** Lay a canvas out for its place on the page and return its context, cleared, in CSS pixels. @param {string} id */
function context(id) {
  const canvas = /** @type {HTMLCanvasElement} */ (el(id)), paper = document.documentElement.dataset.paper, ratio = paper ? 3 : devicePixelRatio || 1;
  const { clientWidth: width = 1, clientHeight: height = 1 } = canvas.parentElement ?? {}, drawn = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  // A new size clears, too; on paper, what a canvas erases would be erased of those below it.
  if (paper || canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  } else drawn.clearRect(0, 0, width, height);
  drawn.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawn.font = "12px system-ui, sans-serif";
  return { drawn, width, height };
}

/** @type {Layer[]} */
const layers = [];
const FEW_ROWS = 2000;
let due = 0, slice = 400, before = 0, turn = 0, tableDue = false;
/** Make a layer of rows that are drawn in slices; `begin` clears it and returns what draws a row. @param {() => ((row: number) => void)} begin @param {boolean} all @returns {Layer} */
function layer(begin, all) {
  let at = count, draw = (/** @type {number} */ _row) => {};
  const made = {
    busy: () => at < count,
    restart() {
      at = 0;
      if (all) draw = begin();
      if (!due) due = requestAnimationFrame(paint);
    },
    work(/** @type {number} */ most) {
      // What is there stays until there is something else to see.
      if (!all && !at) draw = begin();
      for (const end = Math.min(at + most, count); at < end; at++) if (all || chosen[shuffled[at] ?? 0]) draw(shuffled[at] ?? 0);
    },
  };
  layers.push(made);
  return made;
}
/** Draw a slice of a layer, of one after the other; at last the table. Slices shrink where frames take long. @param {number} now */
function paint(now) {
  const taken = now - before, busy = layers.filter((one) => one.busy());
  before = now;
  if (taken < 200) slice = Math.max(100, Math.min(6000, Math.round(slice * (taken > 30 ? 0.5 : taken < 20 ? 1.2 : 1))));
  busy[turn++ % busy.length]?.work(slice);
  due = busy.length ? requestAnimationFrame(paint) : 0;
  if (!busy.length && tableDue) tableRows();
}
