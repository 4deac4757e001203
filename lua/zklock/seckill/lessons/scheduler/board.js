// Walks through the table of a game's states. The table has all texts. A state has
//   boxes    a class of CSS for each server's box
//   rows     a text for each row of the board
//   go       the choices, each with the state that it leads to
//   kind     "playing", "oversold" or "over", and the verdict in words
//   hint     in words
//   odds     that random choices oversell from there, in percent; `chance` has them in words
// Texts are indices into `texts`.
"use strict";

const { texts, games } = JSON.parse(document.getElementById("games").textContent);

function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

function play(section, states) {
  const find = name => section.querySelector("." + name);
  const cells = section.querySelectorAll("td");
  const lanes = section.querySelectorAll(".lanes div:not(.odds)"), odds = find("lanes .odds");
  const choices = find("choices"), undo = find("undo"), ask = find("ask");
  const past = []; // { state, text }: where each choice was made, and what it was
  let now = 0;

  function go(to) {
    now = to;
    show();
    // The pressed button may be gone; then the focus moves to the choices.
    const focused = document.activeElement;
    if (focused === document.body || focused.disabled) {
      (choices.querySelector("button") ?? undo).focus({ preventScroll: true });
    }
  }

  function choiceButton([text, to]) {
    const button = element("button", texts[text]);
    button.type = "button";
    button.onclick = () => {
      past.push({ state: now, text: texts[text] });
      go(to);
    };
    return button;
  }

  // The odds of a wrong end after each choice.
  function drawOdds(seen) {
    odds.replaceChildren(odds.firstElementChild, ...seen.map(state => {
      const box = element("i", "");
      box.style.height = states[state].odds / 4 + "px";
      return box;
    }));
    find("chance").textContent = texts[states[now].chance];
  }

  // In each server's lane, a box for each choice so far.
  function draw() {
    const seen = [...past.map(each => each.state), now].slice(1);
    lanes.forEach((lane, server) => {
      lane.replaceChildren(lane.firstElementChild, ...seen.map(state => {
        const box = element("i", "");
        box.className = states[state].boxes[server];
        return box;
      }));
    });
    drawOdds(seen);
  }

  function show() {
    const state = states[now];
    state.rows.forEach((text, i) => { cells[i].textContent = texts[text]; });
    find("verdict").textContent = texts[state.verdict];
    find("verdict").className = "verdict " + state.kind;
    choices.replaceChildren(...state.go.map(choiceButton));
    find("choose").hidden = state.go.length === 0;
    find("past").replaceChildren(...past.map(each => element("li", each.text)));
    find("nothing").hidden = past.length > 0;
    find("hint").textContent = "";
    draw();
    undo.disabled = find("restart").disabled = past.length === 0;
  }

  undo.onclick = () => go(past.pop().state);
  find("restart").onclick = () => {
    past.length = 0;
    go(0);
  };
  if (ask) ask.onclick = () => { find("hint").textContent = texts[states[now].hint]; };
  for (const details of section.querySelectorAll("details")) details.open = false;
  find("board").hidden = false;
  show();
}

for (const [name, states] of Object.entries(games)) play(document.getElementById(name), states);
