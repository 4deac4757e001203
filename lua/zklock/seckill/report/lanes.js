// --- lanes.js: who held when -----------------------------------------------------------
// A lane for each server. A hold is a bar in the first row of its lane that is free; where holds of
// one lock overlap that exclude each other, by the record, all are red and hatched, and so is the
// lane at the top. Nothing else is red.

const LANE_GAP = 8; // pixels above a lane, and below the last one
const WORD_GAP = 18; // the same with room for the words of faults
const TOGETHER = { top: 4, height: 14 }; // the lane of "two at once"
const MOST_ROWS = 150; // of a lane; what comes above shares them

// Each hold's row; gives the lanes, { name, rows, top, height, holds by row }.
function layLanes(sale) {
  const lanes = sale.servers.map(name => ({ name, byRow: [] }));
  const ends = lanes.map(() => []);
  for (const hold of [...sale.holds].sort((a, b) => a.granted - b.granted)) {
    const lane = lanes[hold.server], free = ends[hold.server];
    if (!lane) continue;
    let row = free.findIndex(end => end <= hold.granted);
    if (row < 0) row = free.length < MOST_ROWS ? free.length : hold.index % MOST_ROWS;
    free[row] = Math.max(hold.end, free[row] ?? 0);
    hold.row = row;
    (lane.byRow[row] ??= []).push(hold);
  }
  return lanes;
}

function measureLanes(lanes, sale) {
  const gap = sale.faults.length ? WORD_GAP : LANE_GAP;
  let top = gap + (sale.overlaps.length ? TOGETHER.top + TOGETHER.height : 0);
  for (const lane of lanes) {
    const rows = Math.max(1, lane.byRow.length);
    lane.rowHeight = Math.max(1, Math.min(rows === 1 ? 20 : 12, 150 / rows));
    lane.top = top;
    lane.height = Math.max(20, rows * lane.rowHeight);
    top += lane.height + gap;
  }
  return top;
}

// --- drawing ---------------------------------------------------------------------------

// Where moments and heights are on the canvas.
function canvasScale(plot) {
  const { left, top, width, height } = plot.bbox, { min, max } = plot.scales.x;
  const perSecond = width / (max - min), ratio = uPlot.pxRatio;
  return { left, top, width, height, min, max, ratio, x: at => left + (at - min) * perSecond,
    y: pixels => top + pixels * ratio };
}

function rowTop(lane, hold) {
  return lane.top + (hold.row ?? 0) * lane.rowHeight;
}

// Adds a bar to a path; one that is shorter than `least` pixels is still seen.
function addBar(path, scale, from, to, top, height, least) {
  const left = Math.max(scale.left, scale.x(from));
  const right = Math.min(scale.left + scale.width, scale.x(to));
  path.rect(left, scale.y(top), Math.max(least * scale.ratio, right - left),
    Math.max(scale.ratio * .8, height * scale.ratio));
}

const isSeen = (scale, from, to) => to >= scale.min && from <= scale.max;

const OUTCOME_COLOURS = { sold: "sold", released: "sold", refused: "refused" };

function paintHolds(pen, scale, lane) {
  const paths = {};
  for (const row of lane.byRow) for (const hold of row ?? []) {
    if (!isSeen(scale, hold.granted, hold.end)) continue;
    const kind = (OUTCOME_COLOURS[hold.outcome] ?? "other") + (hold.shared ? " shared" : "");
    const gap = lane.rowHeight > 4 ? 1 : 0;
    addBar(paths[kind] ??= new Path2D(), scale, hold.granted, hold.end,
      rowTop(lane, hold), lane.rowHeight - gap, 1);
  }
  for (const kind in paths) {
    const [name, shared] = kind.split(" ");
    pen.globalAlpha = shared ? .45 : 1;
    pen.fillStyle = colours[name];
    pen.fill(paths[kind]);
  }
  pen.globalAlpha = 1;
}

