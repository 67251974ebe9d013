
"use strict";
(() => {
const root = document.documentElement;
root.classList.add("js");
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const n = data.items.length;
const labelOf = (item) => data.cut[item] ?? data.items[item];  // as it is shown

// --- columns ---------------------------------------------------------------------------------
const bytesOf = (text) => {
  const plain = atob(text), bytes = new Uint8Array(plain.length);
  for (let k = 0; k < plain.length; k += 1) bytes[k] = plain.charCodeAt(k);
  return bytes;
};
const KINDS = {d: Float64Array, f: Float32Array, h: Uint16Array, b: Uint8Array};
const columnOf = (stored, length = n) => {
  if (typeof stored === "number") return new Float64Array(length).fill(stored);
  const [[kind, text]] = Object.entries(stored);
  return new KINDS[kind](bytesOf(text).buffer);  // little-endian, as all browsers run on
};
const col = {};
for (const [name, stored] of Object.entries(data.columns)) col[name] = columnOf(stored);
const reason = columnOf(data.reason), kind = columnOf(data.kind);
const maps = data.maps.map((halves) => halves.map((stored) => columnOf(stored)));
const NOWHERE = 65535, UNSEEN = 255;
const nSystems = data.systems.length, nGroups = data.curve.groups[0].length;
const composite = columnOf(data.composite);
const observed = columnOf(data.observed, 3 * n * nGroups);
const answered = data.answered && bytesOf(data.answered);
const right = data.answered_right && bytesOf(data.answered_right);
const isSet = (plane, place) => (plane[place >> 3] >> (7 - (place & 7))) & 1;

// --- words -----------------------------------------------------------------------------------
const number = (value) => {
  const size = Math.abs(value), large = size >= 1e3 && Number.isFinite(value);
  if (Number.isNaN(value)) return "";
  // of two that are as near, which only odd multiples of 1/8 have, Python takes the even one
  const down = size * 8 % 2 === 1 && Math.floor(size * 100) % 2 === 0 ? 0.005 : 0;
  const text = large ? size.toExponential(1).replace(/\+(\d)$/, "+0$1") : (size - down).toFixed(2);
  return (value < 0 && Number(text) !== 0 ? "\u2212" : "") + text.replace("Infinity", "inf");
};
const thousands = (value) => value.toLocaleString("en-US");
const textOf = (name, item) => (name === "n_responses" ? thousands : number)(col[name][item]);
const heading = (name) => name.replaceAll("_", " ");
const made = (element, attributes, children = []) => {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const element = (name, attributes = {}, ...children) =>
  made(document.createElement(name), attributes, children);
const shape = (name, attributes) =>
  made(document.createElementNS("http://www.w3.org/2000/svg", name), attributes);
const bdi = (text) => element("bdi", {}, text);
const linkTo = (item) => element("a", {class: "to-item", href: `#item-${item}`}, bdi(labelOf(item)));

// --- the chosen item -------------------------------------------------------------------------
const probability = (item, ability) => {
  const c = col.guessing ? col.guessing[item] : 0;
  return c + (1 - c) / (1 + Math.exp(-(col.discrimination[item] * ability + col.intercept[item])));
};
const curveOf = (item) => {  // the marks of a curve in axes that are drawn
  const {ability, x, ends: [zero, one], inside: [first, end]} = data.curve;
  const y = (share) => zero + share * (one - zero);
  const svg = byId("curve").content.firstElementChild.cloneNode(true);
  svg.removeAttribute("aria-hidden");
  made(svg, {role: "img", "aria-label": `Observed and fitted proportion correct of ${labelOf(item)}`});
  const add = (d, look) => svg.append(shape("path", {d, stroke: "currentColor", ...look}));
  const points = ability.map((theta, k) => `${x[k]} ${y(probability(item, theta))}`);
  const line = {class: "item", fill: "none", "stroke-width": 2};
  if (!Number.isNaN(col.intercept[item])) {
    add(`M${points.slice(0, first + 1).join("L")}`, {...line, "stroke-dasharray": "4 4"});
    add(`M${points.slice(first, end).join("L")}`, line);
    add(`M${points.slice(end - 1).join("L")}`, {...line, "stroke-dasharray": "4 4"});
  }
  let bars = "", dots = "";
  data.curve.groups[composite[item]].forEach((at, group) => {
    const [share, low, high] = observed.subarray(3 * (item * nGroups + group));
    if (share === UNSEEN) return;
    bars += `M${at} ${low}L${at} ${high}`;
    dots += `M${at} ${share}h0`;
  });
  add(bars, {"stroke-width": 1.5});
  add(dots, {"stroke-width": 8, "stroke-linecap": "round"});
  return svg;
};
const MOST_NAMES = 200;  // some two screens
const listOf = (word, item, isListed) => {
  const who = data.systems.filter((_, k) => {
    const place = item * nSystems + k;
    return (!answered || isSet(answered, place)) && isSet(right, place) === isListed;
  });
  const names = element("p", {}, who.length ? "Best first: " : "None.");
  who.slice(0, MOST_NAMES).forEach((name, k) => names.append(k ? ", " : "", bdi(name)));
  if (who.length > MOST_NAMES) names.append(` \u2026 and ${thousands(who.length - MOST_NAMES)} more`);
  return element("details", {}, element("summary", {}, `${word}: ${thousands(who.length)}`), names);
};
const described = (item) => {
  const parts = [element("h3", {}, bdi(labelOf(item)))];
  const {strong, text, target} = data.texts;
  if (data.reasons[reason[item]]) parts.push(element("p", {}, data.reasons[reason[item]]));
  if (strong[item]) parts.push(element("p", {}, bdi(strong[item])));
  if (text?.[item]) parts.push(element("p", {class: "asked"}, bdi(text[item])));
  if (target?.[item]) parts.push(element("p", {class: "asked"}, "marked right: ", bdi(target[item])));
  const figures = Object.keys(col).filter((name) => name !== "intercept").map((name) =>
    element("div", {}, element("dt", {}, heading(name)),
      element("dd", {}, textOf(name, item) || "\u2013")));
  parts.push(curveOf(item), element("dl", {}, ...figures));
  if (right) parts.push(listOf("Right", item, 1), listOf("Wrong", item, 0));
  return parts;
};
const panel = byId("detail");
let chosen = -1;
const listeners = [];
const choose = (item) => {
  chosen = item;
  for (const one of document.querySelectorAll(".detail")) one.replaceChildren(...described(item));
  panel.dataset.item = String(item);
  for (const listener of listeners) listener(item);
};
const open = (item, where = panel) => {
  choose(item);
  history.replaceState(null, "", `#item-${item}`);
  byId("status").textContent = `Showing ${labelOf(item)}`;
  where.scrollIntoView({block: "nearest"});
};
const itemAt = (address) => {
  const item = Number(/^#item-(\d+)$/.exec(address)?.[1] ?? n);
  return item < n ? item : undefined;
};
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.to-item");
  if (!link) return;
  event.preventDefault();
  open(itemAt(link.hash), link.closest("#items") ? byId("detail-below") : panel);
});
const fromAddress = () => {
  const item = itemAt(location.hash);
  if (item !== undefined) requestAnimationFrame(() => open(item));
};
addEventListener("hashchange", fromAddress);

// --- maps ------------------------------------------------------------------------------------
const tip = element("div", {class: "tip"});
tip.hidden = true;
document.body.append(tip);
addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
const REACH = 12;  // pixels from a pointer to a point: half of the 24 that WCAG asks of a target
const NEARER = 16;  // what a suspect is nearer by, in squared half pixels, than the items around it
const pointed = (svg, x, y, worth, said) => {  // show what is said of the nearest point, and return it
  const nearest = (event) => {
    const box = svg.getBoundingClientRect(), size = 2 * svg.viewBox.baseVal.width / box.width;
    const px = (event.clientX - box.left) * size, py = (event.clientY - box.top) * size;
    let best = -1, least = (REACH * size) ** 2;
    for (let k = 0; k < x.length; k += 1) {
      const distance = (x[k] - px) ** 2 + (y[k] - py) ** 2 - worth(k);
      if (distance < least) { least = distance; best = k; }
    }
    return best;
  };
  svg.addEventListener("pointermove", (event) => {
    const point = nearest(event);
    tip.hidden = point < 0;
    if (point < 0) return;
    let more = -1;
    for (let k = 0; k < x.length; k += 1) more += x[k] === x[point] && y[k] === y[point];
    const [name, ...further] = said(point);
    tip.replaceChildren(bdi(name), more > 0 ? ` and ${thousands(more)} more here` : "", ...further);
    tip.style.left = `${Math.max(Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8), 8)}px`;
    tip.style.top = `${event.clientY + 14}px`;
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  return nearest;
};
for (const svg of document.querySelectorAll("svg[data-map]")) {
  if (svg.dataset.map === "systems") {
    pointed(svg, ...data.scatter, () => 0, (k) => [data.systems[k]]);
    continue;
  }
  const [x, y] = maps[svg.dataset.map];
  const ring = shape("circle", {class: "ring", r: 8});
  const nearest = pointed(svg, x, y, (item) => (kind[item] ? NEARER : 0), (item) => {
    const words = data.reasons[reason[item]];
    return [labelOf(item), words ? ` \u2013 ${words}` : "",
      ` \u2013 discrimination ${number(col.discrimination[item])}, ` +
      `average error ${number(col.average_error[item])}`];
  });
  svg.addEventListener("click", (event) => {
    const item = nearest(event);
    if (item >= 0) open(item);
  });
  listeners.push((item) => {
    ring.remove();
    if (x[item] !== NOWHERE) svg.append(made(ring, {cx: x[item] / 2, cy: y[item] / 2}));
  });
}

// --- all items -------------------------------------------------------------------------------
const AT_ONCE = 100;  // rows that are added to the table when it is scrolled
const columns = ["item", "reasons",
  ...Object.keys(col).filter((name) => !["intercept", "discrimination_se", "guessing"].includes(name))];
const search = element("input", {type: "search", id: "search", autocomplete: "off", spellcheck: "false"});
const only = element("input", {type: "checkbox", id: "only"});
const counted = element("p", {class: "caption count", "aria-live": "polite"});
const save = element("button", {type: "button", id: "save"}, "Save as CSV");
const heads = columns.map((name) => {
  const button = element("button", {type: "button", "data-column": name}, heading(name));
  button.addEventListener("click", () => {
    descending = sortedBy === name ? !descending : !["item", "reasons", "difficulty"].includes(name);
    sortedBy = name;
    sort();
  });
  return element("th", {scope: "col", class: name in col ? "number" : name}, button);
});
const body = element("tbody");
const table = element("table", {}, element("thead", {}, element("tr", {"aria-rowindex": "1"}, ...heads)), body);
const box = element("div", {id: "rows", class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Table of all items"}, table);
byId("table").append(element("div", {class: "tools"}, element("label", {for: "search"}, "Search ", search),
  element("label", {for: "only"}, only, "suspects only"), save, counted), box);
let order = Uint32Array.from({length: n}, (_, k) => k), shown = order, drawn = 0;
let sortedBy = "", descending = true;
const keyOf = (name, item) =>
  name === "item" ? item : name === "reasons" ? reason[item] || NaN : col[name][item];
const sort = () => {
  const keys = Float64Array.from({length: n}, (_, k) => keyOf(sortedBy || "average_error", k));
  if (!sortedBy) maps[0][0].forEach((x, k) => { if (x === NOWHERE) keys[k] = NaN; });
  const sign = descending ? -1 : 1;
  order.sort((a, b) => {  // items without a value come last either way
    const one = Number.isNaN(keys[a]), other = Number.isNaN(keys[b]);
    return one - other || (one ? 0 : sign * (keys[a] - keys[b])) || a - b;
  });
  heads.forEach((head, k) => {
    const isKey = columns[k] === (sortedBy || "average_error");
    head.firstChild.textContent = heading(columns[k]) + (isKey ? (descending ? " \u2193" : " \u2191") : "");
    head.ariaSort = isKey ? (descending ? "descending" : "ascending") : null;
  });
  filter();
};
const lower = data.items.map((label) => label.toLowerCase());
const filter = () => {
  const wanted = search.value.trim().toLowerCase(), texts = data.texts.text || {};
  const said = data.reasons.map((words) => words.toLowerCase().includes(wanted));
  shown = order.filter((k) => (!only.checked || kind[k]) && (!wanted || lower[k].includes(wanted) ||
    said[reason[k]] || texts[k]?.toLowerCase().includes(wanted)));
  counted.textContent = `${thousands(shown.length)} of ${thousands(n)} items`;
  table.setAttribute("aria-rowcount", String(shown.length + 1));
  body.replaceChildren();
  drawn = 0;
  box.scrollTop = 0;
  draw();
};
const rowFor = (item, place) => {
  const cells = columns.slice(1).map((name) => (name === "reasons" ?
    element("td", {}, data.reasons[reason[item]]) : element("td", {class: "number"}, textOf(name, item))));
  return element("tr", {"aria-rowindex": place + 2, "data-item": item, class: item === chosen ? "chosen" : ""},
    element("th", {scope: "row"}, linkTo(item)), ...cells);
};
const draw = () => {  // more rows, where the last ones are in sight
  if (box.scrollTop + 2 * box.clientHeight < box.scrollHeight && drawn) return;
  const some = Array.from(shown.slice(drawn, drawn + AT_ONCE), (item, k) => rowFor(item, drawn + k));
  drawn += some.length;
  body.append(...some);
};
box.addEventListener("scroll", draw, {passive: true});
search.addEventListener("input", filter);
only.addEventListener("change", filter);
listeners.push((item) => {
  body.querySelector("tr.chosen")?.classList.remove("chosen");
  body.querySelector(`tr[data-item="${item}"]`)?.classList.add("chosen");
});
const quoted = (text) => {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
};
const plain = (name, item) => {
  if (name === "item") return quoted(data.items[item]);
  if (name === "reasons") return quoted(data.reasons[reason[item]]);
  return Number.isNaN(col[name][item]) ? "" : String(Number(col[name][item].toPrecision(7)));
};
save.addEventListener("click", () => {
  const lines = Array.from(shown, (item) => columns.map((name) => plain(name, item)).join(","));
  const text = [columns.join(","), ...lines, ""].join("\n");
  const url = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  element("a", {href: url, download: "items.csv"}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});

// --- begin -----------------------------------------------------------------------------------
sort();
const worst = document.querySelector("a.to-item");
choose(worst ? itemAt(worst.hash) : order[0]);
fromAddress();
root.dataset.ready = String(Math.round(performance.now()));
})();
