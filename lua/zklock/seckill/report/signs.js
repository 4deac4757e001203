// --- signs.js, the elements of pictures with lanes --------------------------------------
// Each colour also has a pattern or a sign. Keys are painted by the same functions as pictures.

// Conversions of times and heights to canvas pixels.
function canvasScale(plot) {
  const { left, top, width, height } = plot.bbox, { min, max } = plot.scales.x;
  const perSecond = width / (max - min), ratio = uPlot.pxRatio;
  return { left, top, width, height, min, max, ratio, x: at => left + (at - min) * perSecond,
    y: pixels => top + pixels * ratio };
}

// Adds a bar to a path, at least `least` pixels wide.
function addBar(path, scale, from, to, top, height, least) {
  const left = Math.max(scale.left, scale.x(from));
  const right = Math.min(scale.left + scale.width, scale.x(to));
  path.rect(left, scale.y(top), Math.max(least * scale.ratio, right - left),
    Math.max(scale.ratio * .8, height * scale.ratio));
}

const isSeen = (scale, from, to) => to >= scale.min && from <= scale.max;

// Patterns painted over the colour of a kind, each with a tile's pixels and a function for a tile.
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
  const tilePen = tile.getContext("2d");
  tilePen.fillStyle = tilePen.strokeStyle = colours.paper;
  drawTile(tilePen, size);
  return pen.createPattern(tile, "repeat");
}

// Fills a path with the colour and the patterns of a kind.
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

// --- signs of events of a hold -----------------------------------------------------------

const SIGN = 6; // pixels from the middle of a sign to its edge

function diamond(pen, x, y, size) {
  pen.beginPath();
  pen.moveTo(x - size, y);
  pen.lineTo(x, y - size);
  pen.lineTo(x + size, y);
  pen.lineTo(x, y + size);
  pen.closePath();
}

// A diamond for a write, black if it was made, hollow and crossed out if it was refused.
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

// A letter for the known state of the hold from then on.
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

// --- faults ----------------------------------------------------------------------------

// A server's fault is behind its lane; other faults are behind all lanes.
function faultSpan(sale, lanes, fault, total) {
  const lane = lanes[sale.servers.indexOf(fault.target)];
  return lane ? [lane.top - 3, lane.height + 6] : [0, total];
}

// A band, with a line at its beginning if that is in view; `begin` is [x, top, …, height].
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

// Names of faults above their lanes, or below all lanes. A name without room is left out.
function nameFaults(pen, scale, sale, lanes, total) {
  pen.font = `bold ${11 * scale.ratio}px system-ui, sans-serif`;
  pen.textBaseline = "top";
  pen.textAlign = "left";
  const taken = new Map(); // end of the last name, by height
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

// --- the frame of a picture ------------------------------------------------------------

function clip(pen, { left, top, width, height }, margin) {
  pen.beginPath();
  pen.rect(left - margin, top, width + 2 * margin, height);
  pen.clip();
}

// Marks the time of the current step.
function paintMark(pen, scale, at) {
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

// Shortens a name to that many pixels.
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

// The names of lanes at their middles.
const laneAxis = lanes => axis({
  size: gutter, splits: () => lanes.map(lane => lane.top + lane.height / 2),
  grid: { show: false }, ticks: { show: false },
  values: plot => lanes.map(lane => shorten(plot.ctx, lane.name, gutter() - 10)),
});

// --- keys ------------------------------------------------------------------------------

const SWATCH = { width: 26, height: 16, ratio: 2 };

// The key above a picture, with a sign and words for each entry. `paint(pen, width, height)` takes
// canvas pixels.
function signKey(picture, entries) {
  const key = element("ul", null, undefined, "key");
  for (const [text, paint] of entries) {
    const entry = element("li", key), canvas = element("canvas", entry);
    canvas.width = SWATCH.width * SWATCH.ratio;
    canvas.height = SWATCH.height * SWATCH.ratio;
    canvas.setAttribute("aria-hidden", "true");
    repaints.push(() => {
      const pen = canvas.getContext("2d");
      pen.clearRect(0, 0, canvas.width, canvas.height);
      paint(pen, canvas.width, canvas.height);
    });
    entry.append(text);
  }
  picture.before(key);
}
