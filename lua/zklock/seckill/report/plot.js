// --- plot.js, common parts of all pictures ---------------------------------------------

const colours = {};
const COLOURS = ["paper", "ink", "faint", "line", "sold", "refused", "other", "fault", "both",
                 "gap", "one", "two", "three", "four", "five", "six", "seven"];

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of COLOURS) colours[name] = style.getPropertyValue("--" + name).trim();
}

const FONT = "12px system-ui, sans-serif";
const NARROW = 600; // pixels; narrower pages have less room for labels
const PAPER = 690; // pixels; width of a printed page

const plots = []; // { plot, width(), paper }, where `paper` is the width on paper
const repaints = []; // functions that repaint signs of keys

const isNarrow = () => innerWidth < NARROW;
const gutter = () => isNarrow() ? 78 : 92; // left margin, so that time axes line up

// An axis in the page's colours.
function axis(options) {
  return {
    stroke: () => colours.faint, font: FONT, labelFont: FONT, labelSize: 18,
    grid: { stroke: () => colours.line, width: 1 },
    ticks: { stroke: () => colours.line, width: 1, size: 5 },
    ...options,
  };
}

// Ticks of a time axis, with as many digits as the step needs.
function timeTicks(plot, splits) {
  const step = splits.length > 1 ? splits[1] - splits[0] : 1;
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits % 1 - .5) < .5 - 1e-6) digits++;
  return splits.map(at => at.toFixed(digits) + " s");
}

const timeAxis = () => axis({ values: timeTicks, space: 70, size: 30 });

// Steps between ticks of a count are 1, 2, 5, 10, 20, and so on.
const WHOLE = Array.from({ length: 30 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3));

const countAxis = label => axis({
  label, incrs: WHOLE, size: () => gutter() - 18,
  values: (_, splits) => splits.map(each => grouped(each)),
});

// A figure with heading, caption and picture.
function figure(parent, { title, label, caption }) {
  const made = element("figure", parent);
  element("h3", made, title);
  if (caption) element("figcaption", made, caption);
  const picture = element("div", made, undefined, "picture");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", label);
  return { figure: made, picture };
}

function draw(picture, { paper = PAPER, ...options }, data) {
  const width = () => Math.floor(picture.clientWidth);
  const plot = new uPlot({
    width: width(), padding: [8, 16, 0, 0], ...options,
    cursor: { y: false, drag: { x: true, y: false }, ...options.cursor },
  }, data, picture);
  plots.push({ plot, width, paper });
  if (plot.root.querySelector(".u-legend")) markLegend(plot);
  return plot;
}

function fitPlots(isPrinted) {
  for (const each of plots) {
    const wide = isPrinted ? each.paper : each.width();
    if (wide > 0 && wide !== each.plot.width)
      each.plot.setSize({ width: wide, height: each.plot.height });
  }
}

// Paints a legend's marker with the line's own dashes, because uPlot's markers have one pattern.
function paintMarker(canvas, plot, series) {
  const pen = canvas.getContext("2d"), middle = canvas.height / 2;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.strokeStyle = pen.fillStyle = series.stroke(plot);
  if (series.dotted) return pen.fillRect(canvas.width / 2 - 5, middle - 5, 10, 10);
  pen.setLineDash((series.dash ?? []).map(length => 2 * length));
  pen.lineWidth = 5;
  pen.beginPath();
  pen.moveTo(0, middle);
  pen.lineTo(canvas.width, middle);
  pen.stroke();
}

function markLegend(plot) {
  plot.root.querySelectorAll(".u-series").forEach((row, i) => {
    if (i === 0) return; // the pointer's position
    const canvas = document.createElement("canvas");
    canvas.width = 88;
    canvas.height = 16;
    row.querySelector("th").prepend(canvas);
    repaints.push(() => paintMarker(canvas, plot, plot.series[i]));
  });
}

function paintSigns() {
  for (const repaint of repaints) repaint();
}

function redrawPlots() {
  readColours();
  for (const { plot } of plots) plot.redraw(false);
  paintSigns();
}

// A picture of rows of that height over a sale's time, without curves: `paint(plot)` draws it, and
// `describe(plot)` gives the lines about what is under the pointer.
function drawRows(picture, sale, time, { height, lanes, span, paint, describe }) {
  const shared = time.options(), x = span ? { time: false, range: span } : shared.scales.x;
  const plot = draw(picture, {
    height: height + 30 + 8, legend: { show: false },
    scales: { x, y: { range: () => [0, height], dir: -1 } },
    axes: [timeAxis(), laneAxis(lanes)],
    series: [{}, { show: true, paths: () => null, points: { show: false } }],
    cursor: time.cursor({ points: { show: false } }),
    hooks: { ...shared.hooks, draw: [paint] },
  }, [[0, sale.end], [null, null]]);
  time.add(plot, span);
  makeMovable(picture, time);
  tellAtPointer(plot, describe);
}

