// The grammar of queries, as `evo_libra.files.query` and `evo_libra.front.selection` have it; one table of cases tests both.

/** A word of a query; places count from 0. @typedef {{start: number, at: number, negated: boolean, name: string, sign: string, value: string}} Word */

/** Refuse a query at a place. @param {string} query @param {number} place @param {string} message @returns {never} */
function refuse(query, place, message) {
  throw new Error(`character ${place + 1} of '${query}': ${message}`);
}
const NUMBER = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S.*)?$/;
const escaped = (/** @type {string} */ text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** Return the words of a query. @param {string} query @param {Units} units @returns {Word[]} */
function parseQuery(query, units) {
  const pattern = /(-?)(?:(#)|([A-Za-z_][\w.-]*(?:\[[^\]\s]*\]\w*)?)\s*(<=|>=|<|>|=|:)\s*)?(\S*)/y;
  const names = Object.values(units).flatMap((sizes) => Object.keys(sizes)).sort((a, b) => b.length - a.length);
  const following = new RegExp(`\\s+(${names.map(escaped).join("|")})(?!\\S)`, "y");
  const found = [];
  for (let place = 0; query.slice(place).trim();) {
    pattern.lastIndex = place + query.slice(place).search(/\S/);
    const start = pattern.lastIndex, [, dash, hash, name = "", sign = "", value = ""] = pattern.exec(query) ?? [];
    place = following.lastIndex = pattern.lastIndex;
    const word = { start, at: place - value.length, negated: dash === "-", name: hash ? "id" : name, sign: hash ? ":" : sign, value };
    const unit = word.sign && word.sign !== ":" ? following.exec(query) : null;
    if (unit) {
      const number = NUMBER.exec(value);
      if (!number || number[2]) refuse(query, word.at, `'${value}' is no number`);
      word.value += ` ${unit[1]}`;
      place = following.lastIndex;
    } else if (word.sign && word.sign !== ":" && /\s/.test(query[word.at - 1] ?? "")) refuseUnit(query, word, place);
    checkWord(query, word);
    found.push(word);
  }
  return found;
}
const SENTENCE = ["and", "or", "not", "in"];
/** Refuse letters after a number of a comparison with spaces. @param {string} query @param {Word} word @param {number} place */
function refuseUnit(query, { value }, place) {
  const number = NUMBER.exec(value), letters = /\S+/.exec(query.slice(place));
  if (!number || number[2] || !letters || !/^\p{L}+$/u.test(letters[0].replaceAll("/", ""))) return;
  if (!SENTENCE.includes(letters[0].toLowerCase())) refuse(query, place + letters.index, `'${letters[0]}' is no unit of a number`);
}
/** @param {string} query @param {Word} word */
function checkWord(query, { start, at, name, sign, value }) {
  const bad = sign ? -1 : value.search(/[<>=]/);
  if (bad >= 0) refuse(query, at + bad, `'${value[bad]}' needs a name before it, as in time<5s`);
  if (!sign && (SENTENCE.includes(value.toLowerCase()) || value.startsWith("("))) {
    refuse(query, start, `'${value}' joins nothing: all words hold, a comma is an or, a dash before a word a not`);
  }
  if (!value) refuse(query, at, `nothing follows '${sign ? name + sign : query.slice(start).split(/\s/)[0]}'`);
  if (query[at - 1] === "#" && !value.split(",").every((one) => /^\d+$/.test(one))) refuse(query, at, `'${value}' is no id, such as #3 or #3,7`);
}

/** Return whether a text fits one of some patterns, whole or anywhere in it. @param {string[]} patterns @param {boolean} anywhere */
function fits(patterns, anywhere) {
  const texts = patterns.map((one) => escaped(one).replaceAll("\\*", ".*").replaceAll("\\?", ".")).join("|");
  const pattern = new RegExp(anywhere ? texts : `^(?:${texts})$`, "s");
  return (/** @type {string} */ text) => pattern.test(text.toLowerCase());
}
/** The value of a row in a column that queries read. @param {Searched} one @param {number} row */
const searchedValue = (one, row) => one.names[one.values.length ? one.values[row] ?? -1 : one.names.length > 1 ? row : 0] ?? null;

/** Return what decides whether a row fits a query. @param {string} query @param {Searched[]} searched @param {Units} units @returns {(row: number) => boolean} */
function queryTest(query, searched, units) {
  const tests = parseQuery(query, units).map((word) => {
    const test = wordTest(query, word, searched, units);
    return (/** @type {number} */ row) => test(row) !== word.negated;
  });
  return (row) => tests.every((test) => test(row));
}
/** @param {string} query @param {Word} word @param {Searched[]} searched @param {Units} units @returns {(row: number) => boolean} */
function wordTest(query, word, searched, units) {
  const { name, sign, value } = word, patterns = value.toLowerCase().split(",").filter(Boolean);
  if (!sign) {
    const texts = searched.filter((one) => one.kind === "text"), contained = fits([value.toLowerCase()], true);
    return (row) => texts.some((one) => { const text = searchedValue(one, row); return text !== null && contained(String(text)); });
  }
  const bare = (/** @type {string} */ key) => (key.includes("_") ? key.slice(0, key.lastIndexOf("_")) : "");
  const every = searched.filter((one) => one.key.startsWith(`${name}[`)), exact = searched.find((one) => one.key === name);
  const columns = exact ? [exact] : every.length ? every : searched.filter((one) => bare(one.key) === name).slice(-1);
  const first = columns[0] ?? refuse(query, word.start, `unknown column '${name}'; allowed: ${searched.map((one) => bare(one.key) || one.key).join(", ")}`);
  if (sign === ":") {
    if (first.kind === "number") refuse(query, word.start, `${name} has numbers; write ${name}<${value}`);
    const fitting = fits(patterns, false);
    return (row) => columns.some((one) => { const text = searchedValue(one, row); return text !== null && fitting(String(text)); });
  }
  if (first.kind === "text") refuse(query, word.start, `${name} has texts; write ${name}:${value}`);
  const limit = inUnitOf(query, word, first, units);
  return (row) => columns.some((one) => {
    const found = searchedValue(one, row);
    if (typeof found !== "number") return false;
    return sign === "<" ? found < limit : sign === "<=" ? found <= limit : sign === ">" ? found > limit : sign === ">=" ? found >= limit : found === limit;
  });
}
/** Return the limit of a comparison in the unit of its column. @param {string} query @param {Word} word @param {Searched} column @param {Units} units */
function inUnitOf(query, { at, value }, column, units) {
  const [, number = "", unit = ""] = NUMBER.exec(value) ?? [];
  if (!number) refuse(query, at, `'${value}' is no number${column.unit && `, such as 5${column.unit}`}`);
  if (!unit) return Number(number);
  if (!column.unit) refuse(query, at, `'${value}' has a unit, and ${column.key} has none that can be converted`);
  const [kind, sizes] = Object.entries(units).find(([, sizes]) => column.unit in sizes) ?? ["", {}], size = sizes[unit];
  if (size === undefined) refuse(query, at, `'${value}' is no ${kind}; its units are ${Object.keys(sizes).join(", ")}`);
  return (Number(number) * size) / (sizes[column.unit] ?? 1);
}
