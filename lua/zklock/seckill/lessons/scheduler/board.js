// Walks through the table of a game's states. All that is said is in the table; a state has
//   boxes    how each server is drawn, a class for each
//   rows     what is to be seen, a text for each row
//   go       the choices, each with the state that it leads to
//   kind     "playing", "oversold" or "over", and the verdict in words
//   hint     in words
//   odds     in percent, that chance oversells from there, and the chance in words
// Texts are places in `texts`.
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
    // The pressed button may be gone; the keyboard goes on at the choices.
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

  // How likely it was to end wrong, after each choice.
  function drawOdds(seen) {
    odds.replaceChildren(odds.firstElementChild, ...seen.map(state => {
      const box = element("i", "");
      box.style.height = states[state].odds / 4 + "px";
      return box;
    }));
    find("chance").textContent = texts[states[now].chance];
  }

  // A box for each choice so far, as the server was after it.
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
