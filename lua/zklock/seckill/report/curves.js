// --- curves.js: waits, stock, grants a second, order -----------------------------------

// Each line has a colour and a dash pattern.
const LINE_COLOURS = ["one", "two", "three", "four", "five", "six", "seven"];
const DASHES = [[], [9, 4], [3, 3], [14, 3, 3, 3], [18, 6], [9, 3, 3, 3, 3, 3]];

const legend = { markers: { show: false } };

function line(index, label, more) {
  const colour = LINE_COLOURS[index % LINE_COLOURS.length];
  return { label, stroke: () => colours[colour], dash: DASHES[index % DASHES.length], width: 2,
    points: { show: false }, ...more };
}

// --- waits, in one picture for all sales -----------------------------------------------

const LEAST_WAIT = 1e-5; // seconds; shorter waits are drawn as this, on a logarithmic scale
const SHARES = [0, .5, .9, .99, .999, .9999];

// The axis of shares is logarithmic in their distance from 1, so 90 % is at 1, 99 % at 2, 99.9 % at
// 3.
const nines = share => -Math.log10(1 - share);
const shareOf = nine => 1 - 10 ** -nine;

const percent = share => Number((100 * share).toFixed(2)) + " %";

const differences = (purchases, from, to) => Float64Array.from(
  purchases.filter(each => each[from] !== null && each[to] !== null),
  each => each[to] - each[from]).sort();

const sortedWaits = sale => differences(sale.holds, "asked", "granted");
const sortedAnswers = sale => differences(sale.purchases, "asked", "told");

// The two kinds of times with pictures.
const WAITS = { of: sortedWaits, title: "Waits", verb: "waited", meaning: "" };
const ANSWERS = { of: sortedAnswers, title: "Answers", verb: "had their answer after",
  meaning: "The time from a buyer's request to what it is told, also if that is a failure. " };

// The longest time among that share of the sorted times, from the shortest on.
function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

const hasWaits = sale => sale.holds.some(hold => hold.asked !== null);
const hasAnswers = sale =>
  !sale.history && sale.purchases.some(each => each.asked !== null && each.told !== null);

function waitCurves(all) {
  const mostNines = Math.max(.2, ...all.map(waits => Math.log10(waits.length)));
  const grid = Array.from({ length: Math.ceil(mostNines * 60) + 1 }, (_, i) => i / 60);
  const heightAt = (waits, nine) => nine > Math.log10(waits.length) + 1 / 60 ? null :
    Math.max(LEAST_WAIT, quantile(waits, shareOf(nine)));
  return [grid, ...all.map(waits => grid.map(nine => heightAt(waits, nine)))];
}

const timeAt = (times, share) => times.length ? duration(quantile(times, share)) : "–";
const waitAt = share => row => timeAt(row.waits, share);
const answerAt = share => row => timeAt(row.answers, share);

const waitColumns = [
  { title: "sale", of: row => row.sale.name },
  { title: "granted", of: row => grouped(row.sale.holds.length), number: true },
  { title: "never granted", number: true,
    of: row => grouped(row.sale.purchases.length - row.sale.holds.length) },
  { title: "half", of: waitAt(.5), number: true },
  { title: "90 %", of: waitAt(.9), number: true },
  { title: "99 %", of: waitAt(.99), number: true },
  { title: "99.9 %", of: waitAt(.999), number: true },
  { title: "longest", of: waitAt(1), number: true },
  { title: "answer: half", of: answerAt(.5), number: true },
  { title: "answer: 99 %", of: answerAt(.99), number: true },
];

function waitRange(_, low, high) {
  const least = Math.floor(Math.log10(low || LEAST_WAIT));
  return [10 ** least, 10 ** Math.max(least + 1, Math.ceil(Math.log10(high || 1)))];
}

function powersOfTen(_, splits) {
  return splits.map(wait => Math.abs(Math.log10(wait) % 1) < 1e-6 ||
    Math.abs(Math.log10(wait) % 1) > 1 - 1e-6 ? wait : null);
}

