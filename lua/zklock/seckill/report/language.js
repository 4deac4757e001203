// --- language.js: the page in another language ------------------------------------------
// Texts are made in English. In Chinese they are replaced in the page, by the sentence pairs of
// zh.txt. language.lua explains "{}", "{#}" and "(s)".

const { language: given, sentences } =
  JSON.parse(document.getElementById("texts").textContent);
const language = new URLSearchParams(location.search).get("language") ?? given;

const BREAKS = /\n| · |; |\. (?=\S)/; // between sentences
const JOINTS = { "; ": "；", ". ": "" };

const RULES = sentences.map(([english, text]) => ({ text, pattern: new RegExp("^" +
  english.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll("{}", "([^]+)")
    .replaceAll("{#}", "([\\d.,]*\\d)")
    .replaceAll("\\(s\\)", "s?").replaceAll("\\(were\\)", "w(?:as|ere)")
    .replaceAll("\\(are\\)", "(?:is|are)") + "$"), isWhole: BREAKS.test(english) }));
// Some rules match a whole text of several sentences, all other rules one sentence.
const OF_WHOLES = RULES.filter(rule => rule.isWhole);
const OF_PARTS = RULES.filter(rule => !rule.isWhole);
const KNOWN = new Map(sentences);
const translated = new Map(), unknown = new Set();

function apply(rules, text) {
  for (const rule of rules) {
    const found = text.match(rule.pattern);
    let count = 0;
    if (found)
      return rule.text.replace(/{(\d*)}/g, (_, number) => translate(found[number || ++count]));
  }
}

function splitSentence(text) {
  const [joint] = text.match(BREAKS) ?? [];
  if (!joint) return undefined;
  const end = text.indexOf(joint);
  const first = text.slice(0, end) + (joint === ". " ? "." : "");
  const rest = text.slice(end + joint.length), one = translate(first), other = translate(rest);
  return one === first && other === rest ? text : one + (JOINTS[joint] ?? joint) + other;
}

function translateSentence(text) {
  const other = KNOWN.get(text) ?? apply(OF_WHOLES, text) ?? splitSentence(text) ??
    apply(OF_PARTS, text);
  if (other === undefined && !/[\u4e00-\u9fff]/.test(text)) unknown.add(text);
  return other ?? text;
}

function translate(text) {
  const core = text.trim();
  if (!/(?!\bms\b|\bµs\b)[A-Za-z]{2}/.test(core)) return text;
  if (!translated.has(core)) translated.set(core, translateSentence(core));
  return text.replace(core, () => translated.get(core));
}

const TRANSLATED = ["aria-label", "title"]; // attributes with texts

function translateTree(node) {
  const parent = node.nodeType === Node.TEXT_NODE ? node.parentNode : node;
  if (!parent || parent.matches?.("script, style, pre, noscript")) return;
  if (parent !== node) {
    // A title may hold names, so it is translated only as a whole.
    const text = parent.matches("h1, title") ? KNOWN.get(node.data) ?? node.data :
      translate(node.data);
    if (text !== node.data) node.data = text;
    return;
  }
  for (const name of TRANSLATED) {
    const text = node.getAttribute?.(name), other = text && translate(text);
    if (text && text !== other) node.setAttribute(name, other);
  }
  for (const child of node.childNodes) translateTree(child);
}

function translatePage() {
  document.documentElement.lang = "zh-CN";
  const link = document.getElementById("language");
  link.textContent = "English";
  link.lang = "en";
  link.search = "?language=en";
  const pen = CanvasRenderingContext2D.prototype;
  for (const name of ["fillText", "measureText"]) {
    const plain = pen[name];
    pen[name] = function (text, ...more) { return plain.call(this, translate(text), ...more); };
  }
  translateTree(document.documentElement);
  new MutationObserver(changes => {
    for (const { target, addedNodes, type } of changes)
      for (const node of type === "childList" ? addedNodes : [target]) translateTree(node);
  }).observe(document.documentElement, { subtree: true, childList: true, characterData: true,
    attributes: true, attributeFilter: TRANSLATED });
}

if (language === "zh") translatePage();
