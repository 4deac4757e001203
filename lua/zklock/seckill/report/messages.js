// --- messages.js, the picture of messages between servers and ZooKeeper ----------------
// Each server and ZooKeeper have a line, and time runs to the right. An arrow leads from the
// sending of a message to its arrival. At a step, only messages sent by then are shown.

const MOST_SERVERS = 12; // of a sale whose messages are drawn
const MOST_ARROWS = 60; // in view
const ROW = 46; // pixels between servers' lines
const TO_ZOOKEEPER = 78; // pixels between a server's line and ZooKeeper's
const HALF_BAR = 4; // pixels of a hold on its server's line

// ZooKeeper is in the middle, so that arrows cross few lines.
function layProcesses(sale) {
  const before = Math.ceil(sale.servers.length / 2), servers = [];
  let y = 20;
  const line = name => ({ name, top: y - HALF_BAR, height: 2 * HALF_BAR, y });
  let zookeeper = null;
  sale.servers.forEach((name, i) => {
    servers.push(line(name));
    y += i === before - 1 ? TO_ZOOKEEPER : ROW;
    if (i !== before - 1) return;
    zookeeper = line("ZooKeeper");
    y += TO_ZOOKEEPER;
  });
  const last = servers.length > before ? servers[servers.length - 1] : zookeeper;
  return { servers, zookeeper, total: last.y + 22 };
}

// --- which arrows there are ------------------------------------------------------------

// Length of the window at a step, enough for some messages or for a hold.
function windowOf(sale) {
  const middle = list => list.sort((a, b) => a - b)[list.length >> 1] ?? 0;
  const messages = sale.messages.map(each => endTimeOf(each) - each.sent);
  const holds = sale.holds.map(hold => hold.end - hold.granted);
  return Math.min(sale.end, Math.max(10 * middle(messages), middle(holds), 1e-4));
}

function spanAt(length, time) {
  if (time.markedAt === null) return [time.from, time.to];
  const from = Math.max(0, time.markedAt - .8 * length);
  return [from, from + length];
}

const endTimeOf = each => each.isLost ? each.sent : each.arrived;

// The messages in view, at a step only those sent by then. If there are too many, the first are
// kept, or at a step the last.
function shownMessages(sale, scale, at) {
  const seen = sale.messages.filter(each => isSeen(scale, each.sent, endTimeOf(each)) &&
    (at === null || each.sent <= at));
  const shown = at === null ? seen.slice(0, MOST_ARROWS) : seen.slice(-MOST_ARROWS);
  return { shown, count: seen.length };
}

// An arrow's ends on the canvas. At a step, a message under way ends at its current position.
function arrowOf(each, { servers, zookeeper }, scale, at) {
  const server = servers[each.server];
  const [start, end] = each.kind === "request" ? [server, zookeeper] : [zookeeper, server];
  const from = { x: scale.x(each.sent), y: scale.y(start.y) };
  const whole = { x: scale.x(endTimeOf(each)), y: scale.y(end.y) };
  const isUnderWay = at !== null && at < endTimeOf(each);
  const part = each.isLost ? .4 :
    isUnderWay ? Math.max(.1, (at - each.sent) / (each.arrived - each.sent)) : 1;
  const to = { x: from.x + (whole.x - from.x) * part, y: from.y + (whole.y - from.y) * part };
  if (each.isLost) to.x += 14 * scale.ratio;
  return { each, from, to, isUnderWay };
}

// --- how they are painted --------------------------------------------------------------

// A request is solid with a full head, an answer dashed with an open head, an event dotted with a
// round head. A lost message ends with a cross.
const KINDS = {
  request: { colour: "one", dash: [], head: "full" },
  answer: { colour: "ink", dash: [6, 3], head: "open" },
  event: { colour: "two", dash: [2, 3], head: "round" },
};

const HEADS = {
  full: (pen, size) => {
    pen.moveTo(0, 0);
    pen.lineTo(-size, -size / 2);
    pen.lineTo(-size, size / 2);
    pen.fill();
  },
  open: (pen, size) => {
    pen.moveTo(-size, -size / 2);
    pen.lineTo(0, 0);
    pen.lineTo(-size, size / 2);
    pen.stroke();
  },
  round: (pen, size) => {
    pen.arc(-size / 2, 0, size / 2, 0, 7);
    pen.fill();
  },
  cross: (pen, size) => {
    pen.moveTo(-size / 2, -size / 2);
    pen.lineTo(size / 2, size / 2);
    pen.moveTo(size / 2, -size / 2);
    pen.lineTo(-size / 2, size / 2);
    pen.stroke();
  },
};

