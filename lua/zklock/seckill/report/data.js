// --- data.js: the sales, from the columns that columns.lua has packed ------------------
// In the columns times are microseconds, and -1 means none (of stocks ""). After unpacking times are
// seconds, and null means none.

const NONE = -1;

// The single locks of a lock. Several locks that are taken together have the name "bun + tea".
const partsOf = lock => lock.split(" + ");

const toSeconds = column => column.map(at => at === NONE ? null : at / 1e6);

function unpackPurchases(sale) {
  const columns = sale.purchases;
  const asked = toSeconds(columns.asked), granted = toSeconds(columns.granted);
  const released = toSeconds(columns.released), ended = toSeconds(columns.ended);
  const written = toSeconds(columns.written), told = toSeconds(columns.told);
  const suspect = toSeconds(columns.suspect), lost = toSeconds(columns.lost);
  return columns.buyer.map((buyer, i) => ({
    index: i, buyer: buyer === NONE ? "?" : buyer, server: columns.server[i],
    product: sale.products[columns.product[i]], lock: sale.locks[columns.lock[i]],
    locks: partsOf(sale.locks[columns.lock[i]]),
    shared: columns.shared[i] === 1, token: columns.token[i],
    outcome: sale.outcomes[columns.outcome[i]],
    asked: asked[i], granted: granted[i], released: released[i], ended: ended[i],
    written: written[i], told: told[i], suspect: suspect[i], lost: lost[i],
    left: columns.left[i] === "" ? null : columns.left[i], quantity: columns.quantity[i],
    writes: [], red: [],
  }));
}

// Adds the purchases' writes, except their last one of their own product.
function unpackWrites({ writes, products, purchases }) {
  const at = toSeconds(writes.at);
  writes.purchase.forEach((index, i) => purchases[index].writes.push({ at: at[i],
    product: products[writes.product[i]], left: writes.left[i], quantity: writes.quantity[i] }));
}

const wroteOnlyOthers = purchase => purchase.left === null && purchase.writes.length > 0;

// The sold products of a purchase, with their quantities.
function soldPieces(purchase) {
  if (purchase.outcome !== "sold") return [];
  return wroteOnlyOthers(purchase) ? purchase.writes : [purchase, ...purchase.writes];
}

function unpackOverlaps(sale) {
  const { lock, holders, ...columns } = sale.overlaps;
  const from = toSeconds(columns.from), to = toSeconds(columns.to);
  return lock.map((index, i) =>
    ({ lock: sale.locks[index], locks: partsOf(sale.locks[index]), from: from[i], to: to[i],
      holders: holders[i] }));
}

const bySent = (a, b) => a.sent - b.sent;

// A lost message has no time of arrival.
function unpackMessages({ messages, locks }) {
  const sent = toSeconds(messages.sent), arrived = toSeconds(messages.arrived);
  return messages.kind.map((kind, i) => ({ kind, server: messages.server[i], sent: sent[i],
    arrived: arrived[i], isLost: arrived[i] === null, lock: locks[messages.lock[i]] ?? null,
    text: messages.texts[messages.text[i]] }));
}

// Messages of a sale with real processes, as far as the servers' records show them.
function recordedMessages(sale) {
  const messages = [];
  const add = (kind, at, { server, lock }, text) => {
    if (at === null) return;
    messages.push({ kind, server, sent: at, arrived: at, isLost: false, lock, text });
  };
  for (const each of sale.purchases) {
    add("request", each.asked, each, "asks for the lock");
    add("answer", each.granted, each, "has the lock");
    add("request", each.released, each, "gives the lock back");
  }
  return messages.sort(bySent);
}

function messagesOf(sale) {
  if (sale.messages)
    return unpackMessages(sale).filter(each => each.sent <= sale.end).sort(bySent);
  return !sale.history && /^zookeeper/.test(sale.strategy) ? recordedMessages(sale) : [];
}

function lastMoment(sale) {
  let last = sale.seconds;
  for (const { asked, granted, released, written } of sale.purchases)
    last = Math.max(last, asked, granted, released, written);
  for (const { to } of sale.overlaps) last = Math.max(last, to);
  for (const { at, ended } of sale.faults) last = Math.max(last, at, ended);
  return last || 1;
}

// A hold ends with its release or with its server; otherwise its end is unknown.
const endOf = (hold, sale) => hold.released ?? hold.ended ?? sale.end;

// What is of several locks is in the list of each.
function byLock(list) {
  const found = new Map();
  for (const each of list) for (const lock of each.locks) {
    if (!found.has(lock)) found.set(lock, []);
    found.get(lock).push(each);
  }
  return found;
}

// Merges stretches of time that meet; `holders` is the most holders of one lock.
function mergeStretches(stretches) {
  const merged = [];
  for (const { from, to, holders } of [...stretches].sort((a, b) => a.from - b.from)) {
    const last = merged[merged.length - 1];
    if (!last || from > last.to) {
      merged.push({ from, to, holders });
    } else {
      last.to = Math.max(last.to, to);
      last.holders = Math.max(last.holders, holders);
    }
  }
  return merged;
}

