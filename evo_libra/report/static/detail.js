// One design: its picture, where its time and money go, why it is on the front, and what to type to see more.

/** @param {number} row */
function show(row) {
  state.picked = row;
  showDetail();
  scatterTop();
  parallelTop();
  tableRows();
}
function showDetail() {
  const row = state.picked, found = doc.details[row], design = doc.rows.design[row] ?? "";
  const family = doc.families[families.data[row] ?? 0], address = doc.results[doc.rows.result[row] ?? 0]?.address;
  if (row < 0) {
    el("detail").replaceChildren(make("p", { class: "hint" }, `Click a point or a line of the table, or press n: ${doc.noun === "order" ? "an order" : "a design"} opens here.`));
    return;
  }
  const parts = [make("h2", {}, `#${doc.rows.id[row]} `, marker(colourOf(row), shapeOf(row)), ` ${family?.name ?? ""}`)];
  const ends = (/** @type {Field} */ one) => (typeof one.low[row] === "number" ? `${short(one.low[row] ?? 0)} to ${short(one.high[row] ?? 0)}` : "");
  const shown = (/** @type {Field} */ one) => [one.label, shownValue(one, row) + (ends(one) && ` (${ends(one)})`)];
  // Where a design has details, its figures are those that commands print.
  const known = found ? [...found.figures, ...objectives.filter((one) => one.key.includes("usd") && ends(one)).map((one) => [`${one.label}, range of prices`, ends(one)])] : objectives.map(shown);
  parts.push(make("dl", { class: "figures" }, ...[...known, ...fields.filter((one) => one.kind !== "gene" && one.kind !== "objective" && !(found && one.key.endsWith("_usd"))).map(shown)].map(([name = "", text = ""]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, text)))));
  parts.push(make("ul", {}, ...(found?.sentences ?? [doc.rule]).map((text) => make("li", {}, text))));
  if (found?.drawing || family?.drawing) parts.push(make("figure", {}, drawing(found?.drawing || (family?.drawing ?? ""), row, found)));
  for (const one of found?.waterfalls ?? []) parts.push(waterfall(one));
  for (const one of found?.tables ?? []) parts.push(tableOf(one));
  if (design) parts.push(copied(`${doc.noun} in the notation`, design));
  for (const [what, words] of address ? Object.entries(doc.commands) : []) {
    parts.push(copied(what, words.replace("{address}", address ?? "").replace("{id}", String(doc.rows.id[row]))));
  }
  el("detail").replaceChildren(...parts);
}

/** The picture of a design or its family, with what differs between its designs. @param {string} svg @param {number} row @param {Detail | undefined} found */
function drawing(svg, row, found) {
  const made = document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
  for (const slot of made.querySelectorAll("[data-slot]")) {
    const name = slot.getAttribute("data-slot") ?? "";
    const one = fields.find((column) => column.key === `bandwidth[${name.split("-")[1]}]_GBps`);
    if (name.startsWith("pieces")) slot.textContent = found?.slots[name] ?? "";
    else if (one) slot.textContent = `${shownValue(one, row)} GB/s per NPU`;
  }
  return made;
}
/** @param {Waterfall} one */
function waterfall({ title, unit, steps }) {
  const made = tableOf({ title, columns: ["part", unit, "slowest in", ""], rows: steps.map((step) => [step.name, step.text, step.where, ""]), words: ["part", "slowest in", ""], folds: [], strong: [] });
  steps.forEach((step, n) => {
    const bar = made.querySelectorAll("tbody td:last-child")[n]?.appendChild(make("span", { class: step.time_ms < 0 ? "bar less" : "bar" }));
    Object.assign(bar?.style ?? {}, { marginLeft: `${100 * step.start}%`, width: `${100 * step.share}%` });
  });
  return made;
}
/** A table as commands print it: words flush left, figures flush right, bold cells, a group of rows between lines. @param {Table} table */
function tableOf({ title, columns, rows, words, folds, strong }) {
  const kind = (/** @type {number} */ n) => ({ class: [...words, ...folds].includes(columns[n] ?? "") ? "" : "number" });
  const bodies = [make("tbody", {})];
  rows.forEach((row, at) => bodies[row ? bodies.length - 1 : bodies.push(make("tbody", {})) - 1]?.append(...(row ? [make("tr", {}, ...row.map((text, n) =>
    make("td", kind(n), strong.some(([line, column]) => line === at && column === n) ? make("b", {}, text) : text)))] : [])));
  return make("table", {}, make("caption", {}, title), make("thead", {}, make("tr", {}, ...columns.map((head, n) =>
    make("th", { scope: "col", ...kind(n) }, head)))), ...bodies.filter((one) => one.children.length));
}
/** A text with a button that copies it. @param {string} what @param {string} text */
function copied(what, text) {
  const code = make("code", { tabindex: "0" }, text), button = make("button", { type: "button" }, "copy");
  button.addEventListener("click", () => {
    getSelection()?.selectAllChildren(code);
    // An older way, which pages without a secure origin may use, too.
    el("said").textContent = document.execCommand("copy") ? "copied" : "press Ctrl-C to copy";
  });
  return make("p", { class: "copied" }, make("span", {}, what), code, button);
}
