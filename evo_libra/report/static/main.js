// Controls, keys, brushes, export and themes.

/** Show what is selected, after a change of the selection; both brushes, or one of them. @param {(() => void)[]} tops */
function update(tops = [scatterTop, parallelTop]) {
  refresh();
  scatterFront.restart();
  parallelFront.restart();
  for (const draw of tops) draw();
  el("table").scrollTop = 0;
  // Of few rows the table is laid out at once: a page that no one looks at gets no frames to draw in.
  tableDue = count > FEW_ROWS;
  if (!tableDue) tableRows();
  el("count").textContent = `${selected.toLocaleString("en")} of ${count.toLocaleString("en")} ${doc.noun}s`;
}
/** Lay out and draw all again, after a change of axes, size or theme. */
function redraw() {
  readTheme();
  scatterBack.restart();
  parallelBack.restart();
  legend();
  update();
}
function legend() {
  const { order, sizes } = colours, rest = order.slice(OTHERS);
  const entry = (/** @type {number} */ group, /** @type {number} */ place, /** @type {string} */ name, /** @type {number} */ size) => {
    const dot = marker(doc.colours[place] ?? "", groups === shapedBy ? place : 1);
    const button = make("button", { type: "button", "aria-pressed": String(!state.off.has(group)) }, dot, ` ${name} (${size.toLocaleString("en")})`);
    button.addEventListener("click", () => { if (!state.off.delete(group)) state.off.add(group); redraw(); });
    return button;
  };
  const entries = order.slice(0, OTHERS).map((group, place) => entry(group, place, groups.names[group] ?? "", sizes[group] ?? 0));
  if (rest.length) entries.push(entry(-1, OTHERS, `${rest.length} more`, rest.reduce((sum, group) => sum + (sizes[group] ?? 0), 0)));
  el("legend").replaceChildren(...entries);
}

/**
 * Report drags over a canvas, from where they start to where they are; and clicks.
 * @param {string} id
 * @param {(x0: number, y0: number, x: number, y: number) => void} drag
 * @param {(x: number, y: number) => void} click
 */
function pointer(id, drag, click) {
  const canvas = el(id);
  let start = /** @type {[number, number] | null} */ (null), moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    start = [event.offsetX, event.offsetY];
    moved = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    moved = moved || (start !== null && Math.hypot(event.offsetX - start[0], event.offsetY - start[1]) > 4);
    if (start && moved) drag(start[0], start[1], event.offsetX, event.offsetY);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (start && !moved) click(event.offsetX, event.offsetY);
    start = null;
  });
}
/** @param {number} a @param {number} b @returns {Limits} */
const range = (a, b) => ({ low: Math.min(a, b), high: Math.max(a, b) });
pointer("scatter-top", (x0, y0, x, y) => {
  state.area = { x: range(fromX(x0), fromX(x)), y: range(fromY(y0), fromY(y)) };
  update([scatterTop]);
}, (x, y) => {
  const row = nearest(x, y);
  if (row < 0) state.area = null;
  if (row < 0) update();
  else show(row);
});
/** @param {number} x */
const axisAt = (x) => lines.axes.find((one) => Math.abs(one.x - x) < Math.min(24, lines.width / lines.axes.length / 2));
pointer("parallel-top", (x0, y0, _x, y) => {
  const axis = axisAt(x0);
  if (axis) state.ranges.set(axis.field.key, range(lineValue(axis.scale, y0), lineValue(axis.scale, y)));
  if (axis) update([parallelTop]);
}, (x) => {
  if (state.ranges.delete(axisAt(x)?.field.key ?? "")) update();
});

