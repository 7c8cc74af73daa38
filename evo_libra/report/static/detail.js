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
    el("detail").replaceChildren(make("p", { class: "hint" }, "Click a point or a line of the table, or press n: a design opens here."));
    return;
  }
  const parts = [make("h2", {}, `#${doc.rows.id[row]} `, marker(colourOf(row), shapeOf(row)), ` ${family?.name ?? ""}`)];
  const ends = (/** @type {Field} */ one) => (typeof one.low[row] === "number" ? ` (${short(one.low[row] ?? 0)} to ${short(one.high[row] ?? 0)})` : "");
  parts.push(make("dl", { class: "figures" }, ...fields.filter((one) => one.kind !== "gene").map((one) =>
    make("div", {}, make("dt", {}, one.label), make("dd", {}, shownValue(one, row) + ends(one))))));
  parts.push(make("ul", {}, ...(found?.sentences ?? [doc.rule]).map((text) => make("li", {}, text))));
  if (family?.drawing) parts.push(make("figure", {}, drawing(family.drawing, row, found)));
  for (const one of found?.waterfalls ?? []) parts.push(waterfall(one));
  if (found?.bill.length) {
    parts.push(tableOf("bill of materials", ["dimension", "part", "pieces", "USD", "W"],
      found.bill.map((one) => [String(one.dimension ?? ""), one.what, one.pieces, one.cost_usd, one.power_W])));
  }
  if (design) parts.push(copied("design in the notation", design));
  for (const [what, words] of address ? Object.entries(doc.commands) : []) {
    parts.push(copied(what, words.replace("{address}", address ?? "").replace("{id}", String(doc.rows.id[row]))));
  }
  el("detail").replaceChildren(...parts);
}

/** The picture of a family, with what differs between its designs. @param {string} svg @param {number} row @param {Detail | undefined} found */
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
function waterfall({ workload, groups: split, total_ms, steps }) {
  return tableOf(`${workload} ${split}: ${total_ms.toPrecision(6)} ms`, ["part", "ms", "slowest in", ""], steps.map((step) => {
    const bar = make("span", { class: step.time_ms < 0 ? "bar less" : "bar" });
    bar.style.marginLeft = `${100 * step.start}%`;
    bar.style.width = `${100 * step.share}%`;
    return [step.name, step.time_ms, step.where, bar];
  }));
}
/** A table of texts, numbers and elements. @param {string} caption @param {string[]} heads @param {(string | number | null | HTMLElement)[][]} rows */
function tableOf(caption, heads, rows) {
  const cell = (/** @type {string | number | null | HTMLElement} */ value) => make("td", typeof value === "number" ? { class: "number" } : {},
    typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 1000 ? 3 : 0 }) : value ?? "");
  return make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads.map((head, n) =>
    make("th", { scope: "col", class: rows.some((row) => typeof row[n] === "number") ? "number" : "" }, head)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
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