// The legend's text for the pointer's position.
const atPointer = (plot, at) => at === null || plot.cursor.left < 0 ? "" :
  timeText(plot.posToVal(plot.cursor.left, "x"));

// --- the shown span of a sale's time, which all its pictures share ---------------------

class Time {
  constructor(sale) {
    this.end = sale.end;
    this.key = "sale " + sale.index;
    this.plots = []; // { plot, spanOf() }
    this.from = 0;
    this.to = this.end;
    this.listeners = [];
    this.markedAt = null; // time marked in the lanes
  }

  // Options of a plot with this span.
  options() {
    return {
      scales: { x: { time: false, range: () => [this.from, this.to] } },
      cursor: { sync: { key: this.key, filters: { pub: type => /move|leave/.test(type) } } },
      hooks: { setSelect: [plot => this.select(plot)] },
    };
  }

  // Replaces uPlot's zoom, which would zoom one picture only.
  cursor(options) {
    return { ...this.options().cursor, drag: { x: true, y: false, setScale: false }, ...options };
  }

  // A step curve's value at the pointer is that of the last event before it.
  stepCursor() {
    const dataIdx = (plot, _, nearest, at) =>
      nearest > 0 && plot.data[0][nearest] > at ? nearest - 1 : nearest;
    return this.cursor({ dataIdx, points: { show: false } });
  }

  select(plot) {
    const { left, width } = plot.select;
    if (width < 3) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.show(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }

  show(from, to) {
    const span = Math.min(Math.max(to - from, 20e-6), this.end);
    this.from = Math.max(0, Math.min(from, this.end - span));
    this.to = this.from + span;
    this.redraw();
    for (const listener of this.listeners) listener();
  }

  redraw() {
    for (const { plot, spanOf } of this.plots) {
      const [min, max] = spanOf(), { x } = plot.scales;
      if (x.min === min && x.max === max) plot.redraw(false);
      else plot.setScale("x", { min, max });
    }
  }

  zoom(factor, at = this.markedAt ?? (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  move(part) {
    const span = this.to - this.from;
    this.show(this.from + part * span, this.to + part * span);
  }

  showAll() { this.show(0, this.end); }

  // Marks a time, and scrolls there; null removes the mark.
  mark(at) {
    this.markedAt = at;
    const half = (this.to - this.from) / 2;
    if (at !== null && (at < this.from || at > this.to)) this.show(at - half, at + half);
    else this.redraw();
  }

  // Adds a picture with this span, or with a span of its own.
  add(plot, spanOf = () => [this.from, this.to]) {
    this.plots.push({ plot, spanOf });
    plot.over.addEventListener("dblclick", () => this.showAll());
    plot.over.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY / 300), plot.posToVal(event.offsetX, "x"));
    }, { passive: false });
  }
}

const MOVES = [
  ["−", "zoom out", time => time.zoom(2), "-"],
  ["+", "zoom in", time => time.zoom(.5), "+"],
  ["◀", "earlier", time => time.move(-.25), "ArrowLeft"],
  ["▶", "later", time => time.move(.25), "ArrowRight"],
  ["whole sale", "the whole sale", time => time.showAll(), "0"],
];

function timeBar(parent, time) {
  const bar = element("div", parent, undefined, "bar");
  for (const [text, label, act, key] of MOVES) button(bar, text, label, () => act(time), key);
  const shown = element("output", bar);
  const showSpan = () => {
    shown.textContent = `${timeText(time.from, 3)} to ${timeText(time.to, 3)}`;
  };
  time.listeners.push(showSpan);
  showSpan();
  element("span", bar, "Drag over a picture to zoom in, double-click for the whole; or Ctrl and " +
    "the wheel.", "faint hint");
}

// Moves the span by keys while a picture has the focus.
function makeMovable(picture, time) {
  picture.tabIndex = 0;
  picture.addEventListener("keydown", event => {
    const move = MOVES.find(each => each[3] === event.key);
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move[2](time);
  });
}

// --- the text beside the pointer -------------------------------------------------------

function tellAtPointer(plot, describe) {
  plot.over.addEventListener("mousemove", event => tell(describe(plot), event));
  plot.over.addEventListener("mouseleave", () => tell([]));
}

function tell(lines, event) {
  const tip = byId("tip");
  tip.textContent = lines.join("\n");
  tip.style.display = lines.length ? "block" : "none";
  if (!lines.length || !event) return;
  const x = event.clientX + 14, y = event.clientY + 14;
  tip.style.left = Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (y + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 14 : y) +
    "px";
}