// A hold is red where it meets an overlap of its lock. Overlaps of one lock do not meet.
function redden(sale) {
  const overlaps = byLock(sale.overlaps);
  for (const [lock, holds] of byLock(sale.holds)) {
    const list = overlaps.get(lock) ?? [];
    let first = 0;
    for (const hold of holds.sort((a, b) => a.granted - b.granted)) {
      while (list[first]?.to <= hold.granted) first++;
      for (let i = first; list[i]?.from < hold.end; i++)
        hold.red.push({ from: Math.max(hold.granted, list[i].from),
          to: Math.min(hold.end, list[i].to) });
    }
  }
  for (const hold of sale.holds) if (hold.locks.length > 1) hold.red = mergeStretches(hold.red);
}

// Sets each hold's `lateWrite`. A write is late if it comes after its hold, after the loss of the
// lock, or, if the lock has tokens, after the next grant. (Without tokens two holders are red, and
// either write may be the wrong one.) A refused write is known only by its answer.
function findLateWrites(sale) {
  const nextGrants = new Map(); // exclusive grants, by lock
  for (const hold of [...sale.holds].sort((a, b) => b.granted - a.granted)) {
    const next = Math.min(...hold.locks.map(lock => nextGrants.get(lock) ?? Infinity));
    const refused = hold.outcome === "late", at = refused ? hold.told : hold.written;
    const until = Math.min(hold.end, hold.lost ?? Infinity, hold.token ? next : Infinity);
    hold.lateWrite = at !== null && (refused || at > until) ? { at, until, refused } : null;
    if (!hold.shared) for (const lock of hold.locks) nextGrants.set(lock, hold.granted);
  }
}

function unpack(sale, index) {
  sale.index = index;
  sale.seconds /= 1e6;
  for (const fault of sale.faults) {
    fault.at /= 1e6;
    fault.ended = fault.ended === NONE ? null : fault.ended / 1e6;
  }
  sale.purchases = unpackPurchases(sale);
  unpackWrites(sale);
  sale.overlaps = unpackOverlaps(sale);
  sale.end = lastMoment(sale);
  sale.hasBothEnds = sale.messages !== undefined; // send and arrival times of messages
  sale.messages = messagesOf(sale);
  for (const { arrived } of sale.messages) sale.end = Math.max(sale.end, arrived);
  sale.holds = sale.purchases.filter(purchase => purchase.granted !== null);
  for (const hold of sale.holds) hold.end = endOf(hold, sale);
  sale.locks = [...new Set(sale.locks.flatMap(partsOf))];
  redden(sale);
  findLateWrites(sale);
  sale.atOnce = sale.overlaps.reduce((most, { holders }) => Math.max(most, holders), 0);
  for (const note of sale.notes) note.at = note.at === NONE ? null : note.at / 1e6;
  return sale;
}

const { sales, scenarios } = JSON.parse(document.getElementById("data").textContent);
sales.forEach(unpack);
for (const scenario of scenarios) for (const index of scenario.sales)
  sales[index].scenario = scenario;

// --- words and numbers -----------------------------------------------------------------

const grouped = new Intl.NumberFormat("en-US").format;

function plural(count, one, many) {
  return grouped(count) + " " + (count === 1 ? one : many);
}

const SPACE = "\u00a0"; // no line break between a number and its unit

// A duration with three significant figures, such as 12.3 ms.
function duration(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0" + SPACE + "s";
  const [unit, factor] = size < 1e-3 ? ["µs", 1e6] : size < 1 ? ["ms", 1e3] : ["s", 1];
  return Number((seconds * factor).toPrecision(3)) + SPACE + unit;
}

// A time of the sale, to the microsecond by default.
function timeText(seconds, digits = 6) {
  return seconds === null ? "–" : seconds.toFixed(digits) + SPACE + "s";
}

const VERDICTS = {
  right: { mark: "✔", word: "Right" },
  wrong: { mark: "✘", word: "Wrong" },
  stuck: { mark: "‖", word: "Stuck" },
  failed: { mark: "?", word: "Not judged" },
};

const personOf = sale => sale.history ? "claim" : "buyer";

function serverName(sale, purchase) {
  return sale.servers[purchase.server] ?? "?";
}

// --- elements, with any text as text ---------------------------------------------------

function element(name, parent, text, className) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

// A button with a label for readers of the screen, and the name of its key, if it has one.
function button(parent, text, label, act, key) {
  const made = element("button", parent, text);
  made.type = "button";
  made.setAttribute("aria-label", label);
  if (key) made.title = `${label} (key ${key.replace("Arrow", "")})`;
  made.onclick = act;
}

const byId = id => document.getElementById(id);
