// --- lanes.js: who held when -----------------------------------------------------------
// A lane for each server. A hold is a bar in the first row of its lane that is free; where holds of
// one lock overlap that exclude each other, by the record, all are red and hatched, and so is the
// lane at the top. Nothing else is red. What has a colour has a pattern or a sign of its own, too,
// and the key is painted by what paints the lanes.

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

const OUTCOME_KINDS = { sold: "sold", released: "sold", refused: "refused" };

const kindOf = hold => OUTCOME_KINDS[hold.outcome] ?? "other";

// Lines or dots of paper over the colour of a kind; `draw` gets a tile of that size.
const PATTERNS = {
  refused: [4, (pen, size) => pen.fillRect(0, size / 4, size, size / 4)],
  other: [4, (pen, size) => pen.fillRect(size / 4, size / 4, size / 2, size / 2)],
  shared: [5, (pen, size) => pen.fillRect(size * .6, 0, size * .4, size)],
  both: [6, (pen, size) => {
    pen.lineWidth = size / 6;
    pen.beginPath();
    for (const shift of [-size, 0, size]) {
      pen.moveTo(shift - 1, size + 1);
      pen.lineTo(shift + size + 1, -1);
    }
    pen.stroke();
  }],
};

function patternOf(name, pen, ratio) {
  const [pixels, drawTile] = PATTERNS[name];
  const tile = document.createElement("canvas"), size = Math.round(pixels * ratio);
  tile.width = tile.height = size;
  const line = tile.getContext("2d");
  line.fillStyle = line.strokeStyle = colours.paper;
  drawTile(line, size);
  return pen.createPattern(tile, "repeat");
}

// Fills a path with the colour of a kind, and what else tells it from others.
function fillKind(pen, path, kind, ratio) {
  const [name, shared] = kind.split(" ");
  pen.fillStyle = colours[name];
  pen.fill(path);
  for (const pattern of [name, shared]) {
    if (!PATTERNS[pattern]) continue;
    pen.fillStyle = patternOf(pattern, pen, ratio);
    pen.fill(path);
  }
}

function paintHolds(pen, scale, lane) {
  const paths = {};
  for (const row of lane.byRow) for (const hold of row ?? []) {
    if (!isSeen(scale, hold.granted, hold.end)) continue;
    const kind = kindOf(hold) + (hold.shared ? " shared" : "");
    const gap = lane.rowHeight > 4 ? 1 : 0;
    addBar(paths[kind] ??= new Path2D(), scale, hold.granted, hold.end,
      rowTop(lane, hold), lane.rowHeight - gap, 1);
  }
  for (const kind in paths) fillKind(pen, paths[kind], kind, scale.ratio);
}