function drawTimeCurves(parent, drawn, times) {
  const { figure: made, picture } = figure(parent, {
    title: times.title + ", from the shortest to the longest",
    caption: `${times.meaning}Read it so: go right to 90 %; the height of a line there is how `
      + `long nine of ten ${times.verb} at most. Lower is better; a line that turns up at the right end means that `
      + "it took much longer for a few than for most. Both axes are logarithmic: a line of the "
      + "grid is ten times the one below it, and 99 % is as far from 90 % as 99.9 % from 99 %; "
      + "what is less than " + duration(LEAST_WAIT) + " is drawn as that.",
    label: times.title + " by share of buyers, a line for each sale; the table has the numbers.",
  });
  draw(picture, {
    height: 320, legend, padding: [8, 30, 0, 0],
    scales: { x: { time: false, range: (_, low, high) => [0, high] },
              y: { distr: 3, log: 10, range: waitRange } },
    axes: [
      axis({ splits: (_, i, low, high) => SHARES.map(nines).filter(at => at <= high + .01),
             values: (_, splits) => splits.map(at => percent(shareOf(at))), size: 30,
             label: isNarrow() ? "share served (logarithmic)" :
               "share that was served within that time (logarithmic: 90 %, 99 %, 99.9 %)" }),
      axis({ size: () => gutter() - 18, label: times.verb + " (logarithmic)", filter: powersOfTen,
             values: (_, splits) =>
               splits.map(wait => wait === null ? "" : duration(wait)),
             grid: { filter: powersOfTen, stroke: () => colours.line, width: 1 },
             ticks: { filter: powersOfTen, stroke: () => colours.line, width: 1, size: 5 } }),
    ],
    series: [
      { label: "at", value: (_, nine) => nine === null ? "" : percent(shareOf(nine)) },
      ...drawn.map((sale, i) => line(i, sale.name, {
        value: (_, wait) => wait === null ? "" : duration(wait),
      })),
    ],
  }, waitCurves(drawn.map(times.of)));
  return made;
}

// Too many lines are unreadable; then only the table is shown.
function drawWaits(parent) {
  const rows = sales.map(sale =>
    ({ sale, waits: sortedWaits(sale), answers: sortedAnswers(sale) }));
  const areFew = sales.length <= FEW, answered = sales.filter(hasAnswers);
  const made = areFew ? drawTimeCurves(parent, sales.filter(hasWaits), WAITS) : parent;
  if (areFew && answered.length) drawTimeCurves(parent, answered, ANSWERS);
  const details = tableBehind(made, "Table: waits", waitColumns, rows, { printed: true });
  details.open = areFew;
  if (details.open) details.fill();
  drawShapes(parent);
}

// --- curves in steps over a sale's time ------------------------------------------------

const STEPPED = uPlot.paths.stepped({ align: 1 });

const stepLine = (index, label, write, more) => line(index, label, { paths: STEPPED,
  value: (_, number) => number === null ? "" : write(number), ...more });

// A single line, with the area below it.
const area = (label, write) =>
  [stepLine(0, label, write, { fill: () => colours.one + "33" })];

// `scales` and `bands` are uPlot's.
function drawSteps(picture, time, { height, label, lines, scales, bands }, columns) {
  const shared = time.options();
  time.add(draw(picture, {
    height, legend, ...shared, scales: { ...shared.scales, ...scales }, bands,
    cursor: time.stepCursor(), axes: [timeAxis(), countAxis(label)],
    series: [{ label: "at", value: atPointer }, ...lines],
  }, columns));
  makeMovable(picture, time);
}

// --- stock -----------------------------------------------------------------------------

// Changes to the stock of these products in order of time, with the written stock and the sold
// pieces.
function stockEvents(sale, products) {
  const events = [];
  for (const purchase of sale.purchases) {
    const sold = new Set(soldPieces(purchase));
    for (const each of [purchase, ...purchase.writes]) {
      const at = each.at ?? purchase.written ?? purchase.released ?? purchase.granted;
      if (!products.has(each.product) || at === null) continue;
      if (each.left === null && !sold.has(each)) continue;
      const wrote = purchase.outcome === "late" ? null : each.left;
      events.push({ at, product: each.product, wrote, sold: sold.has(each) ? each.quantity : 0,
        purchase });
    }
  }
  return events.sort((a, b) => a.at - b.at);
}

// Columns of the picture are time, written stock, and initial stock minus sold pieces.
function stockCurves(sale, stock) {
  const left = new Map(stock.map(each => [each.product, each.first]));
  let written = stock.reduce((sum, each) => sum + each.first, 0), rightly = written;
  const columns = [[0], [written], [rightly]];
  const rows = [];
  for (const event of stockEvents(sale, new Set(left.keys()))) {
    if (event.wrote !== null) {
      written += event.wrote - left.get(event.product);
      left.set(event.product, event.wrote);
    }
    rightly -= event.sold;
    columns[0].push(event.at);
    columns[1].push(written);
    columns[2].push(rightly);
    rows.push({ ...event, written, rightly });
  }
  columns[0].push(sale.end);
  columns[1].push(written);
  columns[2].push(rightly);
  return { columns, rows };
}

