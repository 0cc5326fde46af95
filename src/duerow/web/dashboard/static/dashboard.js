// What pages do in the browser beyond links and forms. Without this script everything still works, but nothing is live.
"use strict";

const root = document.documentElement;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Morphing: what the viewer has opened, chosen or drawn stays as it is when new contents arrive.

const kept = { DETAILS: ["open"], INPUT: ["checked", "value"], SELECT: ["value"] };

Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => {
  if (kept[node.tagName]?.includes(name) && node.type !== "hidden") return false;
  if (name === "style" && (node.matches("[data-node], [data-graph]"))) return false;
  return true;
};
Idiomorph.defaults.callbacks.beforeNodeMorphed = (before, after) => {
  if (before.nodeType !== 1) return true;
  if (before.tagName === "TIME" && before.dateTime === after.dateTime) return false;
  if (before.matches("svg.ways, input:not([type=hidden]), select, textarea")) return false;
  return true;
};

// Times: how long ago, or in how long; the browser keeps them current, so that the server need not send them again.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function span(seconds) {
  const [size, unit] = UNITS.find(([size]) => seconds >= size * (size === 1 ? 0 : 1.5)) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

function tellTimes() {
  const now = Date.now();
  for (const time of all("time.ago")) {
    const seconds = (now - Date.parse(time.dateTime)) / 1000;
    const text = Math.abs(seconds) < 1 ? "now" : seconds > 0 ? `${span(seconds)} ago` : `in ${span(-seconds)}`;
    if (time.textContent !== text) time.textContent = text;
    if (!time.title) time.title = new Date(time.dateTime).toLocaleString() + "\n" + time.dateTime;
  }
  for (const time of all("time.exact:not([title])")) time.title = new Date(time.dateTime).toLocaleString();
}
setInterval(tellTimes, 1000);

// Light and dark.

function switchTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("duerow-theme", root.dataset.theme); } catch { /* only for this page then */ }
}

// Selecting messages: the selection survives when new contents arrive.

const chosen = new Set();

function tellChosen() {
  for (const box of all("[data-choose]")) {
    box.checked = chosen.has(box.value);
    box.closest("tr").classList.toggle("is-chosen", box.checked);
  }
  const boxes = all("[data-choose]");
  for (const box of all("[data-all]")) {
    const some = boxes.filter((one) => one.checked).length;
    box.checked = some > 0 && some === boxes.length;
    box.indeterminate = some > 0 && some < boxes.length;
  }
  for (const place of all("[data-chosen]")) place.textContent = chosen.size ? `${chosen.size} chosen` : "";
  const form = document.getElementById("many");
  form?.classList.toggle("has-chosen", chosen.size > 0);
}

function tellVerb() {
  const verb = document.querySelector("[data-verb]");
  if (!verb) return;
  for (const field of all("[data-for]")) {
    const wanted = field.dataset.for === verb.value;
    field.hidden = !wanted;
    for (const input of all("input", field)) input.disabled = !wanted;
  }
}

document.addEventListener("change", (event) => {
  const target = event.target;
  if (target.matches("[data-choose]")) {
    target.checked ? chosen.add(target.value) : chosen.delete(target.value);
    tellChosen();
  } else if (target.matches("[data-all]")) {
    for (const box of all("[data-choose]")) target.checked ? chosen.add(box.value) : chosen.delete(box.value);
    tellChosen();
  } else if (target.matches("[data-verb]")) tellVerb();
  else if (target.matches("[data-submit]")) target.form.requestSubmit();
});

// Suggestions of the condition field: whole conditions while it is empty, then fields, operators and values.