// Lines from corner to corner, so that it is not the colour alone that tells.
function hatch(pen, scale) {
  const tile = document.createElement("canvas"), size = Math.round(6 * scale.ratio);
  tile.width = tile.height = size;
  const line = tile.getContext("2d");
  line.fillStyle = colours.both;
  line.fillRect(0, 0, size, size);
  line.strokeStyle = colours.paper;
  line.lineWidth = scale.ratio;
  line.beginPath();
  for (const shift of [-size, 0, size]) {
    line.moveTo(shift - 1, size + 1);
    line.lineTo(shift + size + 1, -1);
  }
  line.stroke();
  return pen.createPattern(tile, "repeat");
}

function paintOverlaps(pen, scale, sale, lanes) {
  const path = new Path2D();
  for (const { from, to } of sale.overlaps)
    if (isSeen(scale, from, to)) addBar(path, scale, from, to, TOGETHER.top, TOGETHER.height, 2);
  for (const hold of sale.holds) for (const { from, to } of hold.red) {
    const lane = lanes[hold.server];
    if (lane && isSeen(scale, from, to))
      addBar(path, scale, from, to, rowTop(lane, hold), lane.rowHeight, 2);
  }
  pen.fillStyle = hatch(pen, scale);
  pen.fill(path);
}

// A write that came when its hold was over: a line to where it was, and a diamond there.
function paintLateWrites(pen, scale, lane) {
  pen.strokeStyle = pen.fillStyle = colours.ink;
  pen.lineWidth = scale.ratio;
  for (const row of lane.byRow) for (const hold of row ?? []) {
    if (hold.written === null || hold.written <= hold.end) continue;
    if (!isSeen(scale, hold.end, hold.written)) continue;
    const y = scale.y(rowTop(lane, hold) + lane.rowHeight / 2), x = scale.x(hold.written);
    const size = Math.max(3, Math.min(5, lane.rowHeight / 2)) * scale.ratio;
    pen.beginPath();
    pen.moveTo(scale.x(hold.end), y);
    pen.lineTo(x, y);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x - size, y);
    pen.lineTo(x, y - size);
    pen.lineTo(x + size, y);
    pen.lineTo(x, y + size);
    pen.fill();
  }
}

// A hold whose end is not known fades out at the right.
function paintOpenEnds(pen, scale, lane) {
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 1.5 * scale.ratio;
  pen.setLineDash([3 * scale.ratio, 2 * scale.ratio]);
  for (const row of lane.byRow) for (const hold of row ?? []) {
    if (hold.released !== null || !isSeen(scale, hold.end, hold.end)) continue;
    const x = scale.x(hold.end), top = scale.y(rowTop(lane, hold));
    pen.beginPath();
    pen.moveTo(x, top - 2 * scale.ratio);
    pen.lineTo(x, top + (lane.rowHeight + 2) * scale.ratio);
    pen.stroke();
  }
  pen.setLineDash([]);
}

// Behind the lane of its server; a fault of something else is behind all.
function faultSpan(sale, lanes, fault, total) {
  const lane = lanes[sale.servers.indexOf(fault.target)];
  return lane ? [lane.top - 3, lane.height + 6] : [0, total];
}

function paintFaults(pen, scale, sale, lanes, total) {
  for (const fault of sale.faults) {
    const to = fault.ended ?? (fault.kind === "kill" ? sale.end : fault.at);
    if (!isSeen(scale, fault.at, to)) continue;
    const [top, height] = faultSpan(sale, lanes, fault, total);
    const band = new Path2D();
    addBar(band, scale, fault.at, to, top, height, 2);
    pen.globalAlpha = .2;
    pen.fillStyle = colours.fault;
    pen.fill(band);
    pen.globalAlpha = 1;
    if (fault.at >= scale.min)
      pen.fillRect(scale.x(fault.at) - scale.ratio, scale.y(top), 2 * scale.ratio,
        height * scale.ratio);
  }
}

// The words of faults are above their lanes, or below all; one that has no room is left out.
function nameFaults(pen, scale, sale, lanes, total) {
  pen.font = `bold ${11 * scale.ratio}px system-ui, sans-serif`;
  pen.textBaseline = "top";
  pen.textAlign = "left";
  const taken = new Map(); // by the height of a word: up to where there is one already
  for (const fault of [...sale.faults].sort((a, b) => a.at - b.at)) {
    if (!isSeen(scale, fault.at, fault.at)) continue;
    const lane = lanes[sale.servers.indexOf(fault.target)];
    const top = (lane ? lane.top : total) - 16;
    const text = `⚡ ${fault.kind}`, width = pen.measureText(text).width;
    const x = Math.min(scale.x(fault.at) + 3 * scale.ratio, scale.left + scale.width - width);
    if (x < taken.get(top)) continue;
    taken.set(top, x + width + 4);
    pen.fillStyle = colours.paper;
    pen.globalAlpha = .8;
    pen.fillRect(x - 2, scale.y(top), width + 4, 12 * scale.ratio);
    pen.globalAlpha = 1;
    pen.fillStyle = colours.fault;
    pen.fillText(text, x, scale.y(top + 1));
  }
}