const stockColumns = [
  { title: "at", of: row => timeText(row.at), number: true },
  { title: "buyer", of: row => row.purchase.buyer, number: true },
  { title: "product", of: row => row.product },
  { title: "stock as written", of: row => grouped(row.written), number: true },
  { title: "stock less what was sold", of: row => grouped(row.rightly), number: true },
  { title: "apart", of: row => row.written === row.rightly ? "" :
    grouped(row.written - row.rightly), number: true },
];

function stockSentence(rows) {
  const parting = rows.find(row => row.written !== row.rightly);
  if (!parting) return "Both lines are one: no update was lost.";
  const why = parting.written > parting.rightly ? "where an update was lost" :
    "where a stock was written by a purchase that did not end as sold";
  const last = rows[rows.length - 1], apart = last.written - last.rightly;
  const ending = apart === 0 ? "At the end they meet again." :
    `At the end they are ${plural(Math.abs(apart), "item", "items")} apart.`;
  return `They part first at ${timeText(parting.at, 3)}, ${why}. ${ending}`;
}

function storeSentence(stock, written) {
  if (stock.some(each => each.left === undefined)) return "";
  const left = stock.reduce((sum, each) => sum + each.left, 0);
  return ` In the store, at the end: ${grouped(left)} left` +
    (left === written ? "." : ", which no buyer's record shows.");
}

const hasStock = sale =>
  stockEvents(sale, new Set(sale.stock.map(each => each.product))).length > 0;

function drawStock(parent, sale, time) {
  const { columns, rows } = stockCurves(sale, sale.stock);
  if (!rows.length) return;
  const sentence = stockSentence(rows) + storeSentence(sale.stock, rows[rows.length - 1].written);
  const { figure: made, picture } = figure(parent, {
    title: "Stock",
    caption: "The stock that buyers wrote, and what it should be: the stock at first less what was "
      + "sold so far. " + sentence,
    label: `Stock over time. ${sentence}`,
  });
  drawSteps(picture, time, {
    height: 230, label: "items left",
    lines: [stepLine(0, "as written", grouped), stepLine(1, "less what was sold", grouped)],
    bands: [{ series: [1, 2], fill: () => colours.gap },
            { series: [2, 1], fill: () => colours.gap }],
  }, columns);
  tableBehind(made, "Table: stock", stockColumns, rows);
}

// --- the moment from which a sale was likely to end wrong -------------------------------

const momentColumns = [
  { title: "after step", of: row => grouped(row.step), number: true },
  { title: "at", of: row => timeText(row.at), number: true },
  { title: "end wrong", of: row => grouped(row.wrong), number: true },
];

function momentSentence({ step, text, wrong, before, seeds }) {
  const found = `${grouped(wrong)} of ${grouped(seeds)} end wrong`;
  return step === 0 ? `From the beginning ${found}.` :
    `From step ${grouped(step)} (${text}) ${found}, before it ${grouped(before)}.`;
}

function drawMoment(parent, sale, time) {
  if (!sale.moment) return;
  const { seeds, curve } = sale.moment, sentence = momentSentence(sale.moment);
  const rows = curve.at.map((at, i) =>
    ({ at: at / 1e6, step: curve.step[i], wrong: curve.wrong[i] }));
  const { figure: made, picture } = figure(parent, {
    title: "The moment from which it was likely to end wrong",
    caption: `${sentence} Other seeds decide what follows the first steps of this sale. The line `
      + "says how many of them end wrong.",
    label: `Sales that end wrong, by when other seeds begin to decide. ${sentence}`,
  });
  const last = rows[rows.length - 1];
  drawSteps(picture, time, { height: 190, label: "end wrong", lines: area("end wrong", grouped),
    scales: { y: { range: () => [0, seeds] } },
  }, [[...rows.map(row => row.at), sale.end], [...rows.map(row => row.wrong), last.wrong]]);
  tableBehind(made, "Table: the moment", momentColumns, rows);
}

// --- grants a second -------------------------------------------------------------------

// The length of a slice, 1, 2 or 5 times a power of ten, for at most sixty slices.
function sliceOf(seconds) {
  const least = seconds / 60, power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map(factor => factor * power).find(slice => slice >= least);
}

function grantSlices(sale) {
  const slice = sliceOf(sale.end), count = Math.floor(sale.end / slice) + 1;
  const counts = new Array(count).fill(0);
  for (const hold of sale.holds) counts[Math.min(count - 1, Math.floor(hold.granted / slice))]++;
  return { slice, counts };
}

// Three significant figures, so that a low rate does not round to 0.
const figures = rate => grouped(Number(rate.toPrecision(3)));

const meanRate = (count, seconds) => count >= seconds ? `${figures(count / seconds)} a second` :
  `one every ${duration(seconds / count)}`;

