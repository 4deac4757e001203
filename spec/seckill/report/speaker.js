// Makes the page show all its texts, and writes those that stayed in English into "seen".
"use strict";
{
  const pause = () => new Promise(done => setTimeout(done, 1));

  async function pointAt(over) {
    const box = over.getBoundingClientRect();
    for (let y = 2; y < box.height; y += 6)
      for (const x of [.1, .5, .9])
        over.dispatchEvent(new MouseEvent("mousemove", { bubbles: true,
          clientX: box.left + x * box.width, clientY: box.top + y }));
    await pause();
  }

  async function walk(details) {
    for (let i = 0; i < 40; i++) {
      details.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
      await pause();
    }
  }

  addEventListener("load", async () => {
    const root = document.documentElement;
    try {
      while (!root.dataset.drawn) await pause();
      for (const details of document.querySelectorAll("main details")) {
        details.open = true;
        details.fill?.();
        await pause();
        if (details.matches(".steps")) await walk(details);
      }
      for (const over of document.querySelectorAll(".u-over")) await pointAt(over);
      document.getElementById("theme").click();
      await pause();
    } catch (error) {
      problems.push("probe: " + error.stack);
    }
    const pre = document.createElement("pre");
    pre.id = "seen";
    pre.textContent = JSON.stringify({ problems, english: [...unknown], lang: root.lang,
      tooWide: root.scrollWidth - root.clientWidth, text: document.body.innerText });
    document.body.append(pre);
  });
}