function clear() {
  Object.assign(state, { ranges: new Map(), off: new Set(), area: null, words: "", zoomed: false });
  input("filter").value = "";
  redraw();
}
/** Open the design that is so many lines further down in the table. @param {number} step */
function go(step) {
  tableRows();
  const rows = sorted.rows, place = el("table"), at = rows.indexOf(state.picked);
  const to = at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step));
  if (!rows.length) return;
  place.scrollTop = Math.max(0, Math.min(place.scrollTop, to * ROW), (to + 2) * ROW - place.clientHeight);
  show(rows[to] ?? -1);
}
function save() {
  tableRows();
  const link = /** @type {HTMLAnchorElement} */ (make("a", { download: `${doc.noun}s.csv` }));
  link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  link.click();
}
/** Save the plot of the front as a picture. */
function savePicture() {
  const drawn = ["scatter-back", "scatter-front", "scatter-top"].map((id) => /** @type {HTMLCanvasElement} */ (el(id)));
  const whole = /** @type {HTMLCanvasElement} */ (make("canvas")), to = whole.getContext("2d");
  Object.assign(whole, { width: drawn[0]?.width ?? 1, height: drawn[0]?.height ?? 1 });
  if (!to) return;
  to.fillStyle = theme.back;
  to.fillRect(0, 0, whole.width, whole.height);
  for (const one of drawn) to.drawImage(one, 0, 0);
  whole.toBlob((picture) => {
    const link = /** @type {HTMLAnchorElement} */ (make("a", { download: "front.png" }));
    if (picture) link.href = URL.createObjectURL(picture);
    if (picture) link.click();
  });
}
/** @param {string} name */
function setTheme(name) { document.documentElement.dataset.theme = name; redraw(); }
const themeNow = () => getComputedStyle(document.documentElement).colorScheme;
const help = /** @type {HTMLDialogElement} */ (el("help"));

/** @type {Record<string, () => void>} */
const keys = {
  n: () => go(1), ArrowDown: () => go(1), p: () => go(-1), ArrowUp: () => go(-1), Escape: clear, "/": () => input("filter").focus(),
  z: () => { state.zoomed = !state.zoomed; redraw(); }, t: () => setTheme(themeNow() === "dark" ? "light" : "dark"),
  x: () => input("x").focus(), y: () => input("y").focus(), c: save, i: savePicture, "?": () => help.showModal(),
};
addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target), typing = /^(INPUT|SELECT)$/.test(target.tagName);
  if (event.key === "Escape" && typing) target.blur();
  const act = typing || help.open || event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
  if (act) event.preventDefault();
  act?.();
});
for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => keys[button.getAttribute("data-key") ?? ""]?.());
}
for (const axis of /** @type {("x" | "y")[]} */ (["x", "y"])) {
  const choice = input(axis), log = input(`log-${axis}`), usable = fields.filter((one) => !one.names.length);
  choice.append(...usable.map((one) => make("option", { value: one.key }, one.label)));
  choice.value = state[axis].key;
  log.checked = state[axis].log;
  choice.addEventListener("change", () => {
    Object.assign(state, { [axis]: usable.find((one) => one.key === choice.value), area: null });
    log.checked = state[axis].log;
    redraw();
  });
  log.addEventListener("change", () => { state[axis].log = log.checked = log.checked && state[axis].least > 0; redraw(); });
}
input("bars").checked = state.bars;
input("bars").addEventListener("change", () => { state.bars = input("bars").checked; update(); });
input("filter").addEventListener("input", () => { state.words = input("filter").value; update(); });
el("table").addEventListener("scroll", () => tableRows());
el("body").addEventListener("click", (event) => {
  const row = /** @type {HTMLElement} */ (event.target).closest("[data-row]")?.getAttribute("data-row");
  if (row) show(Number(row));
  // In one column, the design is above the table.
  if (row && el("detail").getBoundingClientRect().bottom < 0) el("detail").scrollIntoView({ block: "start" });
});
el("axes").append(...fields.map((one) => {
  const check = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox" }));
  check.checked = one.shown;
  check.addEventListener("change", () => { one.shown = check.checked; state.ranges.delete(one.key); tableHead(); redraw(); });
  return make("label", {}, check, ` ${one.label}`);
}));
const root = document.documentElement.dataset, again = () => { if (!root.paper) redraw(); };
addEventListener("resize", again);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
if (!fields.some((one) => one.low.length)) el("bars").closest("label")?.remove();
tableHead();
state.picked = doc.buy[0] ?? -1;
redraw();
showDetail();
root.ready = "true";