const grantColumns = [
  { title: "from", of: row => timeText(row.from, 3), number: true },
  { title: "to", of: row => timeText(row.to, 3), number: true },
  { title: "grants", of: row => grouped(row.count), number: true },
  { title: "a second", of: row => figures(row.count / (row.to - row.from)), number: true },
];

function drawGrants(parent, sale, time) {
  const { slice, counts } = grantSlices(sale);
  const mean = meanRate(sale.holds.length, sale.end);
  const { figure: made, picture } = figure(parent, {
    title: "Grants a second",
    caption: `How often the lock was granted, in slices of ${duration(slice)}; over the whole ` +
      `sale ${mean}. Where the line is at 0 nobody got the lock.`,
    label: `Grants a second over time, ${mean} on average; the table has the numbers.`,
  });
  drawSteps(picture, time, { height: 190, label: "grants a second",
    lines: area("grants a second", figures),
  }, [[...counts.map((_, i) => i * slice), counts.length * slice],
      [...counts.map(count => count / slice), 0]]);
  tableBehind(made, "Table: grants a second", grantColumns, counts.map((count, i) =>
    ({ count, from: i * slice, to: (i + 1) * slice })));
}

// --- order -----------------------------------------------------------------------------

const byToken = (a, b) => a.token.length - b.token.length || (a.token < b.token ? -1 : 1);

// Each hold's rank by arrival and by grant, among the holds of its lock.
function rankHolds(sale) {
  const ranks = [];
  for (const [lock, holds] of byLock(sale.holds.filter(hold => hold.asked !== null))) {
    const granted = new Map();
    [...holds].sort((a, b) => a.granted - b.granted).forEach((hold, i) => granted.set(hold, i + 1));
    holds.sort(sale.byToken ? byToken : (a, b) => a.asked - b.asked);
    holds.forEach((hold, i) => ranks.push({ hold, lock, came: i + 1,
      served: granted.get(hold) }));
  }
  return ranks.sort((a, b) => a.came - b.came);
}

const orderColumns = sale => [
  { title: "came as", of: rank => grouped(rank.came), number: true },
  { title: "served as", of: rank => grouped(rank.served), number: true },
  { title: personOf(sale), of: rank => rank.hold.buyer, number: true },
  { title: "lock", of: rank => rank.lock },
  { title: "waited", of: rank => duration(rank.hold.granted - rank.hold.asked), number: true },
];

function orderSentence(sale) {
  const parts = [];
  if (sale.overtakes !== undefined)
    parts.push(sale.overtakes === 0 ? "Nobody was overtaken." :
      `A buyer was overtaken by ${plural(sale.overtakes, "later one", "later ones")}` +
      (sale.lead === undefined ? "." :
        `, which had asked up to ${duration(sale.lead / 1e6)} after it.`));
  if (sale.jain !== undefined)
    parts.push(`Jain's index of fairness is ${sale.jain.toFixed(3)} (1: all servers had the ` +
      "lock as often).");
  return parts.join(" ");
}

function drawOrder(parent, sale) {
  const ranks = rankHolds(sale), last = ranks.length ? ranks[ranks.length - 1].came : 1;
  if (!ranks.length) return;
  const { figure: made, picture } = figure(parent, {
    title: "Order of arrival, and order of grant",
    caption: `A point is a ${personOf(sale)}: to the right in order of arrival, upwards in order `
      + "of grant. On the dashed line all are served in turn; what is below it came late and was "
      + "served early. " + orderSentence(sale),
    label: `Order of arrival against order of grant. ${orderSentence(sale)}`,
  });
  made.classList.add("order");
  draw(picture, {
    height: 360,
    legend,
    scales: { x: { time: false, range: (_, low, high) => [Math.min(0, low), Math.max(1, high)] },
              y: { range: [0, last + 1] } },
    axes: [axis({ label: "came as number", size: 30, incrs: WHOLE,
                  values: (_, splits) => splits.map(each => grouped(each)) }),
           countAxis("served as number")],
    series: [
      { label: "at", value: (_, rank) => rank === null ? "" : grouped(rank) },
      { label: "in turn", stroke: () => colours.faint, dash: [6, 4], width: 1,
        points: { show: false }, value: () => "" },
      { label: "served as number", stroke: () => colours.one, dotted: true, paths: () => null,
        value: (_, rank) => rank === null ? "" : grouped(rank),
        points: { show: true, width: 0, size: ranks.length > 500 ? 3 : 5,
                  fill: () => colours.one } },
    ],
  }, [ranks.map(rank => rank.came), ranks.map(rank => rank.came), ranks.map(rank => rank.served)]);
  tableBehind(made, "Table: order", orderColumns(sale), ranks);
}