function suggested(text, fields) {
  const value = text.match(/([A-Za-z_][\w."-]*)\s*(=|!=|<=|>=|<|>|\blike\b)\s*('[^']*|[^\s'()]*)$/);
  if (value) return (fields[value[1]] ?? []).map((one) => text.slice(0, text.length - value[3].length).trimEnd() + " " + one);
  const word = text.match(/[\w."-]*$/)[0];
  const before = text.slice(0, text.length - word.length);
  if (!before.trim() || /(\b(and|or|not)|\()\s*$/i.test(before)) return Object.keys(fields).map((one) => before + one);
  if (word) return [];
  return /[\w."]\s$/.test(text) && !/('|\d|\)|null|true|false)\s*$/i.test(text)
    ? ["=", "!=", "<", ">", "like", "in (", "is null", "is not null"].map((one) => before + one)
    : ["and ", "or "].map((one) => before + one);
}

function suggest() {
  const field = document.querySelector("input[data-fields]");
  if (!field) return;
  const list = field.list;
  list.whole ??= all("option", list).map((one) => one.value);
  const found = field.value.trim() ? suggested(field.value, JSON.parse(field.dataset.fields)) : list.whole;
  list.replaceChildren(...found.map((one) => Object.assign(document.createElement("option"), { value: one })));
}

document.addEventListener("input", (event) => { if (event.target.matches("input[data-fields]")) suggest(); });

// Copying.

async function copy(button) {
  const text = document.querySelector(`[data-text="${button.dataset.copy}"]`).textContent;
  let told = "Copied";
  try { await navigator.clipboard.writeText(text); } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text, className: "unseen" });
    document.body.append(area);
    area.select();
    told = document.execCommand("copy") ? "Copied" : "Not allowed";
    area.remove();
  }
  const before = button.dataset.before ?? (button.dataset.before = button.textContent);
  button.textContent = told;
  document.getElementById("news").textContent = told;
  setTimeout(() => { button.textContent = before; }, 1500);
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-copy], [data-theme-switch], [data-keys], a[href^='#']");
  if (!target) return;
  if (target.matches("[data-copy]")) copy(target);
  else if (target.matches("[data-theme-switch]")) switchTheme();
  else if (target.matches("[data-keys]")) document.getElementById("keys").showModal();
  else {
    const fold = document.querySelector(target.getAttribute("href"));
    if (fold?.tagName === "DETAILS") { fold.open = true; fold.querySelector("textarea, input:not([type=hidden])")?.focus(); }
  }
});

// Tooltips of charts.

const tip = document.getElementById("tip");

document.addEventListener("pointermove", (event) => {
  const text = event.target.closest?.("[data-tip]")?.dataset.tip;
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  tip.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, event.clientY - tip.offsetHeight - 10)}px)`;
});

// Keys.

let going = 0;

function step(by) {
  const rows = all("[data-row] .name");
  const at = rows.indexOf(document.activeElement);
  rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
}

const KEYS = {
  "/": () => { const field = document.querySelector("[data-focus]"); field?.focus(); field?.select(); },
  "?": () => document.getElementById("keys").showModal(),
  t: switchTheme,
  j: () => step(1),
  k: () => step(-1),
  n: () => document.querySelector(".pager a[rel=next]")?.click(),
  x: () => document.activeElement.closest("[data-row]")?.querySelector("[data-choose]")?.click(),
  g: () => { going = Date.now(); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape" && event.target.matches("input")) { event.target.blur(); return; }
  if (event.target.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
  if (Date.now() - going < 1500) {
    going = 0;
    const link = document.querySelector(`.nav a[data-key="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); return; }
  }
  const does = KEYS[event.key];
  if (does) { event.preventDefault(); does(); }
});

// Pipelines: dagre places the stations; the ways between them are drawn here.

const SVG = "http://www.w3.org/2000/svg";