function paintLanes(plot, sale, lanes, total) {
  const pen = plot.ctx, scale = canvasScale(plot);
  pen.save();
  pen.beginPath();
  pen.rect(scale.left, scale.top, scale.width, scale.height);
  pen.clip();
  paintFaults(pen, scale, sale, lanes, total);
  for (const lane of lanes) paintHolds(pen, scale, lane);
  paintOverlaps(pen, scale, sale, lanes);
  for (const lane of lanes) {
    paintLateWrites(pen, scale, lane);
    paintOpenEnds(pen, scale, lane);
  }
  nameFaults(pen, scale, sale, lanes, total);
  pen.restore();
}

// --- what is under the pointer ---------------------------------------------------------

function nearest(row, at, slack) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].granted <= at + slack) low = middle + 1; else high = middle;
  }
  for (let i = low - 1; i >= Math.max(0, low - 3); i--)
    if (row[i].end + slack >= at || row[i].written + slack >= at) return row[i];
  return null;
}

function describeHold(sale, hold) {
  const lines = [
    `${personOf(sale)} ${hold.buyer}, ${serverName(sale, hold)}: ${hold.outcome}`,
    (sale.history ? "" : `product ${hold.product}, `) + `lock ${hold.lock}` +
      (hold.shared ? ", shared" : ""),
    `waited ${hold.asked === null ? "?" : duration(hold.granted - hold.asked)}, held ` +
      (hold.released === null ? "until its server ended, or unknown"
        : duration(hold.released - hold.granted)),
    `granted ${moment(hold.granted)}, released ${moment(hold.released)}`,
  ];
  if (hold.token) lines.push(`token ${hold.token}`);
  if (hold.written !== null) {
    const late = hold.written > hold.end ? `, ${duration(hold.written - hold.end)} after its hold`
      : "";
    lines.push((hold.left === null ? "wrote" : `wrote "${grouped(hold.left)} left"`) +
      ` at ${moment(hold.written)}${late}`);
  }
  if (hold.red.length)
    lines.push(`two at once for ${duration(lengthOf(hold.red))}`);
  return lines;
}

function describeLanes(plot, sale, lanes) {
  const { left, top } = plot.cursor;
  if (left < 0) return [];
  const at = plot.posToVal(left, "x"), slack = 4 * (plot.posToVal(1, "x") - plot.posToVal(0, "x"));
  const lines = [];
  for (const lane of lanes) {
    if (top < lane.top - 3 || top > lane.top + lane.height + 3) continue;
    const row = lane.byRow[Math.floor((top - lane.top) / lane.rowHeight)] ?? lane.byRow[0] ?? [];
    const hold = nearest(row, at, slack);
    if (hold) lines.push(...describeHold(sale, hold));
  }
  for (const fault of sale.faults)
    if (Math.abs(fault.at - at) < 2 * slack || (fault.at <= at && fault.ended >= at))
      lines.push(`fault: ${fault.kind} of ${fault.target} at ${moment(fault.at)}` +
        (fault.ended === null ? "" : `, until ${moment(fault.ended)}`));
  return lines;
}

// --- the picture -----------------------------------------------------------------------

// As much of a name as has room, in pixels.
function shorten(pen, text, room) {
  pen.save();
  pen.font = FONT;
  const letters = Array.from(text);
  let shown = text;
  while (letters.length && pen.measureText(shown).width > room) {
    letters.pop();
    shown = letters.join("") + "…";
  }
  pen.restore();
  return shown;
}

