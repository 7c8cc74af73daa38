// Paper: two pages for a meeting, which are laid out and drawn at once, before the browser takes the picture.

/** Height of a page of Letter between its margins [px], a little less; that of A4 is larger. */
const PAGE = 945;
/** Rows of the table on paper, at most and at least. */
const PRINTED = { most: 40, least: 8 };
/** Set a size of paper, which the style sheet reads. @param {string} name @param {number} share */
const setSize = (name, share) => document.documentElement.style.setProperty(`--paper-${name}`, String(share));
const onPaper = () => {
  const table = el("list").getBoundingClientRect().top, body = document.body.getBoundingClientRect();
  return { first: table - body.top, second: body.bottom - table };
};
/** Make a part of a page smaller until the page holds it. @param {string} name @param {number} most @param {number} least @param {() => number} height */
function shrink(name, most, least, height) {
  for (let share = most; share >= least; share -= 0.05) {
    setSize(name, share);
    if (height() <= PAGE) return;
  }
}
/** Make the table as wide as the page. */
function narrowTable() {
  setSize("table", 1);
  const place = el("table"), wide = place.querySelector("table")?.getBoundingClientRect().width ?? 1;
  setSize("table", Math.min(1, place.getBoundingClientRect().width / wide));
}
/** Fit each of both pages and return the rows of the table; pictures give way first, then rows, at last the size of letters. */
function fitPaper() {
  for (const name of ["first", "second"]) setSize(name, 1);
  shrink("picture", 1.5, 0.6, () => onPaper().first);
  shrink("first", 1, 0.4, () => onPaper().first);
  for (let rows = PRINTED.most; rows >= PRINTED.least; rows--) {
    tableRows(rows);
    narrowTable();
    if (onPaper().second <= PAGE) return rows;
  }
  shrink("second", 1, 0.4, () => onPaper().second);
  return PRINTED.least;
}
let screenTheme = "";
addEventListener("beforeprint", () => {
  screenTheme = document.documentElement.dataset.theme ?? "";
  document.documentElement.dataset.paper = "true";
  const rows = fitPaper();
  setTheme("light");
  for (const one of layers) one.work(count);
  tableRows(rows);
});
addEventListener("afterprint", () => { delete document.documentElement.dataset.paper; setTheme(screenTheme); });
