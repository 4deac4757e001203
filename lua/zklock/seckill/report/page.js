// --- page.js: verdicts, sales, and the start -------------------------------------------

const verdictOf = ({ verdict }) => VERDICTS[verdict] ?? VERDICTS.failed;

function badge(parent, judged) {
  const { mark, word } = verdictOf(judged);
  const made = element("span", parent, undefined, "badge " + judged.verdict);
  element("span", made, mark + " ").setAttribute("aria-hidden", "true");
  made.append(word);
}

// Compares a sale's verdict, or its scenario's, with the expectation.
const isExpected = judged => !judged.expect || judged.verdict === judged.expect;

function expectation(sale) {
  const judged = sale.scenario ?? sale;
  if (!judged.expect) return "";
  const what = sale.scenario ? "this scenario" : "this one";
  const word = verdictOf({ verdict: judged.expect }).word.toLowerCase();
  return `${isExpected(judged) ? "As" : "NOT as"} expected: ${what} must be ${word}.`;
}

// --- verdicts --------------------------------------------------------------------------

const FEW = 6; // most sales that get a card each, and a line each in one picture
const hasSales = scenarios.length > 0 || sales.some(sale => !sale.history);
const judgedItems = scenarios.length ? scenarios : sales;
const nameOf = judged => judged.name ?? `${judged.title} (${judged.id})`;

function countVerdicts() {
  const count = verdict => judgedItems.filter(judged => judged.verdict === verdict).length;
  const [one, many] = scenarios.length ? ["scenario", "scenarios"] :
    hasSales ? ["sale", "sales"] : ["history", "histories"];
  if (judgedItems.length === 1) {
    const { word } = verdictOf(judgedItems[0]);
    return judgedItems[0].verdict === "failed" ? `The ${one} could not be judged.` :
      `The ${one} is ${word.toLowerCase()}.`;
  }
  const failed = count("failed"), stuck = count("stuck");
  return `${grouped(judgedItems.length)} ${many}: ${count("right")} right, ` +
    `${count("wrong")} wrong` + (stuck ? `, ${stuck} stuck` : "") +
    (failed ? `; ${failed} could not be judged.` : ".");
}

function summarize() {
  const unexpected = judgedItems.filter(judged => !isExpected(judged));
  if (unexpected.length)
    return countVerdicts() + " Not as expected: " + unexpected.map(nameOf).join(", ") + ".";
  return countVerdicts() + (judgedItems.every(judged => judged.expect) && judgedItems.length ?
    " All as expected." : "");
}

const SALE_MEANING = "In a flash sale many buyers want the last items at the same moment. " +
  "Several servers serve them; each reads the stock, takes one off, and writes it back. Right: " +
  "what was sold and what is left add up to what there was, and each buyer got what it asked " +
  "for and was told. Wrong: it is not so, mostly because two servers read the same stock, and " +
  "one of their writes undid the other. A lock lets one at a time through.";

const STUCK_MEANING = " Stuck: nothing false was sold, but buyers waited in vain, as for the lock " +
  "of a dead process, or nobody was served.";

const HISTORY_MEANING = "Clients took and gave back a lock, while faults were inflicted on them " +
  "and on the servers. Right: no rule was violated. A client that is stopped or cut off learns " +
  "late that it has lost the lock, so two may believe at once that they hold it.";

function listFailures(sale) {
  const words = sale.reasons.map(each => `${grouped(each.count)} ${each.outcome}`);
  return words.length ? ` (${words.join(", ")})` : "";
}

// A text about the store's refusal of late writes.
function fencing(sale) {
  if (sale.fenced === undefined) return null;
  if (!sale.fenced) return "not fenced: the store takes late writes";
  return sale.holds.some(hold => hold.token) ? "fenced: the store refuses late writes" :
    "fenced in vain: this lock has no tokens";
}

function factsOf(sale) {
  const facts = [];
  const add = (name, count) => {
    if (count !== undefined) facts.push(`${grouped(count)} ${name}`);
  };
  add(sale.history ? "claims" : "buyers", sale.buyers);
  add("sold", sale.sold);
  add("refused", sale.refused);
  if (sale.failed) facts.push(`${grouped(sale.failed)} failed${listFailures(sale)}`);
  facts.push(duration(sale.seconds));
  return facts.join(" · ");
}

function link(parent, sale, text = sale.name) {
  element("a", parent, text).href = "#sale-" + sale.index;
}

function showVerdict(parent, sale) {
  const card = element("article", parent, undefined, "card " + sale.verdict);
  const head = element("h3", card);
  badge(head, sale);
  link(head, sale);
  element("p", card, sale.finding, "finding");
  element("p", card, sale.why);
  if (sale.expect) element("p", card, expectation(sale), "expectation");
  element("p", card, factsOf(sale), "faint");
}

// One line, for long lists.
function listVerdict(parent, judged, addLinks) {
  const line = element("li", parent);
  badge(line, judged);
  addLinks(element("span", line));
  element("span", line, judged.finding);
  if (judged.expect)
    element("span", line, isExpected(judged) ? "as expected" : "NOT as expected",
      isExpected(judged) ? "faint" : "finding");
}

// A sale's name without its scenario's name.
function shortName(sale, { title, id }) {
  const prefix = title + ": ", suffix = ` (${id})`;
  const isLong = sale.name.startsWith(prefix) && sale.name.endsWith(suffix);
  return isLong ? sale.name.slice(prefix.length, -suffix.length) : sale.name;
}