function laneAxis(lanes, hasOverlaps) {
  const centres = lanes.map(lane => lane.top + lane.height / 2);
  if (hasOverlaps) centres.unshift(TOGETHER.top + TOGETHER.height / 2);
  return axis({
    size: gutter, splits: () => centres, grid: { show: false }, ticks: { show: false },
    values: plot => {
      const names = lanes.map(lane => shorten(plot.ctx, lane.name, gutter() - 10));
      return hasOverlaps ? [isNarrow() ? "2 at once" : "two at once", ...names] : names;
    },
  });
}

const KEYS = [
  ["sold", "sold", sale => sale.holds.some(hold => hold.outcome === "sold")],
  ["sold", "held and given back", sale => sale.holds.some(hold => hold.outcome === "released")],
  ["refused", "refused: nothing left", sale => sale.holds.some(hold => hold.outcome === "refused")],
  ["other", "ended otherwise", sale => sale.holds.some(hold => !OUTCOME_COLOURS[hold.outcome])],
  ["shared", "shared, with others that share", sale => sale.holds.some(hold => hold.shared)],
  ["both", "two at once", sale => sale.overlaps.length > 0],
  ["fault", "⚡ fault", sale => sale.faults.length > 0],
  ["late", "◆ write after the hold", sale => sale.holds.some(hold => hold.written > hold.end)],
  ["open", "¦ end unknown", sale => sale.holds.some(hold => hold.released === null)],
];

function laneKey(parent, sale) {
  const key = element("ul", parent, undefined, "key");
  for (const [name, text, applies] of KEYS) {
    if (!applies(sale)) continue;
    const entry = element("li", key);
    if (name !== "late" && name !== "open") element("i", entry, undefined, name);
    entry.append(text);
  }
}

const lengthOf = spans => spans.reduce((sum, { from, to }) => sum + to - from, 0);

function overlapSentence(sale) {
  const count = sale.overlaps.length, locks = byLock(sale.overlaps).size;
  if (!count) return "No holds that exclude each other overlap: nothing is red.";
  return "Red: holds of one lock that exclude each other overlap " +
    `${plural(count, "time", "times")}, the first time at ${moment(sale.overlaps[0].from, 3)}; ` +
    `together that is ${duration(lengthOf(sale.overlaps))}` +
    (locks > 1 ? ` of ${grouped(locks)} locks.` : ".");
}

function drawLanes(parent, sale, time) {
  const lanes = layLanes(sale), red = sale.overlaps.length;
  const total = measureLanes(lanes, sale);
  const { figure: made, picture } = figure(parent, {
    title: "Who held when",
    caption: overlapSentence(sale) + " A bar is a hold of the lock, from its grant to its release; "
      + "what would be too short to be seen is a pixel or two wide, and zooming shows it as it is.",
    label: `Holds of ${plural(sale.servers.length, "server", "servers")} over ` +
      `${duration(sale.end)}. ${overlapSentence(sale)} Keys: plus, minus, arrows, 0.`,
  });
  made.classList.add("lanes");
  made.dataset.red = red;
  const shown = () => { made.dataset.from = time.from; made.dataset.to = time.to; };
  time.listeners.push(shown);
  shown();
  laneKey(made, sale);
  made.insertBefore(made.lastChild, picture);
  const shared = time.options();
  const plot = draw(picture, {
    height: total + 30 + 8, legend: { show: false },
    scales: { ...shared.scales, y: { range: () => [0, total], dir: -1 } },
    axes: [timeAxis(), laneAxis(lanes, red > 0)],
    series: [{}, { show: true, paths: () => null, points: { show: false } }],
    cursor: time.cursor({ points: { show: false } }),
    hooks: { ...shared.hooks, draw: [each => paintLanes(each, sale, lanes, total)] },
  }, [[0, sale.end], [null, null]]);
  time.add(plot);
  makeMovable(picture, time);
  plot.over.addEventListener("mousemove", event =>
    tell(describeLanes(plot, sale, lanes), event));
  plot.over.addEventListener("mouseleave", () => tell([]));
  if (red)
    tableBehind(made, "Table: two at once", overlapColumns, sale.overlaps, { printed: true });
  if (sale.faults.length)
    tableBehind(made, "Table: faults", faultColumns, sale.faults, { printed: true });
  tableBehind(made, "Table: purchases", purchaseColumns(sale), sale.purchases);
}