function paintArrow(pen, { each, from, to }, ratio, isBold) {
  const { colour, dash, head } = KINDS[each.kind];
  pen.save();
  pen.strokeStyle = pen.fillStyle = colours[colour];
  pen.lineWidth = (isBold ? 3 : 1.5) * ratio;
  pen.setLineDash(dash.map(length => length * ratio));
  pen.beginPath();
  pen.moveTo(from.x, from.y);
  pen.lineTo(to.x, to.y);
  pen.stroke();
  pen.setLineDash([]);
  pen.lineWidth = 1.8 * ratio;
  pen.translate(to.x, to.y);
  pen.rotate(Math.atan2(to.y - from.y, to.x - from.x));
  pen.beginPath();
  HEADS[each.isLost ? "cross" : head](pen, (isBold ? 11 : 8) * ratio);
  pen.restore();
}

// Writes a message at the middle of its arrow, if there is room.
function nameArrow(pen, { each, from, to }, scale, taken) {
  const { ratio } = scale, half = pen.measureText(each.text).width / 2 + 3 * ratio;
  const tall = 7 * ratio, middle = (from.x + to.x) / 2, y = (from.y + to.y) / 2;
  const x = Math.max(scale.left + half, Math.min(middle, scale.left + scale.width - half));
  if (Math.abs(x - middle) > half || 2 * half > scale.width) return;
  const meets = box => Math.abs(box.x - x) < box.half + half && Math.abs(box.y - y) < 2 * tall;
  if (taken.some(meets)) return;
  taken.push({ x, y, half });
  pen.fillStyle = colours.paper;
  pen.globalAlpha = .88;
  pen.fillRect(x - half, y - tall, 2 * half, 2 * tall);
  pen.globalAlpha = 1;
  pen.fillStyle = colours.ink;
  pen.fillText(each.text, x, y);
}

// At a step, the bars of holds end at its time.
function paintProcesses(pen, scale, sale, { servers, zookeeper }, at) {
  pen.fillStyle = colours.faint;
  for (const { y } of [...servers, zookeeper])
    pen.fillRect(scale.left, scale.y(y) - scale.ratio / 2, scale.width, scale.ratio);
  for (const hold of sale.holds) {
    const server = servers[hold.server], path = new Path2D();
    const end = Math.min(hold.end, at ?? Infinity);
    if (!server || end < hold.granted || !isSeen(scale, hold.granted, end)) continue;
    addBar(path, scale, hold.granted, end, server.top, server.height, 1);
    fillKind(pen, path, kindOf(hold), scale.ratio);
  }
}

