// --- compare.js: several sales side by side --------------------------------------------

const MOST_SHAPES = 24; // small pictures

// --- the waits of each sale, in a small picture of its own -----------------------------

const BINS = 4; // for a factor of ten
const SHAPE_PAPER = 218; // pixels; width of a small picture on paper

const binOf = wait => Math.floor(BINS * Math.log10(Math.max(LEAST_WAIT, wait)) + 1e-9);

// Shares of a sale's grants by waiting time, for each bin from `low` on.
function sharesOf(waits, low, high) {
  const shares = new Array(high - low + 1).fill(0);
  for (const wait of waits) shares[binOf(wait) - low] += 1 / waits.length;
  return shares;
}

// All pictures share the bins, between whole powers of ten, and the height.
function layShapes(waitsOfSales) {
  const shortest = Math.min(...waitsOfSales.map(waits => waits[0]));
  const longest = Math.max(...waitsOfSales.map(waits => waits[waits.length - 1]));
  const low = BINS * Math.floor(binOf(shortest) / BINS);
  const high = BINS * Math.ceil((binOf(longest) + 1) / BINS) - 1;
  const shares = waitsOfSales.map(waits => sharesOf(waits, low, high));
  return { low, high, shares, top: Math.max(...shares.flat()) };
}

const powersBetween = (low, high) =>
  Array.from({ length: high - low + 1 }, (_, i) => low + i);

function describeBin(plot, shares, low) {
  const bin = Math.floor(BINS * plot.posToVal(plot.cursor.left, "x")) - low;
  if (plot.cursor.left < 0 || shares[bin] === undefined) return [];
  const edge = i => duration(10 ** ((low + i) / BINS));
  return [`${edge(bin)} to ${edge(bin + 1)}: ${percent(shares[bin])} of the grants`];
}

function drawShape(parent, sale, waits, { low, high, top }, shares) {
  const caption = `half within ${duration(quantile(waits, .5))}, all within ` +
    duration(quantile(waits, 1));
  const { picture } = figure(parent, { title: sale.name, caption,
    label: `Waits of ${sale.name} on a logarithmic axis: ${caption}.` });
  const from = low / BINS, to = (high + 1) / BINS;
  const plot = draw(picture, {
    height: 150, legend: { show: false }, paper: SHAPE_PAPER, padding: [8, 26, 0, 0],
    scales: { x: { time: false, range: [from, to] }, y: { range: [0, top * 1.05] } },
    cursor: { points: { show: false }, drag: { x: false } },
    axes: [
      axis({ splits: () => powersBetween(from, to), size: 28, label: "waited (logarithmic)",
             values: (_, splits) => splits.map((power, i) =>
               (splits.length - 1 - i) % (splits.length > 4 ? 2 : 1) ? "" :
                 duration(10 ** power)) }),
      axis({ size: 46, values: (_, splits) => splits.map(percent) }),
    ],
    series: [{}, { stroke: () => colours.one, width: 2, fill: () => colours.one + "33",
      points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }],
  }, [Array.from({ length: shares.length + 1 }, (_, i) => (low + i) / BINS), [...shares, 0]]);
  tellAtPointer(plot, () => describeBin(plot, shares, low));
}

function drawShapes(parent) {
  const drawn = sales.filter(sale => hasWaits(sale) && !sale.history);
  if (scenarios.length || drawn.length < 2 || drawn.length > MOST_SHAPES) return;
  element("h3", parent, "Waits of each sale, side by side");
  element("p", parent, "All pictures have the same axes: to the right how long buyers waited for "
    + "the lock, on a logarithmic axis; upwards the share of the grants. A hill on the left is a "
    + "short wait, and a wide one means that some waited much longer than others.", "faint");
  const grid = element("div", parent, undefined, "shapes"), waits = drawn.map(sortedWaits);
  const layout = layShapes(waits);
  drawn.forEach((sale, i) => drawShape(grid, sale, waits[i], layout, layout.shares[i]));
}

// --- how far each sale is from right ---------------------------------------------------

// In pieces; null if the store's figures are unknown.
function distanceOf(sale) {
  if (sale.stock.some(each => each.left === undefined || each.ordered === undefined))
    return { sale, off: null, beyond: null };
  const sum = of => sale.stock.reduce((total, each) => total + of(each), 0);
  return { sale, off: sum(each => Math.abs(each.left + each.ordered - each.first)),
    beyond: sum(each => Math.max(0, each.ordered - each.first)) };
}

const money = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 }).format;

// Two columns, or four if the price is known.
function distanceColumns(price) {
  const columns = [{ title: "sale", of: row => row.sale.name }];
  const add = (title, field, write) => columns.push({ title, number: true,
    of: row => row[field] === null ? "–" : write(row[field]) });
  add("oversold", "beyond", grouped);
  if (price) add("in money", "beyond", pieces => money(pieces * price));
  add("stock off by", "off", grouped);
  if (price) add("in money", "off", pieces => money(pieces * price));
  return columns;
}

function askPrice(parent, onPrice) {
  const label = element("label", parent, "Price of a piece, if you want to see money: ");
  const input = element("input", label);
  input.type = "number";
  input.min = 0;
  input.step = "any";
  input.addEventListener("input", () => onPrice(Math.max(0, input.valueAsNumber || 0)));
}

function showDistances(section) {
  const rows = sales.filter(sale => sale.stock.length).map(distanceOf);
  if (scenarios.length || rows.length < 2) return section.remove();
  element("p", section, "In pieces, of all products. Oversold: what was ordered beyond the stock, "
    + "and cannot be delivered. Stock off by: how far the stock in the store is from the stock at "
    + "first less what was ordered, up or down. A sale that is right has 0 in both.", "faint");
  askPrice(section, price => fill(price));
  const table = element("div", section);
  const fill = price => {
    table.replaceChildren();
    const columns = distanceColumns(price), body = makeTable(table, columns, "How far from right");
    for (const row of rows) fillRow(element("tr", body), columns, row);
    body.closest(".scroll").measure();
  };
  fill(0);
}