function drawn(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

function curve(points) {
  const [first, ...rest] = points;
  if (rest.length < 2) return `M${first.x},${first.y}L${rest.at(-1).x},${rest.at(-1).y}`;
  let path = `M${first.x},${first.y}`;
  for (let at = 0; at < rest.length - 1; at++) {
    const here = rest[at], next = rest[at + 1], last = at === rest.length - 2;
    const end = last ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    path += `Q${here.x},${here.y} ${end.x},${end.y}`;
  }
  return path;
}

function layOut(graph) {
  if (!window.dagre) return;
  const nodes = all("[data-node]", graph);
  const edges = JSON.parse(graph.dataset.edges);
  const narrow = graph.clientWidth < 640;
  const plan = new dagre.graphlib.Graph({ multigraph: true });
  plan.setGraph({ rankdir: narrow ? "TB" : "LR", nodesep: narrow ? 14 : 22, ranksep: narrow ? 34 : 58, marginx: 10, marginy: 14 });
  plan.setDefaultEdgeLabel(() => ({}));
  graph.classList.add("is-laid-out");
  for (const node of nodes) plan.setNode(node.dataset.node, { width: node.offsetWidth, height: node.offsetHeight });
  edges.forEach((edge, at) => plan.setEdge(edge.from, edge.to, { width: edge.label.length * 6.2, height: edge.label ? 14 : 0, labelpos: "c" }, String(at)));
  dagre.layout(plan);
  const { width, height } = plan.graph();
  const scale = width <= graph.clientWidth ? 1 : Math.max(narrow ? 0.52 : 0.62, graph.clientWidth / width);
  graph.style.setProperty("--scale", scale);
  graph.style.height = `${Math.ceil(height * scale)}px`;
  const shift = Math.max(0, (graph.clientWidth / scale - width) / 2);
  for (const node of nodes) {
    const { x, y } = plan.node(node.dataset.node);
    node.style.transform = `translate(${(x + shift - node.offsetWidth / 2) * scale}px, ${(y - node.offsetHeight / 2) * scale}px) scale(${scale})`;
  }
  const ways = graph.querySelector("svg.ways");
  ways.replaceChildren();
  ways.setAttribute("viewBox", `${-shift} 0 ${Math.max(width + shift, graph.clientWidth / scale)} ${height}`);
  ways.setAttribute("width", Math.max((width + shift) * scale, graph.clientWidth));
  ways.setAttribute("height", height * scale);
  edges.forEach((edge, at) => {
    const plannedEdge = plan.edge(edge.from, edge.to, String(at));
    const group = drawn("g", { class: `way${edge.behind ? " behind" : ""}${edge.moves ? " moves" : ""}` }, ways);
    const path = curve(plannedEdge.points);
    drawn("path", { d: path, "stroke-width": edge.width }, group);
    const end = plannedEdge.points.at(-1), before = plannedEdge.points.at(-2);
    const turn = Math.atan2(end.y - before.y, end.x - before.x) * 180 / Math.PI;
    const size = 4 + Math.min(5, edge.width / 2);
    drawn("polygon", { points: `0,0 ${-size * 1.7},${-size} ${-size * 1.7},${size}`, transform: `translate(${end.x},${end.y}) rotate(${turn})` }, group);
    const said = [edge.label, edge.flow].filter(Boolean).join(", ");
    if (said) drawn("title", {}, group).textContent = said;
    if (edge.label) {
      drawn("text", { x: plannedEdge.x, y: plannedEdge.y + 4, "text-anchor": "middle" }, group).textContent = edge.label;
    }
  });
}

function layOutAll() { all("[data-graph]").forEach(layOut); }
addEventListener("resize", layOutAll);
document.fonts?.ready.then(layOutAll);

// Live: the stream is closed while the page is hidden, so that nothing is read for it.

const pulse = document.getElementById("pulse");

function tellPulse(state, text) {
  if (!pulse) return;
  pulse.dataset.state = state;
  pulse.lastElementChild.textContent = text;
}

let source = null;
document.addEventListener("htmx:sseOpen", (event) => { source = event.detail.source; tellPulse("on", "Live"); });
document.addEventListener("htmx:sseError", () => tellPulse("off", "Trying again"));
document.addEventListener("visibilitychange", () => {
  const stream = document.getElementById("stream");
  if (!stream) return;
  if (document.hidden) {
    source?.close();
    tellPulse("off", "Paused");
  } else if (source?.readyState === EventSource.CLOSED) {
    const again = stream.cloneNode(true);
    again.setAttribute("sse-connect", again.getAttribute("sse-connect").replace(/([?&]live=)[0-9a-f]*/, "$1x"));
    stream.replaceWith(again);
    htmx.process(again);
  }
});
addEventListener("pagehide", () => source?.close());

function fresh() {
  tellTimes();
  tellChosen();
  layOutAll();
  if (document.activeElement?.matches("input[data-fields]")) suggest();
}
document.addEventListener("htmx:afterSwap", fresh);
tellVerb();
fresh();