// Names are placed by priority, first the step's message, then requests and events, then answers.
function paintMessages(plot, sale, processes, time) {
  const pen = plot.ctx, scale = canvasScale(plot), at = time.markedAt;
  const { shown, count } = shownMessages(sale, scale, at);
  const isNow = ({ each }) => at !== null && endTimeOf(each) === at;
  const arrows = shown.map(each => arrowOf(each, processes, scale, at));
  pen.save();
  clip(pen, scale, 8 * scale.ratio);
  paintFaults(pen, scale, sale, processes.servers, processes.total);
  paintProcesses(pen, scale, sale, processes, at);
  for (const arrow of arrows) paintArrow(pen, arrow, scale.ratio, isNow(arrow));
  pen.font = `${11 * scale.ratio}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const taken = [];
  const isAnswer = ({ each }) => each.kind === "answer";
  for (const arrow of [...arrows.filter(isNow), ...arrows.filter(each => !isAnswer(each)),
    ...arrows.filter(isAnswer)]) nameArrow(pen, arrow, scale, taken);
  paintMark(pen, scale, at);
  pen.restore();
  return { arrows, count };
}

// --- in words --------------------------------------------------------------------------

function messageWords(sale, each) {
  const server = serverName(sale, each);
  const [sender, hearer] = each.kind === "request" ? [server, "ZooKeeper"] : ["ZooKeeper", server];
  const about = each.lock === null ? "" : ` (lock ${each.lock})`;
  if (each.isLost) return `${sender} to ${hearer}, lost on its way: ${each.text}${about}`;
  return `${hearer} hears from ${sender}: ${each.text}${about}`;
}

function describeMessage(sale, each) {
  if (!sale.hasBothEnds)
    return [`${serverName(sale, each)} ${each.text} (lock ${each.lock})`, timeText(each.sent)];
  return [messageWords(sale, each), `sent ${timeText(each.sent)}` + (each.isLost ? "" :
    `, arrived ${timeText(each.arrived)}, under way for ${duration(each.arrived - each.sent)}`)];
}

// The distance of a point from an arrow.
function distanceTo({ from, to }, x, y) {
  const wide = to.x - from.x, tall = to.y - from.y, square = wide * wide + tall * tall;
  const part = square && ((x - from.x) * wide + (y - from.y) * tall) / square;
  const near = Math.max(0, Math.min(1, part));
  return Math.hypot(from.x + near * wide - x, from.y + near * tall - y);
}

function describeNearest(plot, sale, arrows) {
  const { left, top } = plot.cursor, { ratio, ...scale } = canvasScale(plot);
  const x = scale.left + left * ratio, y = scale.y(top);
  const near = arrows.map(arrow => [distanceTo(arrow, x, y), arrow.each])
    .filter(([distance]) => distance < 9 * ratio).sort(([a], [b]) => a - b);
  return near.slice(0, 3).flatMap(([, each]) => describeMessage(sale, each));
}

const messageColumns = sale => [
  { title: sale.hasBothEnds ? "sent" : "at", of: each => timeText(each.sent), number: true },
  ...(sale.hasBothEnds ? [{ title: "arrived", of: each => each.isLost ? "lost" :
    timeText(each.arrived), number: true }] : []),
  { title: "server", of: each => serverName(sale, each) },
  { title: "way", of: each => each.kind === "request" ? "to ZooKeeper" : "from ZooKeeper" },
  { title: "lock", of: each => each.lock ?? "–" },
  { title: "message", of: each => each.text },
];

// --- the picture -----------------------------------------------------------------------

const BOTH_ENDS = "An arrow begins where and when a message was sent, and ends where and when it "
  + "arrived.";

const BARS = " Bars are holds of the lock. Step by step, below, the arrows come one after the other,"
  + " and the picture is of the time around the step.";

const NUMBERS = " #3 is the lock's node with the number 3: a waiter watches the node before its "
  + "own, and an event tells it when that is deleted.";

const ONE_END = "This record has the servers' side alone: when a buyer asked for its lock, had it "
  + "and gave it back. When ZooKeeper had a message is not known, so the arrows are upright.";

function messageKey(sale) {
  const signs = [["request", "request"], ["answer", sale.hasBothEnds ? "answer" :
    "answer or event"], ["event", "event of a watch"]]
    .map(([kind, text]) => [text, { kind }, each => each.kind === kind && !each.isLost]);
  signs.push(["lost with its connection", { kind: "request", isLost: true }, each => each.isLost]);
  return signs.filter(([, , fits]) => sale.messages.some(fits)).map(([text, each]) =>
    [text, (pen, width, height) => paintArrow(pen, { each, from: { x: 2, y: height / 2 },
      to: { x: width - 8, y: height / 2 } }, SWATCH.ratio, false)]);
}

function tellShown(note, { arrows, count }, [from, to], time) {
  const text = time.markedAt !== null ? `Around this step: ${timeText(from)} to ${timeText(to)}.` :
    arrows.length === count ? "" : `${grouped(arrows.length)} of the ${grouped(count)} messages ` +
    "of this time are drawn: zoom in for the others.";
  if (note.textContent !== text) note.textContent = text;
}

function drawMessages(parent, sale, time) {
  if (!sale.messages.length || sale.servers.length > MOST_SERVERS) return;
  const processes = layProcesses(sale), { servers, zookeeper, total } = processes;
  const hasNumbers = sale.messages.some(each => each.text.includes("#"));
  const lines = [...servers, zookeeper].sort((a, b) => a.y - b.y);
  const { figure: made, picture } = figure(parent, {
    title: "Messages to and from ZooKeeper",
    caption: (sale.hasBothEnds ? BOTH_ENDS : ONE_END) + (hasNumbers ? NUMBERS : "") + BARS,
    label: `Messages between ${plural(sale.servers.length, "server", "servers")} and ZooKeeper ` +
      `over ${duration(sale.end)}; the table has them. Keys: plus, minus, arrows, 0.`,
  });
  made.classList.add("messages");
  signKey(picture, messageKey(sale));
  const note = element("p", made, "", "faint");
  const length = windowOf(sale), span = () => spanAt(length, time);
  let painted = { arrows: [], count: 0 };
  const paint = plot => {
    painted = paintMessages(plot, sale, processes, time);
    tellShown(note, painted, span(), time);
    made.dataset.arrows = painted.arrows.length;
  };
  drawRows(picture, sale, time, { height: total, lanes: lines, span, paint,
    describe: plot => describeNearest(plot, sale, painted.arrows) });
  tableBehind(made, "Table: messages", messageColumns(sale), sale.messages);
}
