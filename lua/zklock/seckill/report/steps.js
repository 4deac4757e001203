// --- steps.js: forward and back through what happened ----------------------------------
// Each step is a line of the record. The state after it (waiting buyers, holders, known states of
// holds, stock) is computed from the first step on, once the steps are opened.

const MOST_NAMES = 12; // most waiting buyers by name

const personWords = (sale, { buyer, ...each }) =>
  `${personOf(sale)} ${buyer} (${serverName(sale, each)})`;

// Names the product if there are several.
const wroteWords = ({ left, product }, isOneOfSeveral) =>
  `writes a stock of ${grouped(left)}` + (isOneOfSeveral ? ` of ${product}` : "");

// For each kind of event a function for its words, a function for its effect on the state, and its
// rank among events of the same time.
const EVENTS = {
  asked: [each => `asks for lock ${each.lock}`,
    (state, each) => { state.waiting.add(each); }, 3],
  granted: [each => `gets lock ${each.lock}` + (each.token ? `, token ${each.token}` : ""),
    (state, each) => { state.waiting.delete(each); state.holding.set(each, "held"); }, 4],
  suspect: [() => "knows that its hold is suspect",
    (state, each) => { if (state.holding.has(each)) state.holding.set(each, "suspect"); }, 5],
  lost: [() => "knows that its hold is lost",
    (state, each) => { if (state.holding.has(each)) state.holding.set(each, "lost"); }, 5],
  written: [each => (each.left === null ? "writes" : wroteWords(each, each.writes.length > 0)) +
    (each.lateWrite ? ", too late" : ""),
    (state, each) => { if (each.left !== null) state.stock.set(each.product, each.left); }, 0],
  told: [each => each.outcome === "late" ? "is late: the store refuses its write" :
    `is told: ${each.outcome}`,
    (state, each) => {
      state.waiting.delete(each);
      for (const { product } of soldPieces(each))
        state.sold.set(product, state.sold.get(product) + 1);
    }, 1],
  released: [() => "gives the lock back", (state, each) => { state.holding.delete(each); }, 2],
  ended: [() => "ends with its server", (state, each) => { state.holding.delete(each); }, 2],
};

// Effects of faults. A stopped server stands still, and a killed server has no waiting buyers.
const STRIKES = {
  stop: (state, target) => { state.stopped.add(target); },
  kill: (state, target, sale) => {
    for (const each of state.waiting)
      if (serverName(sale, each) === target) state.waiting.delete(each);
  },
};

function stepsOfFaults(sale) {
  const steps = [];
  for (const { at, ended, kind, target } of sale.faults) {
    steps.push({ at, rank: 0, text: `Fault: ${kind} of ${target}.`,
      act: state => STRIKES[kind]?.(state, target, sale) });
    if (ended !== null)
      steps.push({ at: ended, rank: 0, text: `Over: ${kind} of ${target}.`,
        act: state => { if (kind === "stop") state.stopped.delete(target); } });
  }
  return steps;
}

function stepsOfNotes(sale) {
  return sale.notes.filter(note => note.at !== null).map(note => ({ at: note.at, rank: 6,
    text: `${personWords(sale, note)} notes: ${note.line}`, act: () => {} }));
}

// Steps of a simulated sale's messages; in a real sale the events of purchases stand for them.
function stepsOfMessages(sale) {
  if (!sale.hasBothEnds) return [];
  return sale.messages.map(each => ({ at: each.isLost ? each.sent : each.arrived, rank: -1,
    text: messageWords(sale, each) + ".", act: () => {} }));
}

// All steps in order of time.
function stepsOf(sale) {
  const steps = [...stepsOfFaults(sale), ...stepsOfNotes(sale), ...stepsOfMessages(sale)];
  for (const each of sale.purchases) for (const name in EVENTS) {
    if (each[name] === null || (name === "written" && wroteOnlyOthers(each))) continue;
    const [words, act, rank] = EVENTS[name];
    steps.push({ at: each[name], rank, text: `${personWords(sale, each)} ${words(each)}.`,
      act: state => act(state, each) });
  }
  for (const each of sale.purchases) for (const write of each.writes)
    steps.push({ at: write.at, rank: 0,
      text: `${personWords(sale, each)} ${wroteWords(write, true)}.`,
      act: state => { state.stock.set(write.product, write.left); } });
  return steps.sort((a, b) => a.at - b.at || a.rank - b.rank);
}

