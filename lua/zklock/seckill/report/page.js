// --- page.js: verdicts, sales, and the beginning ---------------------------------------

function badge(parent, sale) {
  const { mark, word } = VERDICTS[sale.verdict] ?? VERDICTS.failed;
  const made = element("span", parent, undefined, "badge " + sale.verdict);
  element("span", made, mark + " ").setAttribute("aria-hidden", "true");
  made.append(word);
}

const isExpected = sale => !sale.expect || sale.verdict === sale.expect;

function expectation(sale) {
  if (!sale.expect) return "";
  const word = VERDICTS[sale.expect].word.toLowerCase();
  return `${isExpected(sale) ? "As" : "NOT as"} expected: this one must be ${word}.`;
}

// --- verdicts --------------------------------------------------------------------------

const FEW = 6; // sales, of which each has a card, and a line in one picture
const hasSales = sales.some(sale => !sale.history);

function countVerdicts() {
  const count = verdict => sales.filter(sale => sale.verdict === verdict).length;
  const [one, many] = hasSales ? ["sale", "sales"] : ["history", "histories"];
  if (sales.length === 1) {
    const { word } = VERDICTS[sales[0].verdict] ?? VERDICTS.failed;
    return sales[0].verdict === "failed" ? `The ${one} could not be judged.` :
      `The ${one} is ${word.toLowerCase()}.`;
  }
  const failed = count("failed");
  return `${grouped(sales.length)} ${many}: ${count("right")} right, ${count("wrong")} wrong` +
    (failed ? `; ${failed} could not be judged.` : ".");
}

function summarize() {
  const unexpected = sales.filter(sale => !isExpected(sale));
  if (unexpected.length)
    return countVerdicts() + " Not as expected: " +
      unexpected.map(sale => sale.name).join(", ") + ".";
  return countVerdicts() + (sales.every(sale => sale.expect) && sales.length ?
    " All as expected." : "");
}

const SALE_MEANING = "In a flash sale many buyers want the last items at the same moment. " +
  "Several servers serve them; each reads the stock, takes one off, and writes it back. Right: " +
  "what was sold and what is left add up to what there was. Wrong: they do not, for two servers " +
  "read the same stock, and one of their writes undid the other. A lock lets one at a time " +
  "through.";

const HISTORY_MEANING = "Clients took and gave back a lock, while faults were inflicted on them " +
  "and on the servers. Right: no rule was violated. A client that is stopped or cut off learns " +
  "late that it has lost the lock, so two may believe at once that they hold it.";

function factsOf(sale) {
  const facts = [];
  const add = (name, count) => {
    if (count !== undefined) facts.push(`${grouped(count)} ${name}`);
  };
  add(sale.history ? "claims" : "buyers", sale.buyers);
  add("sold", sale.sold);
  add("refused", sale.refused);
  if (sale.failed) add("failed", sale.failed);
  facts.push(duration(sale.seconds));
  return facts.join(" · ");
}

function link(parent, sale) {
  element("a", parent, sale.name).href = "#sale-" + sale.index;
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

// The same in a line, where there are many.
function listVerdict(parent, sale) {
  const line = element("li", parent);
  badge(line, sale);
  link(line, sale);
  element("span", line, sale.finding);
  if (sale.expect)
    element("span", line, isExpected(sale) ? "as expected" : "NOT as expected",
      isExpected(sale) ? "faint" : "finding");
}

function showVerdicts() {
  byId("summary").textContent = summarize();
  byId("meaning").textContent = hasSales ? SALE_MEANING : HISTORY_MEANING;
  if (sales.length <= FEW) {
    const cards = element("div", byId("verdicts"), undefined, "cards");
    for (const sale of sales) showVerdict(cards, sale);
  } else {
    const lines = element("ul", byId("verdicts"), undefined, "lines");
    for (const sale of sales) listVerdict(lines, sale);
  }
}

// --- one sale --------------------------------------------------------------------------

const numberOf = count => count === undefined ? "–" : grouped(count);

const productColumns = [
  { title: "product", of: each => each.product },
  { title: "stock at first", of: each => grouped(each.first), number: true },
  { title: "ordered", of: each => numberOf(each.ordered), number: true },
  { title: "left in the store", of: each => numberOf(each.left), number: true },
  { title: "left, if right", number: true,
    of: each => each.ordered === undefined ? "–" : grouped(each.first - each.ordered) },
];

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
    sale.store && "store: " + sale.store].filter(Boolean).join(" · "), "faint");
  if (sale.stock.length)
    tableBehind(section, "Table: what the store says", productColumns, sale.stock,
      { printed: true });
  const time = new Time(sale);
  timeBar(section, time);
  drawLanes(section, sale, time);
  drawStock(section, sale, time);
  if (sale.holds.length) drawGrants(section, sale, time);
  drawOrder(section, sale);
}

// --- light, dark, paper ----------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = null; // a theme, by the button

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  const other = name === "dark" ? "Light" : "Dark";
  byId("theme").textContent = other;
  byId("theme").setAttribute("aria-label", `${other} colours`);
  redrawPlots();
}

const setOwnTheme = () => setTheme(chosen ?? (dark.matches ? "dark" : "light"));

let opened = []; // for paper

function beforePrint() {
  opened = [...document.querySelectorAll("details[data-printed]:not([open])")];
  for (const details of opened) {
    details.open = true;
    details.fill();
  }
  setTheme("light");
  fitPlots(PAPER);
}

function afterPrint() {
  for (const details of opened) details.open = false;
  fitPlots();
  setOwnTheme();
}

// --- the beginning ---------------------------------------------------------------------

function begin() {
  setOwnTheme();
  showVerdicts();
  if (sales.some(sale => sale.holds.length)) drawWaits(byId("waits"));
  else byId("waits").remove();
  for (const sale of sales) showSale(sale);
  dark.addEventListener("change", setOwnTheme);
  byId("theme").onclick = () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    setOwnTheme();
  };
  new ResizeObserver(() => fitPlots()).observe(byId("header")); // as wide as the pictures
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
  addEventListener("keydown", event => { if (event.key === "Escape") tell([]); });
  requestAnimationFrame(() => {
    document.documentElement.dataset.drawn = Math.round(performance.now());
  });
}

begin();