// One sale is linked by the scenario's name; several follow that name, with a link each.
function linkScenario(parent, scenario) {
  const own = scenario.sales.map(index => sales[index]);
  if (own.length === 1) return link(parent, own[0], nameOf(scenario));
  parent.append(nameOf(scenario));
  own.forEach((sale, i) => {
    parent.append(i ? ", " : ": ");
    link(parent, sale, shortName(sale, scenario));
  });
}

function showVerdicts() {
  byId("summary").textContent = summarize();
  const isStuck = judgedItems.some(judged => judged.verdict === "stuck");
  byId("meaning").textContent = hasSales ? SALE_MEANING + (isStuck ? STUCK_MEANING : "") :
    HISTORY_MEANING;
  if (!scenarios.length && sales.length <= FEW) {
    const cards = element("div", byId("verdicts"), undefined, "cards");
    for (const sale of sales) showVerdict(cards, sale);
    return;
  }
  const lines = element("ul", byId("verdicts"), undefined, "lines");
  for (const scenario of scenarios)
    listVerdict(lines, scenario, parent => linkScenario(parent, scenario));
  if (!scenarios.length)
    for (const sale of sales) listVerdict(lines, sale, parent => link(parent, sale));
}

// --- one sale --------------------------------------------------------------------------

const countText = count => count === undefined ? "–" : grouped(count);

const productColumns = [
  { title: "product", of: each => each.product },
  { title: "stock at first", of: each => grouped(each.first), number: true },
  { title: "ordered", of: each => countText(each.ordered), number: true },
  { title: "left in the store", of: each => countText(each.left), number: true },
  { title: "left, if right", number: true,
    of: each => each.ordered === undefined ? "–" : grouped(each.first - each.ordered) },
  { title: "wrong", of: each => each.mismatch ?? "" },
];

const optionColumns = [
  { title: "option", of: option => option.name },
  { title: "value", of: option => option.value },
];

const noteColumns = sale => [
  { title: "at", of: note => timeText(note.at), number: true },
  { title: "server", of: note => serverName(sale, note) },
  { title: personOf(sale), of: note => note.buyer ?? "–", number: true },
  { title: "token", of: note => note.token ?? "–", number: true },
  { title: "note", of: note => note.line },
];

function showPictures(section, sale) {
  const time = new Time(sale);
  if (sale.holds.length || hasStock(sale)) timeBar(section, time);
  if (sale.holds.length) {
    drawLanes(section, sale, time);
    drawMessages(section, sale, time);
    if (!sale.history) stepsBehind(section, sale, time); // histories lack the ends of waits
  } else {
    element("p", section, "Nobody had a lock, so there is no picture of who held it.");
    lanesTables(section, sale);
  }
  drawMoment(section, sale, time);
  drawStock(section, sale, time);
  if (sale.holds.length > 1) {
    drawGrants(section, sale, time);
    drawOrder(section, sale);
  }
}

function showSale(sale) {
  const section = element("section", byId("sales"), undefined, "sale");
  section.id = "sale-" + sale.index;
  const head = element("h2", section);
  badge(head, sale);
  head.append(sale.name);
  if (sale.explanation) element("p", section, sale.explanation);
  element("p", section, sale.finding, "finding");
  element("p", section, `${sale.why} ${expectation(sale)}`);
  element("p", section, [factsOf(sale), sale.strategy && "strategy: " + sale.strategy,
    sale.store && "store: " + sale.store, fencing(sale)].filter(Boolean).join(" · "), "faint");
  if (sale.stock.length)
    tableBehind(section, "Table: what the store says", productColumns, sale.stock,
      { printed: true });
  if (sale.settings.length)
    tableBehind(section, "Table: options", optionColumns, sale.settings, { printed: true });
  if (sale.notes.length)
    tableBehind(section, "Table: notes", noteColumns(sale), sale.notes, { printed: true });
  showPictures(section, sale);
}

// --- light, dark, paper ----------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null; // by the button

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  const other = name === "dark" ? "Light" : "Dark";
  byId("theme").textContent = other;
  byId("theme").setAttribute("aria-label", `${other} colours`);
  redrawPlots();
}

const setOwnTheme = () => setTheme(chosenTheme ?? (dark.matches ? "dark" : "light"));

let opened = []; // details opened for printing

function beforePrint() {
  opened = [...document.querySelectorAll("details[data-printed]:not([open])")];
  for (const details of opened) {
    details.open = true;
    details.fill();
  }
  setTheme("light");
  fitPlots(true);
}

function afterPrint() {
  for (const details of opened) details.open = false;
  fitPlots();
  setOwnTheme();
}

// --- the start -------------------------------------------------------------------------

function start() {
  setOwnTheme();
  showVerdicts();
  if (sales.some(hasWaits)) drawWaits(byId("waits"));
  else byId("waits").remove();
  showDistances(byId("distances"));
  for (const sale of sales) showSale(sale);
  paintSigns();
  dark.addEventListener("change", setOwnTheme);
  byId("theme").onclick = () => {
    chosenTheme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    setOwnTheme();
  };
  new ResizeObserver(() => fitPlots()).observe(byId("header")); // to fit the new width
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
  addEventListener("keydown", event => { if (event.key === "Escape") tell([]); });
  requestAnimationFrame(() => {
    document.documentElement.dataset.drawn = Math.round(performance.now());
  });
}

start();