// The state after the first `count` steps.
function stateAfter(sale, steps, count) {
  const state = { waiting: new Set(), holding: new Map(), stopped: new Set(),
    stock: new Map(sale.stock.map(each => [each.product, each.first])),
    sold: new Map(sale.products.map(product => [product, 0])) };
  for (let i = 0; i < count; i++) steps[i].act(state);
  return state;
}

// --- the state in words ----------------------------------------------------------------

function holderWords(sale, state, hold) {
  const words = [personWords(sale, hold)];
  if (hold.token) words.push(`token ${hold.token}`);
  if (hold.shared) words.push("shared");
  words.push(state.stopped.has(serverName(sale, hold)) ? "stands still, and last knew: " +
    state.holding.get(hold) : `knows: ${state.holding.get(hold)}`);
  return words.join(", ");
}

function waitingWords(sale, waiting) {
  if (!waiting.length) return "nobody";
  const names = waiting.slice(0, MOST_NAMES).map(each => each.buyer).join(", ");
  const more = waiting.length - MOST_NAMES;
  return `${plural(waiting.length, personOf(sale), personOf(sale) + "s")}: ${names}` +
    (more > 0 ? `, and ${grouped(more)} more` : "");
}

// A name and a state for each lock and each product.
function linesOf(sale, state) {
  const lines = [];
  for (const lock of sale.locks) {
    const holders = [...state.holding.keys()].filter(each => each.locks.includes(lock));
    const waiting = [...state.waiting].filter(each => each.locks.includes(lock));
    const several = holders.length > 1 && holders.some(each => !each.shared);
    lines.push([`lock ${lock}: ${several ? `${holders.length} HOLD IT AT ONCE` : "holds"}`,
      holders.map(each => holderWords(sale, state, each)).join("; ") || "nobody"]);
    lines.push([`lock ${lock}: waits`, waitingWords(sale, waiting)]);
  }
  for (const { product, first } of sale.stock) {
    const stock = state.stock.get(product), sold = state.sold.get(product) ?? 0;
    lines.push([`stock of ${product}`, `${grouped(stock)} as written, of ${grouped(first)}; ` +
      `${plural(sold, "buyer was", "buyers were")} told "sold"`]);
  }
  return lines;
}

// --- the steps, one at a time ----------------------------------------------------------

const BUTTONS = [
  ["|◀", "before the first step", () => 0, "Home"],
  ["◀", "step back", at => at - 1, "ArrowLeft"],
  ["▶", "step forward", at => at + 1, "ArrowRight"],
  ["▶|", "after the last step", (_, last) => last, "End"],
];

function fillSteps(details, sale, time) {
  const steps = stepsOf(sale), walker = element("div", details, undefined, "walker");
  const bar = element("div", walker, undefined, "pager");
  const position = document.createElement("output");
  const stepText = element("p", walker, "", "finding");
  const list = element("dl", walker);
  let at = 0;
  const go = to => {
    at = Math.max(0, Math.min(to, steps.length));
    const step = steps[at - 1];
    position.textContent = `step ${grouped(at)} of ${grouped(steps.length)}, at ` +
      timeText(step ? step.at : 0);
    stepText.textContent = step ? step.text : "Nothing has happened yet.";
    list.replaceChildren();
    for (const [name, words] of linesOf(sale, stateAfter(sale, steps, at))) {
      element("dt", list, name);
      element("dd", list, words);
    }
    time.mark(step ? step.at : 0);
  };
  for (const [text, label, target, key] of BUTTONS)
    button(bar, text, label, () => go(target(at, steps.length)), key);
  bar.append(position);
  stepText.setAttribute("aria-live", "polite");
  walker.tabIndex = 0;
  walker.setAttribute("role", "group");
  walker.setAttribute("aria-label", "Step by step. Keys: left, right, Home, End.");
  details.addEventListener("keydown", event => { // also with the focus on the summary
    const walk = BUTTONS.find(each => each[3] === event.key);
    if (!details.open || !walk || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(walk[2](at, steps.length));
  });
  go(0);
}

function stepsBehind(parent, sale, time) {
  const details = element("details", parent, undefined, "steps");
  element("summary", details, "Step by step: who waits, who holds, what each knows, the stock");
  details.fill = () => {
    if (details.filled) return;
    details.filled = true;
    fillSteps(details, sale, time);
  };
  details.addEventListener("toggle", () => {
    if (details.open) details.fill();
    else time.mark(null);
  });
}
