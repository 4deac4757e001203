// Looks at the page as it was drawn, and writes its observations into the element "seen". The lanes
// are judged by their pixels, not by the page's words about them.
"use strict";
{
  const isRed = (pixels, i) =>
    pixels[i + 3] > 200 && pixels[i] - pixels[i + 1] > 100 && pixels[i] - pixels[i + 2] > 90;

  // Runs of true in a list, as [first, last]. Small gaps belong to the hatch.
  function runsOf(list) {
    const runs = [];
    list.forEach((is, i) => {
      const last = runs[runs.length - 1];
      if (!is) return;
      if (last && i - last[1] <= 3) last[1] = i; else runs.push([i, i]);
    });
    return runs;
  }

  function pixelsOf(canvas) {
    const copy = document.createElement("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
    const pen = copy.getContext("2d", { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    return pen.getImageData(0, 0, copy.width, copy.height).data;
  }

  // Red columns as runs of moments; and red rows at one moment in the middle of the first run.
  function redOf(figure) {
    const canvas = figure.querySelector(".u-wrap canvas"), { width, height } = canvas;
    const pixels = pixelsOf(canvas);
    const box = canvas.getBoundingClientRect();
    const plot = figure.querySelector(".u-over").getBoundingClientRect();
    const ratio = width / box.width, left = (plot.left - box.left) * ratio;
    const { from, to } = figure.dataset, perPixel = (to - from) / (plot.width * ratio);
    const red = (x, y) => isRed(pixels, 4 * (y * width + x));
    const rows = Array.from({ length: height }, (_, y) => y);
    const columns = Array.from({ length: width }, (_, x) => rows.some(y => red(x, y)));
    const runs = runsOf(columns), middle = runs[0] ? (runs[0][0] + runs[0][1]) >> 1 : 0;
    const near = [-3, -2, -1, 0, 1, 2, 3].map(shift => middle + shift);
    const moment = x => Number(from) + (x - left) * perPixel;
    return {
      pixel: perPixel,
      runs: runs.map(([first, last]) => [moment(first), moment(last + 1)]),
      rows: runsOf(rows.map(y => runs.length > 0 && near.some(x => red(x, y)))),
    };
  }

  const wordsOn = canvas => [...painted.get(canvas) ?? []];

  // The light and the dark parts of a sign, without its colour.
  function shapeOf(canvas) {
    const pixels = pixelsOf(canvas), shape = [];
    const dark = document.documentElement.dataset.theme === "dark";
    for (let i = 0; i < pixels.length; i += 4) {
      const light = .3 * pixels[i] + .6 * pixels[i + 1] + .1 * pixels[i + 2];
      shape.push(pixels[i + 3] > 120 && (dark ? light > 70 : light < 215) ? 1 : 0);
    }
    return shape.join("");
  }

  // The words of a key or a legend, those whose sign has the shape of an earlier sign (alike), and
  // those without a sign (empty).
  function signsOf(list) {
    const entries = [...list.querySelectorAll("li, .u-series")].filter(each =>
      getComputedStyle(each).display !== "none");
    const words = entries.map(each => each.textContent.trim());
    const shapes = entries.map(each => shapeOf(each.querySelector("canvas")));
    return { words, alike: words.filter((_, i) => shapes.indexOf(shapes[i]) !== i),
      empty: words.filter((_, i) => !shapes[i].includes("1")) };
  }

  function picturesOf(parent) {
    return [...parent.querySelectorAll("figure")].map(figure => ({
      title: figure.querySelector("h3").textContent,
      words: wordsOn(figure.querySelector(".u-wrap canvas")),
      signs: [...figure.querySelectorAll(".key, .u-legend")].map(signsOf)[0],
    }));
  }

  // The number of tables wider than the page, and of those that do not say so.
  function unsaidWidths() {
    const scrolls = [...document.querySelectorAll(".scroll")];
    for (const each of scrolls) each.measure();
    const wide = scrolls.filter(each => each.scrollWidth > each.clientWidth);
    return { count: wide.length, unsaid: wide.filter(each => each.tabIndex !== 0 ||
      each.previousSibling.hidden || !each.matches(".more-right")).length };
  }

  // uPlot draws only after the running task has ended.
  const pause = () => new Promise(done => setTimeout(done, 1));

  // The tips that the pointer shows along a line from the top of the lanes to their bottom.
  async function tipsOf(figure, x) {
    const over = figure.querySelector(".u-over"), tips = [];
    for (let y = 2; y < over.getBoundingClientRect().height; y += 6) {
      const box = over.getBoundingClientRect();
      over.dispatchEvent(new MouseEvent("mousemove", { clientX: box.left + x * box.width,
        clientY: box.top + y, bubbles: true }));
      await pause();
      const tip = document.getElementById("tip").textContent;
      if (tip && !tips.includes(tip)) tips.push(tip);
    }
    return tips;
  }

  function tableOf(figure) {
    const details = [...figure.querySelectorAll("details")];
    for (const each of details) each.fill();
    return [...figure.querySelectorAll("td[data-from]")].map(cell =>
      [Number(cell.dataset.from), Number(cell.nextSibling.dataset.to)]);
  }

  function lookWithoutLanes(section) {
    return { title: section.querySelector("h2").textContent, text: section.innerText,
      pictures: picturesOf(section).map(each => each.title) };
  }

  // The number of arrows before the first step and after each step, and the time that is shown.
  async function arrowsIn(section, steps) {
    const figure = section.querySelector(".messages"), details = section.querySelector(".steps");
    if (!figure || !details || steps.count > 40) return [];
    const moments = [];
    details.open = true;
    details.fill();
    const walker = details.querySelector(".walker");
    const press = key =>
      walker.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    press("Home");
    for (let i = 0; i <= steps.count; i++) {
      await pause();
      const note = figure.querySelector(":scope > p").textContent.match(/([\d.]+)\ss to ([\d.]+)/);
      moments.push({ count: Number(figure.dataset.arrows), from: note[1], to: note[2] });
      press("ArrowRight");
    }
    details.open = false;
    await pause();
    return moments;
  }

  // The texts of the steps, one after the other, by key; and whether the lanes show the step.
  async function stepsIn(section, figure) {
    const details = section.querySelector(".steps");
    if (!details) return null;
    details.open = true;
    details.fill();
    const walker = details.querySelector(".walker"), lanes = figure.querySelector(".u-wrap canvas");
    const opener = details.querySelector("summary"); // has the focus when it was clicked
    const press = key =>
      opener.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const shown = () => [...walker.querySelectorAll("output, .finding, dt, dd")].map(each =>
      each.textContent);
    const pages = [shown()], count = Number(pages[0][0].match(/of ([\d,]+)/)[1].replace(",", ""));
    const steps = { count, pages, back: 0 };
    await pause();
    const first = lanes.toDataURL();
    if (count <= 40) for (let i = 1; i <= count; i++) {
      press("ArrowRight");
      pages.push(shown());
    }
    press("End");
    steps.last = shown();
    await pause();
    steps.moved = lanes.toDataURL() !== first;
    for (let i = pages.length - 1; i-- > 0;) {
      press("ArrowLeft");
      if (shown().join() === pages[i].join()) steps.back++;
    }
    walker.querySelector('[aria-label="before the first step"]').click();
    steps.home = shown().join() === pages[0].join();
    details.open = false;
    await pause();
    return steps;
  }

  async function look(section) {
    const figure = section.querySelector("figure.lanes");
    if (!figure) return lookWithoutLanes(section);
    const painted = picturesOf(section); // before there is a pointer
    const seen = { title: section.querySelector("h2").textContent, count: figure.dataset.red,
      caption: figure.querySelector("figcaption").textContent, whole: redOf(figure),
      table: tableOf(figure), tips: await tipsOf(figure, .5),
      painted, pictures: painted.map(each => each.title) };
    seen.steps = await stepsIn(section, figure);
    seen.arrows = await arrowsIn(section, seen.steps);
    const pictures = () => [...section.querySelectorAll(".u-wrap canvas")].map(each =>
      each.toDataURL());
    const before = pictures(), changed = () => pictures().map((each, i) => each !== before[i]);
    for (let i = 0; i < 3; i++) section.querySelector('[aria-label="zoom in"]').click();
    await pause();
    seen.zoomed = redOf(figure);
    seen.changed = [changed()];
    seen.spans = [section.querySelector("output").textContent];
    for (const key of ["ArrowRight", "0"]) {
      figure.querySelector(".picture").dispatchEvent(new KeyboardEvent("keydown", { key }));
      seen.spans.push(section.querySelector("output").textContent);
    }
    await pause();
    seen.changed.push(changed());
    return seen;
  }

  // Each sale's distance from right in pieces, then in money with a price, then without the price.
  function distancesIn() {
    const input = document.querySelector("#distances input");
    if (!input) return null;
    const rows = () => [...document.querySelectorAll("#distances tr")].map(row =>
      [...row.children].map(cell => cell.textContent));
    const type = text => {
      input.value = text;
      input.dispatchEvent(new Event("input"));
      return rows();
    };
    return { pieces: rows(), money: type("19.99"), again: type(""), below: type("-1") };
  }

  async function lookAtAll(seen) {
    const root = document.documentElement;
    while (!root.dataset.drawn) await pause();
    seen.loaded = performance.getEntriesByType("resource").length;
    seen.theme = root.dataset.theme;
    seen.text = document.body.innerText;
    seen.title = document.title;
    seen.tooWide = root.scrollWidth - root.clientWidth;
    seen.width = innerWidth;
    seen.clipped = [...document.querySelectorAll(".picture")].filter(each =>
      each.scrollWidth > each.clientWidth).map(each => each.parentNode.firstChild.textContent);
    seen.lines = [...document.querySelectorAll(".lines li")].map(line => {
      const link = line.querySelector("a");
      const head = link && document.querySelector(`${link.getAttribute("href")} h2`);
      return { words: line.children[1].textContent, name: link?.textContent,
        leads_to: head?.lastChild.textContent, expectation: line.children[3]?.textContent,
        width: line.children[2].getBoundingClientRect().width };
    });
    seen.waits = picturesOf(document)[0];
    seen.shapes = [...document.querySelectorAll(".shapes")].flatMap(picturesOf);
    seen.tops = [...document.querySelectorAll(".shapes .picture")].map(each =>
      each.getBoundingClientRect().top);
    seen.distances = distancesIn();
    seen.unnamed = document.querySelectorAll(".picture:not([aria-label])").length;
    for (const section of document.querySelectorAll("section.sale"))
      seen.sales.push(await look(section));
    seen.wide = unsaidWidths();
    dispatchEvent(new Event("beforeprint"));
    await pause();
    seen.printed = { theme: root.dataset.theme,
      tables: [...document.querySelectorAll("details[open] summary")].map(each =>
        each.firstChild.textContent.trim()) };
    dispatchEvent(new Event("afterprint"));
    seen.themes = [root.dataset.theme];
    for (let i = 0; i < 2; i++) {
      document.getElementById("theme").click();
      seen.themes.push(root.dataset.theme);
    }
  }

  addEventListener("load", async () => {
    const seen = { sales: [], problems };
    try {
      await lookAtAll(seen);
    } catch (error) {
      problems.push("probe: " + error.stack);
    }
    const pre = document.createElement("pre");
    pre.id = "seen";
    pre.textContent = JSON.stringify(seen).replaceAll("\u00a0", " ");
    document.body.append(pre);
  });
}