// Overlaps of several locks that meet are one, with the most holders that one lock had.
function stretchesOf(overlaps) {
  const merged = [];
  for (const { from, to, holders } of overlaps) {
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

// How many there were, in the lane at the top where that has room; two are told by its name.
function paintTogether(pen, scale, sale) {
  if (sale.atOnce === 2) return;
  pen.font = `bold ${11 * scale.ratio}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { from, to, holders } of stretchesOf(sale.overlaps)) {
    if (!isSeen(scale, from, to)) continue;
    const left = Math.max(scale.left, scale.x(from));
    const right = Math.min(scale.left + scale.width, scale.x(to));
    const text = grouped(holders), room = pen.measureText(text).width + 8 * scale.ratio;
    if (right - left < 2 * room) continue;
    const x = (left + right) / 2, y = scale.y(TOGETHER.top + TOGETHER.height / 2);
    pen.fillStyle = colours.paper;
    pen.fillRect(x - room / 2, scale.y(TOGETHER.top), room, TOGETHER.height * scale.ratio);
    pen.fillStyle = colours.ink;
    pen.fillText(text, x, y);
  }
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
  fillKind(pen, path, "both", scale.ratio);
  paintTogether(pen, scale, sale);
}

// --- signs: what happened to a hold at a moment ------------------------------------------

const SIGN = 6; // pixels from the middle of a sign to its edge

function diamond(pen, x, y, size) {
  pen.beginPath();
  pen.moveTo(x - size, y);
  pen.lineTo(x, y - size);
  pen.lineTo(x + size, y);
  pen.lineTo(x, y + size);
  pen.closePath();
}

// A diamond: black for a write that was made; hollow, and crossed out, for one that was refused.
function paintWrite(pen, x, y, refused, ratio) {
  diamond(pen, x, y, (SIGN + 2) * ratio);
  pen.fillStyle = colours.paper;
  pen.fill();
  diamond(pen, x, y, SIGN * ratio);
  pen.fillStyle = pen.strokeStyle = colours.ink;
  pen.lineWidth = 1.5 * ratio;
  if (!refused) return pen.fill();
  pen.moveTo(x - SIGN / 2 * ratio, y + SIGN / 2 * ratio);
  pen.lineTo(x + SIGN / 2 * ratio, y - SIGN / 2 * ratio);
  pen.stroke();
}

// A letter on a plate: what the holder knew of its hold from then on.
function paintBelief(pen, x, y, letter, ratio) {
  const size = SIGN * ratio;
  pen.fillStyle = colours.paper;
  pen.fillRect(x - size - ratio, y - size - ratio, 2 * (size + ratio), 2 * (size + ratio));
  pen.strokeStyle = pen.fillStyle = colours.ink;
  pen.lineWidth = ratio;
  pen.strokeRect(x - size, y - size, 2 * size, 2 * size);
  pen.font = `bold ${10 * ratio}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(letter, x, y + ratio / 2);
}

const BELIEFS = { suspect: "?", lost: "✕" };

function paintOpenEnd(pen, x, top, bottom, ratio) {
  pen.strokeStyle = colours.ink;
  pen.lineWidth = 1.5 * ratio;
  pen.setLineDash([3 * ratio, 2 * ratio]);
  pen.beginPath();
  pen.moveTo(x, top);
  pen.lineTo(x, bottom);
  pen.stroke();
  pen.setLineDash([]);
}

const middleOf = (lane, hold) => rowTop(lane, hold) + lane.rowHeight / 2;

// From where the hold was over to where its write came.
function paintLateWrite(pen, scale, lane, hold) {
  const { at, until, refused } = hold.late, y = scale.y(middleOf(lane, hold));
  if (!isSeen(scale, Math.min(until, at), at)) return;
  if (until < at) {
    pen.strokeStyle = colours.ink;
    pen.lineWidth = scale.ratio;
    pen.beginPath();
    pen.moveTo(scale.x(until), y);
    pen.lineTo(scale.x(at), y);
    pen.stroke();
  }
  paintWrite(pen, scale.x(at), y, refused, scale.ratio);
}

function paintMoments(pen, scale, lane) {
  for (const row of lane.byRow) for (const hold of row ?? []) {
    const top = scale.y(rowTop(lane, hold) - 2);
    if (hold.released === null && isSeen(scale, hold.end, hold.end))
      paintOpenEnd(pen, scale.x(hold.end), top, top + (lane.rowHeight + 4) * scale.ratio,
        scale.ratio);
    if (hold.late) paintLateWrite(pen, scale, lane, hold);
    for (const state in BELIEFS) {
      if (hold[state] === null || !isSeen(scale, hold[state], hold[state])) continue;
      paintBelief(pen, scale.x(hold[state]), scale.y(middleOf(lane, hold)), BELIEFS[state],
        scale.ratio);
    }
  }
}

// Behind the lane of its server; a fault of something else is behind all.
function faultSpan(sale, lanes, fault, total) {
  const lane = lanes[sale.servers.indexOf(fault.target)];
  return lane ? [lane.top - 3, lane.height + 6] : [0, total];
}

// A band, and a line where it begins: [left, top, …, height].
function paintFault(pen, band, begin, ratio) {
  pen.globalAlpha = .2;
  pen.fillStyle = colours.fault;
  pen.fill(band);
  pen.globalAlpha = 1;
  if (begin) pen.fillRect(begin[0] - ratio, begin[1], 2 * ratio, begin[3]);
}

function paintFaults(pen, scale, sale, lanes, total) {
  for (const fault of sale.faults) {
    const to = fault.ended ?? (fault.kind === "kill" ? sale.end : fault.at);
    if (!isSeen(scale, fault.at, to)) continue;
    const [top, height] = faultSpan(sale, lanes, fault, total);
    const band = new Path2D();
    addBar(band, scale, fault.at, to, top, height, 2);
    const begin = [scale.x(fault.at), scale.y(top), 0, height * scale.ratio];
    paintFault(pen, band, fault.at >= scale.min ? begin : null, scale.ratio);
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

function clip(pen, { left, top, width, height }, more) {
  pen.beginPath();
  pen.rect(left - more, top, width + 2 * more, height);
  pen.clip();
}

// The moment of the step that is shown.
function paintPointed(pen, scale, at) {
  if (at === null || !isSeen(scale, at, at)) return;
  const x = scale.x(at), size = 5 * scale.ratio;
  pen.fillStyle = colours.ink;
  pen.fillRect(x - scale.ratio, scale.top, 2 * scale.ratio, scale.height);
  pen.beginPath();
  pen.moveTo(x - size, scale.top);
  pen.lineTo(x + size, scale.top);
  pen.lineTo(x, scale.top + size);
  pen.fill();
}

function paintLanes(plot, sale, lanes, total, time) {
  const pen = plot.ctx, scale = canvasScale(plot);
  pen.save();
  clip(pen, scale, 0);
  paintFaults(pen, scale, sale, lanes, total);
  for (const lane of lanes) paintHolds(pen, scale, lane);
  paintOverlaps(pen, scale, sale, lanes);
  nameFaults(pen, scale, sale, lanes, total);
  pen.restore();
  pen.save();
  clip(pen, scale, (SIGN + 2) * scale.ratio); // a sign at the end is whole
  for (const lane of lanes) paintMoments(pen, scale, lane);
  paintPointed(pen, scale, time.pointed);
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
    if (row[i].end + slack >= at || row[i].late?.at + slack >= at) return row[i];
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
  for (const state in BELIEFS)
    if (hold[state] !== null) lines.push(`knew that it was ${state} at ${moment(hold[state])}`);
  if (hold.late?.refused)
    lines.push(`the store refused its write at ${moment(hold.late.at)}`);
  if (hold.written !== null) {
    const late = hold.late ? `, ${duration(hold.late.at - hold.late.until)} after its hold` : "";
    lines.push((hold.left === null ? "wrote" : `wrote "${grouped(hold.left)} left"`) +
      ` at ${moment(hold.written)}${late}`);
  }
  if (hold.red.length)
    lines.push(`with others at once for ${duration(lengthOf(hold.red))}`);
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

function laneAxis(lanes, atOnce) {
  const centres = lanes.map(lane => lane.top + lane.height / 2);
  if (atOnce) centres.unshift(TOGETHER.top + TOGETHER.height / 2);
  return axis({
    size: gutter, splits: () => centres, grid: { show: false }, ticks: { show: false },
    values: plot => {
      const names = lanes.map(lane => lane.name);
      if (atOnce) names.unshift(`${grouped(atOnce)} at once`);
      return names.map(name => shorten(plot.ctx, name, gutter() - 10));
    },
  });
}

const hasHold = fits => sale => sale.holds.some(fits);

// What a sign of the key is, in words, and which sales have it.
const KEYS = [
  ["sold", "sold", hasHold(hold => hold.outcome === "sold")],
  ["sold", "held and given back", hasHold(hold => hold.outcome === "released")],
  ["refused", "refused: nothing left", hasHold(hold => hold.outcome === "refused")],
  ["other", "ended otherwise", hasHold(hold => kindOf(hold) === "other")],
  ["sold shared", "shared, with others that share", hasHold(hold => hold.shared)],
  ["both", "two or more at once", sale => sale.overlaps.length > 0],
  ["fault", "⚡ fault", sale => sale.faults.length > 0],
  ["suspect", "hold suspect", hasHold(hold => hold.suspect !== null)],
  ["lost", "hold lost", hasHold(hold => hold.lost !== null)],
  ["late", "late write, made", hasHold(hold => hold.late?.refused === false)],
  ["stopped", "late write, refused", hasHold(hold => hold.late?.refused)],
  ["open", "end unknown", hasHold(hold => hold.released === null)],
];

const SWATCH = { width: 26, height: 16, ratio: 2 };

function paintSwatch(canvas, name) {
  const { width, height, ratio } = SWATCH, pen = canvas.getContext("2d");
  const x = width / 2 * ratio, y = height / 2 * ratio;
  pen.clearRect(0, 0, width * ratio, height * ratio);
  if (name === "late" || name === "stopped")
    return paintWrite(pen, x, y, name === "stopped", ratio);
  if (BELIEFS[name]) return paintBelief(pen, x, y, BELIEFS[name], ratio);
  if (name === "open") return paintOpenEnd(pen, x, 0, height * ratio, ratio);
  const path = new Path2D();
  path.rect(0, 2 * ratio, width * ratio, (height - 4) * ratio);
  if (name === "fault") return paintFault(pen, path, [0, 2 * ratio, 0, 12 * ratio], ratio);
  fillKind(pen, path, name, ratio);
}

function laneKey(parent, sale) {
  const key = element("ul", parent, undefined, "key");
  for (const [name, text, applies] of KEYS) {
    if (!applies(sale)) continue;
    const entry = element("li", key), canvas = element("canvas", entry);
    canvas.width = SWATCH.width * SWATCH.ratio;
    canvas.height = SWATCH.height * SWATCH.ratio;
    canvas.setAttribute("aria-hidden", "true");
    repaints.push(() => paintSwatch(canvas, name));
    entry.append(text);
  }
}

const lengthOf = spans => spans.reduce((sum, { from, to }) => sum + to - from, 0);

function overlapSentence(sale) {
  const count = sale.overlaps.length, locks = byLock(sale.overlaps).size;
  if (!count) return "No holds that exclude each other overlap: nothing is red.";
  const most = sale.atOnce === 2 ? "two" : `up to ${grouped(sale.atOnce)}`;
  return `Red and hatched: ${most} ${sale.history ? "clients" : "buyers"} held one lock at once, ` +
    `the first time at ${moment(sale.overlaps[0].from, 3)}, for ` +
    `${duration(lengthOf(sale.overlaps))} in ${plural(count, "stretch", "stretches")} of time` +
    (locks > 1 ? ` and ${grouped(locks)} locks.` : ".");
}

function lanesTables(parent, sale) {
  if (sale.overlaps.length)
    tableBehind(parent, "Table: two or more at once", overlapColumns, sale.overlaps,
      { printed: true });
  if (sale.faults.length)
    tableBehind(parent, "Table: faults", faultColumns, sale.faults, { printed: true });
  if (sale.purchases.length)
    tableBehind(parent, "Table: purchases", purchaseColumns(sale), sale.purchases);
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
    axes: [timeAxis(), laneAxis(lanes, sale.atOnce)],
    series: [{}, { show: true, paths: () => null, points: { show: false } }],
    cursor: time.cursor({ points: { show: false } }),
    hooks: { ...shared.hooks, draw: [each => paintLanes(each, sale, lanes, total, time)] },
  }, [[0, sale.end], [null, null]]);
  time.add(plot);
  makeMovable(picture, time);
  plot.over.addEventListener("mousemove", event =>
    tell(describeLanes(plot, sale, lanes), event));
  plot.over.addEventListener("mouseleave", () => tell([]));
  lanesTables(made, sale);
}
