// --- tables.js: the table behind each picture ------------------------------------------
// A table is filled when opened, a hundred rows at a time, so that 10 000 rows stay fast.

const ROWS = 100;

// columns: [{ title, of(entry), number: true, data: { name: of(entry) } }, …]
function fillRow(row, columns, entry) {
  for (const { of, number, data } of columns) {
    const cell = element("td", row, of(entry), number ? "number" : "");
    for (const name in data) cell.dataset[name] = data[name](entry);
  }
}

// A table that is wider than the page gets a hint, a shadow where it continues, and scrolling by
// keys.
function showWidth(scroll, hint) {
  const isWide = scroll.scrollWidth > scroll.clientWidth;
  hint.hidden = !isWide;
  scroll.tabIndex = isWide ? 0 : -1;
  const right = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft;
  scroll.classList.toggle("more-right", right > 1);
  scroll.classList.toggle("more-left", scroll.scrollLeft > 1);
}

function makeScroll(parent, caption) {
  const hint = element("p", parent, "⇆ The table is wider than the page: it scrolls sideways.",
    "faint wide");
  const scroll = element("div", parent, undefined, "scroll");
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", caption);
  const show = () => showWidth(scroll, hint);
  scroll.addEventListener("scroll", show, { passive: true });
  new ResizeObserver(show).observe(scroll);
  scroll.measure = show;
  return scroll;
}

function makeTable(parent, columns, caption) {
  const table = element("table", makeScroll(parent, caption));
  element("caption", table, caption, "hidden");
  const head = element("tr", element("thead", table));
  for (const { title, number } of columns)
    element("th", head, title, number ? "number" : "").scope = "col";
  return element("tbody", table);
}

function makePager(parent, count, show) {
  const bar = element("div", parent, undefined, "pager");
  let first = 0;
  const go = to => {
    first = Math.max(0, Math.min(to, Math.floor((count - 1) / ROWS) * ROWS));
    where.textContent = `rows ${grouped(first + 1)} to ` +
      `${grouped(Math.min(first + ROWS, count))} of ${grouped(count)}`;
    show(first);
  };
  button(bar, "|◀", "first rows", () => go(0));
  button(bar, "◀", "rows before", () => go(first - ROWS));
  const where = element("span", bar);
  button(bar, "▶", "rows after", () => go(first + ROWS));
  button(bar, "▶|", "last rows", () => go(count));
  go(0);
}

function fillTable(parent, title, columns, entries) {
  const body = makeTable(parent, columns, title);
  const show = first => {
    body.replaceChildren();
    for (const entry of entries.slice(first, first + ROWS))
      fillRow(element("tr", body), columns, entry);
    body.closest(".scroll").measure();
  };
  if (entries.length > ROWS) makePager(parent, entries.length, show);
  else show(0);
}

// A closed table, opened for printing if `printed`.
function tableBehind(parent, title, columns, entries, { printed = false } = {}) {
  const details = element("details", parent);
  const summary = element("summary", details, title + " ");
  element("span", summary, `(${plural(entries.length, "row", "rows")})`, "faint");
  if (printed) details.dataset.printed = "";
  details.fill = () => {
    if (details.filled) return;
    details.filled = true;
    fillTable(details, title, columns, entries);
  };
  details.addEventListener("toggle", () => { if (details.open) details.fill(); });
  return details;
}

function purchaseColumns(sale) {
  return [
    { title: personOf(sale), of: each => each.buyer, number: true },
    { title: "server", of: each => serverName(sale, each) },
    ...(sale.history ? [] : [{ title: "product", of: each => each.product }]),
    ...(sale.purchases.some(each => each.lock !== each.product)
      ? [{ title: "lock", of: each => each.lock }] : []),
    { title: "asked", of: each => timeText(each.asked), number: true },
    { title: "granted", of: each => timeText(each.granted), number: true },
    { title: "released", of: each => timeText(each.released), number: true },
    { title: "token", of: each => each.token || "–", number: true },
    ...(sale.history ? [] : [
      { title: "written", of: each => timeText(each.written), number: true },
      { title: "wrote", of: each => each.left === null ? "–" : grouped(each.left), number: true },
    ]),
    ...(sale.purchases.some(each => each.suspect !== null)
      ? [{ title: "suspect", of: each => timeText(each.suspect), number: true }] : []),
    ...(sale.purchases.some(each => each.lost !== null)
      ? [{ title: "lost", of: each => timeText(each.lost), number: true }] : []),
    { title: "outcome", of: each => each.outcome + (each.shared ? ", shared" : "") },
  ];
}

const overlapColumns = [
  { title: "from", of: each => timeText(each.from), number: true,
    data: { from: each => each.from } },
  { title: "to", of: each => timeText(each.to), number: true, data: { to: each => each.to } },
  { title: "for", of: each => duration(each.to - each.from), number: true },
  { title: "lock", of: each => each.lock },
  { title: "holders at once", of: each => grouped(each.holders), number: true },
];

const faultColumns = [
  { title: "what", of: fault => fault.kind },
  { title: "where", of: fault => fault.target },
  { title: "at", of: fault => timeText(fault.at), number: true },
  { title: "ended", of: fault => timeText(fault.ended), number: true },
];
