// The table: rows that are selected, sorted by a column; only those in sight are there.

const ROW = 24;
/** @type {{by: Field | null, down: boolean, order: Int32Array, rows: Int32Array}} */
const sorted = { by: null, down: false, order: Int32Array.from(chosen, (_, n) => n), rows: new Int32Array(0) };
const tableFields = () => fields.filter((one) => one.shown || one === families || one.key === "result");

/** Sort by a column, by ids for null; the other way round when asked again. @param {Field | null} by */
function sortBy(by) {
  sorted.down = sorted.by === by && !sorted.down;
  sorted.by = by;
  const sign = sorted.down ? -1 : 1, last = sign * Infinity;
  const value = (/** @type {number} */ row) => (by ? by.data[row] ?? NaN : row), order = (/** @type {number} */ found) => (Number.isNaN(found) ? last : found);
  sorted.order.sort((a, b) => sign * (order(value(a)) - order(value(b))) || a - b);
  tableHead();
  tableRows();
}
function tableHead() {
  const cell = (/** @type {string} */ text, /** @type {Field | null} */ by) => {
    const button = make("button", { type: "button" }, text + (sorted.by === by ? (sorted.down ? " ▼" : " ▲") : ""));
    button.addEventListener("click", () => sortBy(by));
    return make("th", { scope: "col", "aria-sort": sorted.by !== by ? "none" : sorted.down ? "descending" : "ascending" }, button);
  };
  el("head").replaceChildren(cell("id", null), ...tableFields().map((one) => cell(one.label, one)));
}
/** Lay out what is selected, and the rows in sight; on paper the first ones. @param {number} most */
function tableRows(most = 0) {
  tableDue = false;
  sorted.rows = sorted.order.filter((row) => chosen[row]);
  const place = el("table"), length = sorted.rows.length;
  const first = most ? 0 : Math.max(0, Math.floor(place.scrollTop / ROW) - 4);
  const last = Math.min(length, most || first + Math.ceil(place.clientHeight / ROW) + 8);
  const gap = (/** @type {number} */ rows) => {
    const cell = make("td");
    cell.style.height = `${Math.max(rows, 0) * ROW}px`;
    return make("tr", { class: "gap", "aria-hidden": "true" }, cell);
  };
  const rows = Array.from(sorted.rows.slice(first, last), (row) => tableRow(row));
  el("body").replaceChildren(gap(first), ...rows, gap(most ? 0 : length - last));
  // On paper, the style sheet writes it below the table.
  place.dataset.rest = last < length ? `${(length - last).toLocaleString("en")} more ${doc.noun}s are in the page itself` : "";
}
/** @param {number} row */
function tableRow(row) {
  const cells = tableFields().map((one) => make("td", one.names.length ? {} : { class: "number" },
    ...(one === families ? [marker(colourOf(row), shapeOf(row)), " "] : []), shownValue(one, row)));
  return make("tr", { "data-row": String(row), "aria-selected": String(row === state.picked) }, make("td", {}, `#${doc.rows.id[row]}`), ...cells);
}
/** A sign of the colour and shape of a point. @param {string} style @param {number} shape */
function marker(style, shape) {
  const sign = make("span", { class: "marker", "aria-hidden": "true" }, "●■▲◆▼▬▮✖•"[shape] ?? "•");
  sign.style.color = style;
  return sign;
}
/** Return what is selected as comma-separated values, in the units of the front's own table. */
function csv() {
  const cell = (/** @type {string | number} */ value) => (/[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const lines = Array.from(sorted.rows, (row) => [doc.rows.id[row] ?? 0, ...fields.map((one) => {
    const value = one.data[row] ?? NaN;
    return Number.isNaN(value) ? "" : one.names.length ? shownValue(one, row) : Number((value * one.factor).toPrecision(7));
  }), doc.rows.design[row] ?? ""]);
  return [["id", ...fields.map((one) => one.key), "design"], ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}
