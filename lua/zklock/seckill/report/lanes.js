// --- lanes.js, the picture of holds ----------------------------------------------------
// Each server has a lane. A hold is a bar in the lane's first free row. Overlapping holds of a lock
// that should exclude each other are red and hatched, and so is the lane at the top. Nothing else
// is red.

const LANE_GAP = 8; // pixels above a lane, and below the last lane
const WORD_GAP = 18; // pixels of a gap with names of faults
const TOGETHER = { top: 4, height: 14 }; // the lane of several holders
const MOST_ROWS = 150; // of a lane; further holds share them

// Assigns each hold a row; returns the lanes, with the holds by row.
function layLanes(sale) {
  const lanes = sale.servers.map(name => ({ name, byRow: [] }));
  const ends = lanes.map(() => []);
  for (const hold of [...sale.holds].sort((a, b) => a.granted - b.granted)) {
    const lane = lanes[hold.server], rowEnds = ends[hold.server];
    if (!lane) continue;
    let row = rowEnds.findIndex(end => end <= hold.granted);
    if (row < 0) row = rowEnds.length < MOST_ROWS ? rowEnds.length : hold.index % MOST_ROWS;
    rowEnds[row] = Math.max(hold.end, rowEnds[row] ?? 0);
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

function rowTop(lane, hold) {
  return lane.top + (hold.row ?? 0) * lane.rowHeight;
}

const OUTCOME_KINDS = { sold: "sold", released: "sold", refused: "refused" };

const kindOf = hold => OUTCOME_KINDS[hold.outcome] ?? "other";

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

// Numbers of holders in the top lane, where there is room. For two the lane's name is enough.
function paintTogether(pen, scale, sale) {
  if (sale.atOnce === 2) return;
  pen.font = `bold ${11 * scale.ratio}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { from, to, holders } of mergeStretches(sale.overlaps)) {
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

// --- what happened to a hold at a moment -----------------------------------------------

const middleOf = (lane, hold) => rowTop(lane, hold) + lane.rowHeight / 2;

// A line from the end of the hold to its late write.
function paintLateWrite(pen, scale, lane, hold) {
  const { at, until, refused } = hold.lateWrite, y = scale.y(middleOf(lane, hold));
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
    if (hold.lateWrite) paintLateWrite(pen, scale, lane, hold);
    for (const state in BELIEFS) {
      if (hold[state] === null || !isSeen(scale, hold[state], hold[state])) continue;
      paintBelief(pen, scale.x(hold[state]), scale.y(middleOf(lane, hold)), BELIEFS[state],
        scale.ratio);
    }
  }
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
  clip(pen, scale, (SIGN + 2) * scale.ratio); // room for a sign at the end
  for (const lane of lanes) paintMoments(pen, scale, lane);
  paintMark(pen, scale, time.markedAt);
  pen.restore();
}

// --- what is under the pointer ---------------------------------------------------------

// The hold of a row at that time, or null.
function nearest(row, at, slack) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].granted <= at + slack) low = middle + 1; else high = middle;
  }
  for (let i = low - 1; i >= Math.max(0, low - 3); i--)
    if (row[i].end + slack >= at || row[i].lateWrite?.at + slack >= at) return row[i];
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
    `granted ${timeText(hold.granted)}, released ${timeText(hold.released)}`,
  ];
  if (hold.token) lines.push(`token ${hold.token}`);
  for (const state in BELIEFS)
    if (hold[state] !== null) lines.push(`knew that it was ${state} at ${timeText(hold[state])}`);
  if (hold.lateWrite?.refused)
    lines.push(`the store refused its write at ${timeText(hold.lateWrite.at)}`);
  if (hold.written !== null) {
    const late = hold.lateWrite;
    const after = late ? `, ${duration(late.at - late.until)} after its hold` : "";
    lines.push((hold.left === null ? "wrote" : `wrote "${grouped(hold.left)} left"`) +
      ` at ${timeText(hold.written)}${after}`);
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
      lines.push(`fault: ${fault.kind} of ${fault.target} at ${timeText(fault.at)}` +
        (fault.ended === null ? "" : `, until ${timeText(fault.ended)}`));
  return lines;
}

// --- the picture -----------------------------------------------------------------------

const hasHold = fits => sale => sale.holds.some(fits);

// Signs of the key, each with its meaning and the sales that show it.
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
  ["late", "late write, made", hasHold(hold => hold.lateWrite?.refused === false)],
  ["stopped", "late write, refused", hasHold(hold => hold.lateWrite?.refused)],
  ["open", "end unknown", hasHold(hold => hold.released === null)],
];

function paintSwatch(pen, width, height, name) {
  const { ratio } = SWATCH, x = width / 2, y = height / 2;
  if (name === "late" || name === "stopped")
    return paintWrite(pen, x, y, name === "stopped", ratio);
  if (BELIEFS[name]) return paintBelief(pen, x, y, BELIEFS[name], ratio);
  if (name === "open") return paintOpenEnd(pen, x, 0, height, ratio);
  const path = new Path2D();
  path.rect(0, 2 * ratio, width, height - 4 * ratio);
  if (name === "fault") return paintFault(pen, path, [0, 2 * ratio, 0, 12 * ratio], ratio);
  fillKind(pen, path, name, ratio);
}

const keyOf = sale => KEYS.filter(([, , applies]) => applies(sale)).map(([name, text]) =>
  [text, (pen, width, height) => paintSwatch(pen, width, height, name)]);

const lengthOf = spans => spans.reduce((sum, { from, to }) => sum + to - from, 0);

function overlapSentence(sale) {
  const stretches = mergeStretches(sale.overlaps), locks = byLock(sale.overlaps).size;
  if (!stretches.length) return "No holds that exclude each other overlap: nothing is red.";
  const most = sale.atOnce === 2 ? "two" : `up to ${grouped(sale.atOnce)}`;
  return `Red and hatched: ${most} ${sale.history ? "clients" : "buyers"} ` +
    (sale.unlocked ? "bought at once, for there is no lock, " : "held one lock at once, ") +
    `the first time at ${timeText(stretches[0].from, 3)}, for ` +
    `${duration(lengthOf(stretches))} in ` +
    `${plural(stretches.length, "stretch", "stretches")} of time` +
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
  const shownLanes = red ? [{ name: `${grouped(sale.atOnce)} at once`, ...TOGETHER }, ...lanes] :
    lanes;
  const { figure: made, picture } = figure(parent, {
    title: sale.unlocked ? "Who bought when" : "Who held when",
    caption: overlapSentence(sale) + (sale.unlocked ?
        " A bar is a purchase, from its beginning to its end; " :
        " A bar is a hold of the lock, from its grant to its release; ")
      + "what would be too short to be seen is a pixel or two wide, and zooming shows it as it is.",
    label: `Holds of ${plural(sale.servers.length, "server", "servers")} over ` +
      `${duration(sale.end)}. ${overlapSentence(sale)} Keys: plus, minus, arrows, 0.`,
  });
  made.classList.add("lanes");
  made.dataset.red = red;
  const shown = () => { made.dataset.from = time.from; made.dataset.to = time.to; };
  time.listeners.push(shown);
  shown();
  signKey(picture, keyOf(sale));
  drawRows(picture, sale, time, { height: total, lanes: shownLanes,
    paint: plot => paintLanes(plot, sale, lanes, total, time),
    describe: plot => describeLanes(plot, sale, lanes) });
  lanesTables(made, sale);
}
