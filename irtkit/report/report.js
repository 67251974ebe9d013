
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
const columnOf = (stored, length) => {
  if (typeof stored === "number") return new Float64Array(length).fill(stored);
  const [kind] = Object.keys(stored);
  return new KINDS[kind](bytesOf(stored[kind]).buffer);  // little-endian, as all browsers run on
};
const col = {};
for (const [name, stored] of Object.entries(data.columns)) col[name] = columnOf(stored, n);
const note = columnOf(data.note, n), kind = columnOf(data.kind, n), drawn = columnOf(data.drawn, n);
const nGroups = data.groups.ability.length;
const tableOf = (stored) => {
  if (!Array.isArray(stored)) {
    const values = columnOf(stored, n * nGroups);
    return (item, group) => values[item * nGroups + group];
  }
  return (item, group) => stored[group];
};
const right = tableOf(data.groups.right), trials = tableOf(data.groups.trials);
const worth = data.groups.independent ? tableOf(data.groups.independent) : trials;
const nSystems = data.systems.length;
const planes = {};
for (const name of ["right", "tried"]) if (data[name]) planes[name] = bytesOf(data[name]);
const rowOf = data.answered_items ? new Map(data.answered_items.map((item, k) => [item, k])) : null;
const bit = (plane, place) => (plane[place >> 3] >> (7 - (place & 7))) & 1;

// --- words -----------------------------------------------------------------------------------
const number = (value) => {
  if (Number.isNaN(value)) return "";
  if (!Number.isFinite(value)) return value < 0 ? "\u2212inf" : "inf";
  const size = Math.abs(value);
  if (size >= 1e3) {
    const [digit, power] = value.toExponential(1).split("e+");
    return `${digit.replace("-", "\u2212")}e+${power.padStart(2, "0")}`;
  }
  // of two as near, which odd multiples of 1/8 alone have, toFixed takes the larger, Python the even
  const lower = size * 8 % 2 === 1 && Math.floor(size * 100) % 2 === 0;
  const text = (lower ? size - 0.005 : size).toFixed(2);
  return value < 0 && Number(text) > 0 ? `\u2212${text}` : text;
};
const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const shape = (name, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const bdi = (text) => element("bdi", {}, text);
const thousands = (value) => value.toLocaleString("en-US");

// --- theme -----------------------------------------------------------------------------------
const themeButton = byId("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () =>
  root.classList.contains("dark") || (!root.classList.contains("light") && prefersDark.matches);
const tellTheme = () => { themeButton.textContent = isDark() ? "Light theme" : "Dark theme"; };
themeButton.addEventListener("click", () => {
  const dark = !isDark();
  root.classList.toggle("dark", dark);
  root.classList.toggle("light", !dark);
  tellTheme();
});
prefersDark.addEventListener("change", tellTheme);
tellTheme();

// --- the curve of one item -------------------------------------------------------------------
const wilson = (share, count) => {
  const more = data.curve.z ** 2 / count, middle = (share + more / 2) / (1 + more);
  const half = Math.sqrt(more * (share * (1 - share) + more / 4)) / (1 + more);
  return [Math.max(middle - half, 0), Math.min(middle + half, 1)];
};
const probability = (item, ability) => {
  const c = col.guessing ? col.guessing[item] : 0;
  return c + (1 - c) / (1 + Math.exp(-(col.discrimination[item] * ability + col.intercept[item])));
};
const curveOf = (item) => {
  const [low, high] = data.curve.scale, left = 48, end = 412, top = 10, floor = 250;
  const x = (value) => left + (value - low) / (high - low) * (end - left);
  const y = (value) => floor - (value + 0.03) / 1.06 * (floor - top);
  const svg = shape("svg", {class: "chart", viewBox: "0 0 420 300", role: "img",
    "font-size": "13", "aria-label": `Observed and fitted share right of ${labelOf(item)}`});
  const line = (x1, y1, x2, y2, css) => svg.append(shape("line", {x1, y1, x2, y2, class: css}));
  const text = (at, up, words, anchor = "middle") => {
    const made = shape("text", {x: at, y: up, "text-anchor": anchor});
    made.textContent = words;
    svg.append(made);
  };
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    line(left, y(share), end, y(share), "grid");
    text(left - 6, y(share) + 4, `${100 * share}%`, "end");
  }
  for (const [tick, words] of data.curve.ticks) {
    line(x(tick), floor, x(tick), floor + 4, "axis");
    text(x(tick), floor + 18, words);
  }
  line(left, floor, end, floor, "axis");
  text((left + end) / 2, 294, "ability");
  const places = data.curve.ability.map((theta) => `${x(theta)} ${y(probability(item, theta))}`);
  const [first, last] = data.curve.inside;
  const piece = (some, dashed) => {
    const path = shape("path", {class: "fitted", d: `M${some.join("L")}`, fill: "none",
      "stroke-width": 2});
    if (dashed) path.setAttribute("stroke-dasharray", "4 4");
    svg.append(path);
  };
  if (!Number.isNaN(col.intercept[item])) {
    piece(places.slice(0, first + 1), true);
    piece(places.slice(first, last + 1), false);
    piece(places.slice(last), true);
  }
  for (let group = 0; group < nGroups; group += 1) {
    const count = trials(item, group);
    if (!count) continue;
    const share = right(item, group) / count, at = x(data.groups.ability[group]);
    const [from, to] = wilson(share, worth(item, group));
    line(at, y(from), at, y(to), "observed");
    svg.append(shape("circle", {class: "seen", cx: at, cy: y(share), r: 4}));
  }
  return svg;
};
const whoOf = (item) => {
  const row = rowOf ? rowOf.get(item) : item;
  if (!planes.right || row === undefined) return null;
  const names = {right: [], wrong: []};
  for (let k = 0; k < nSystems; k += 1) {
    const place = row * nSystems + k;
    if (planes.tried && !bit(planes.tried, place)) continue;
    names[bit(planes.right, place) ? "right" : "wrong"].push(k);
  }
  return names;
};
const MOST_NAMES = 200;  // some two screens
const listOf = (word, some) => {
  const systems = some.length === 1 ? "system" : "systems";
  const summary = element("summary", {}, `${word}: ${thousands(some.length)} ${systems}`);
  const names = element("p", {}, some.length ? "Best first: " : "None.");
  some.slice(0, MOST_NAMES).forEach((k, place) => {
    names.append(place ? ", " : "", bdi(data.systems[k]));
  });
  if (some.length > MOST_NAMES) names.append(` \u2026 and ${thousands(some.length - MOST_NAMES)} more`);
  return element("details", {}, summary, names);
};

// --- the chosen item -------------------------------------------------------------------------
const panel = byId("detail"), status = byId("status");
const FIGURES = [["average_error", "average error"], ["difficulty", "difficulty"],
  ["discrimination", "slope"], ["discrimination_se", "its SE"], ["p_negative", "p negative"],
  ["n_responses", "responses"], ["guessing", "guessing"],
  ["quality_standard", "quality standard"], ["predicted", "predicted difficulty"]];
const ON_ITEM_MAP = 1;  // where the items are that some get right and some wrong
const ON_ERROR_MAP = 2;  // where the items are that have a difficulty to speak of
const readable = (name, item) =>
  name === "difficulty" && !(drawn[item] & ON_ERROR_MAP) ? NaN : col[name][item];
let chosen = -1;
const listeners = [];
const described = (item) => {
  const parts = [element("h3", {}, bdi(labelOf(item)))];
  if (data.notes[note[item]]) parts.push(element("p", {}, data.notes[note[item]]));
  if (data.strong[item]) parts.push(element("p", {}, bdi(data.strong[item])));
  for (const [name, word] of [["text", ""], ["target", "marked right: "]]) {
    const text = data.texts[name] && data.texts[name][item];
    if (text) parts.push(element("p", {class: "asked"}, word, bdi(text)));
  }
  parts.push(curveOf(item));
  const figures = element("dl");
  for (const [name, word] of FIGURES) {
    if (!(name in col)) continue;
    const value = readable(name, item);
    const text = name === "n_responses" ? thousands(value) : number(value) || "\u2013";
    figures.append(element("div", {}, element("dt", {}, word), element("dd", {}, text)));
  }
  parts.push(figures);
  const who = whoOf(item);
  if (who) parts.push(listOf("Right", who.right), listOf("Wrong", who.wrong));
  return parts;
};
const choose = (item) => {
  chosen = item;
  for (const one of document.querySelectorAll(".detail")) one.replaceChildren(...described(item));
  panel.dataset.item = String(item);
  for (const listener of listeners) listener(item);
};

// --- deep links ------------------------------------------------------------------------------
const addressOf = (item) =>  // as in the links of the page: cut labels may be alike
  item in data.cut ? `#place=${item}` : `#item=${encodeURIComponent(data.items[item])}`;
let places = null;
const placeAt = (address) => {
  const [, place, text] = /^#(?:place=(\d+)|item=(.+))$/.exec(address) || [];
  if (place) return Number(place) < n ? Number(place) : undefined;
  if (!text) return undefined;
  let label;
  try { label = decodeURIComponent(text); } catch { return undefined; }
  if (!places) {
    places = new Map();
    for (let k = n - 1; k >= 0; k -= 1) places.set(data.items[k], k);
  }
  return places.get(label);
};
const fromAddress = () => {
  const item = placeAt(location.hash);
  if (item === undefined) return false;
  choose(item);
  return true;
};
const reveal = (where = panel) => where.scrollIntoView({block: "nearest"});
const open = (item, where = panel) => {
  choose(item);
  history.replaceState(null, "", addressOf(item));
  status.textContent = `Showing ${labelOf(item)}`;
  if (where) reveal(where);
};
document.addEventListener("click", (event) => {
  const link = event.target.closest ? event.target.closest("a.to-item") : null;
  if (!link) return;
  event.preventDefault();
  const item = placeAt(link.hash);
  if (item !== undefined) open(item);
});
addEventListener("hashchange", () => { if (fromAddress()) reveal(); });

// --- maps ------------------------------------------------------------------------------------
const tip = element("div", {class: "tip"});
tip.hidden = true;
document.body.append(tip);
addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
const CELL = 16;  // width of a cell of the index of points, of the 640 of a picture
const ROW_OF_CELLS = 4096;  // more cells than stand in a row
const REACH = 12;  // pixels from a pointer to a point: half of the 24 that WCAG asks of a target
const NEARER = 4;  // what a suspect is nearer by, squared, than the items around it
for (const svg of document.querySelectorAll("svg[data-map]")) {
  const [across, up] = svg.dataset.map.split(" "), flag = Number(svg.dataset.flag);
  const [x0, x1, y0, y1, left, end, top, floor] = svg.dataset.scale.split(" ").map(Number);
  const clip = (value, low, high) => Math.min(Math.max(value, low), high);
  const px = (item) => left + (clip(col[across][item], x0, x1) - x0) / (x1 - x0) * (end - left);
  const py = (item) => floor - (clip(col[up][item], y0, y1) - y0) / (y1 - y0) * (floor - top);
  const isDrawn = (item) => Boolean(drawn[item] & flag);
  const ring = svg.querySelector(".pointer");
  let grid = null;
  const key = (x, y) => Math.floor(y / CELL) * ROW_OF_CELLS + Math.floor(x / CELL);
  const index = () => {
    grid = new Map();
    for (let item = 0; item < n; item += 1) {
      if (!isDrawn(item)) continue;
      const cell = key(px(item), py(item)), found = grid.get(cell);
      if (found) found.push(item); else grid.set(cell, [item]);
    }
  };
  const nearest = (event) => {
    if (!grid) index();
    const box = svg.getBoundingClientRect(), size = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * size, y = (event.clientY - box.top) * size;
    let best = -1, least = REACH * REACH * size * size, same = 0;
    for (let dx = -1; dx <= 1; dx += 1) {
      for (let dy = -1; dy <= 1; dy += 1) {
        for (const item of grid.get(key(x + dx * CELL, y + dy * CELL)) || []) {
          const distance = (px(item) - x) ** 2 + (py(item) - y) ** 2 - (kind[item] ? NEARER : 0);
          if (distance < least) { least = distance; best = item; }
        }
      }
    }
    if (best >= 0) {
      const bx = px(best), by = py(best);
      for (const item of grid.get(key(bx, by))) {
        if (Math.abs(px(item) - bx) < 0.5 && Math.abs(py(item) - by) < 0.5) same += 1;
      }
    }
    return [best, same - 1];
  };
  const mark = (item) => {
    ring.replaceChildren();
    if (item >= 0 && isDrawn(item)) {
      ring.append(shape("circle", {class: "ring", cx: px(item), cy: py(item), r: 8}));
    }
  };
  (window.requestIdleCallback || setTimeout)(() => { if (!grid) index(); });
  svg.addEventListener("pointermove", (event) => {
    const [item, more] = nearest(event);
    tip.hidden = item < 0;
    if (item < 0) return;
    const words = data.notes[note[item]];
    tip.replaceChildren(bdi(labelOf(item)),
      more > 0 ? ` and ${thousands(more)} more here` : "",
      words ? ` \u2013 ${words}` : "",
      ` \u2013 slope ${number(col.discrimination[item])}, average error ` +
      number(col.average_error[item]));
    tip.style.left = `${Math.max(Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8), 8)}px`;
    tip.style.top = `${event.clientY + 14}px`;
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  svg.addEventListener("click", (event) => {
    const [item] = nearest(event);
    if (item >= 0) open(item);
  });
  listeners.push(mark);
}

// --- all items -------------------------------------------------------------------------------
const ROW = Number.parseFloat(getComputedStyle(root).getPropertyValue("--row"));
const BEFORE = 12, AFTER = 24;  // rows drawn out of sight: a screen, until the next frame
const COLUMNS = [["item", "item"], ["note", "note"], ["average_error", "average error"],
  ["difficulty", "difficulty"], ["discrimination", "slope"], ["p_negative", "p negative"],
  ["n_responses", "responses"], ["quality_standard", "quality standard"],
  ["predicted", "predicted"]].filter(([name]) => name === "item" || name === "note" || name in col);
const host = byId("table");
const search = element("input", {type: "search", id: "search", autocomplete: "off",
  spellcheck: "false"});
const only = element("input", {type: "checkbox", id: "only"});
const counted = element("p", {class: "count", "aria-live": "polite"});
const save = element("button", {type: "button", id: "save"}, "Save as CSV");
host.append(element("div", {class: "tools"},
  element("label", {for: "search"}, "Search ", search),
  element("label", {for: "only"}, only, "suspects only"), save, counted));
const box = element("div", {id: "rows", tabindex: "0", role: "region", "aria-label": "Table of all items"});
const head = element("tr", {"aria-rowindex": "1"});
const body = element("tbody");
const table = element("table", {}, element("thead", {}, head), body);
box.append(table);
host.append(box);
let order = null, shown = null, sortedBy = "", descending = false, lower = null;
let asOpened = true;  // items that all or none get right stand last, until a column is chosen
const heads = {};
for (const [name, word] of COLUMNS) {
  const button = element("button", {type: "button", "data-column": name}, word);
  const kindOf = name === "item" ? "" : name === "note" ? "note" : "number";
  heads[name] = element("th", {scope: "col", class: kindOf}, button);
  head.append(heads[name]);
  button.addEventListener("click", () => {
    descending = sortedBy === name ? !descending : !["item", "note", "difficulty"].includes(name);
    sortedBy = name;
    asOpened = false;
    sort();
    filter();
  });
}
const sort = () => {
  order = Uint32Array.from({length: n}, (_, k) => k);
  const sign = descending ? -1 : 1;
  if (!keys.has(sortedBy)) keys.set(sortedBy, keysOf(sortedBy));
  const values = keys.get(sortedBy);
  const tells = (item) => !asOpened || drawn[item] & ON_ITEM_MAP ? 1 : 0;
  order.sort((a, b) => {  // items without a value come last either way
    const one = Number.isNaN(values[a]), other = Number.isNaN(values[b]);
    return tells(b) - tells(a) || one - other ||
      (one ? 0 : sign * (values[a] - values[b])) || a - b;
  });
  for (const [name, word] of COLUMNS) {
    const arrow = name !== sortedBy ? "" : descending ? " \u2193" : " \u2191";
    heads[name].firstChild.textContent = word + arrow;
    heads[name].removeAttribute("aria-sort");
  }
  heads[sortedBy].setAttribute("aria-sort", descending ? "descending" : "ascending");
};
const keys = new Map();
const keysOf = (name) => {  // what a column is sorted by
  if (name === "item") return sorting(data.items);
  const rank = name === "note" ? sorting(data.notes) : null;
  const key = rank ? (k) => (data.notes[note[k]] ? rank[note[k]] : NaN) : (k) => readable(name, k);
  return Float64Array.from({length: n}, (_, k) => key(k));
};
const sorting = (words) => {  // item 9 before item 10; a collator takes ten times as long
  const plain = words.map((word) => word.toLowerCase().replace(/\d+/g, (n) => n.padStart(12, "0")));
  const places = Uint32Array.from({length: words.length}, (_, k) => k);
  places.sort((a, b) => (plain[a] < plain[b] ? -1 : plain[a] > plain[b] ? 1 : a - b));
  const rank = new Uint32Array(words.length);
  places.forEach((place, k) => { rank[place] = k; });
  return rank;
};
const filter = () => {
  const wanted = search.value.trim().toLowerCase();
  if (wanted && !lower) lower = data.items.map((label) => label.toLowerCase());
  const texts = data.texts.text || {};
  const noted = data.notes.map((words) => words.toLowerCase().includes(wanted));
  const fits = (k) => !wanted || lower[k].includes(wanted) || noted[note[k]] ||
    (texts[k] !== undefined && texts[k].toLowerCase().includes(wanted));
  shown = order.filter((k) => (!only.checked || kind[k]) && fits(k));
  counted.textContent = `${thousands(shown.length)} of ${thousands(n)} items`;
  table.setAttribute("aria-rowcount", String(shown.length + 1));
  box.scrollTop = 0;
  draw(true);
};
const cellOf = (name, item) => {
  if (name === "note") return element("td", {}, data.notes[note[item]]);
  const text = name === "n_responses" ? thousands(col[name][item]) : number(readable(name, item));
  return element("td", {class: "number"}, text);
};
const rowFor = (place) => {
  const item = shown[place];
  const button = element("button", {type: "button", "data-item": item}, bdi(labelOf(item)));
  const row = element("tr", {"aria-rowindex": place + 2},
    element("th", {scope: "row"}, button));
  for (const [name] of COLUMNS.slice(1)) row.append(cellOf(name, item));
  if (item === chosen) row.className = "chosen";
  return row;
};
const spacer = (height) => {
  const cell = element("td", {class: "spacer", colspan: COLUMNS.length});
  cell.style.height = `${height}px`;
  const row = element("tr", {"aria-hidden": "true"}, cell);
  row.style.height = `${height}px`;
  return row;
};
let from = -1;
const draw = (anew) => {
  const first = Math.max(Math.floor(box.scrollTop / ROW) - BEFORE, 0);
  if (!anew && first === from) return;
  from = first;
  const last = Math.min(first + Math.ceil(box.clientHeight / ROW) + AFTER, shown.length);
  const focused = document.activeElement && document.activeElement.dataset.item;
  const rows = [];
  if (first > 0) rows.push(spacer(first * ROW));
  for (let place = first; place < last; place += 1) rows.push(rowFor(place));
  if (last < shown.length) rows.push(spacer((shown.length - last) * ROW));
  body.replaceChildren(...rows);
  if (focused !== undefined && focused !== null && document.activeElement === document.body) {
    const again = body.querySelector(`button[data-item="${focused}"]`);
    if (again) again.focus({preventScroll: true});
  }
};
let waiting = 0;
box.addEventListener("scroll", () => {
  if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; draw(false); });
}, {passive: true});
body.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) open(Number(button.dataset.item), byId("detail-below"));
});
let typing = 0;
const PAUSE = 80;  // milliseconds: a fast typist's between two keys, and below what is felt as waiting
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(filter, PAUSE);
});
only.addEventListener("change", filter);
listeners.push((item) => {
  for (const row of body.querySelectorAll("tr.chosen")) row.className = "";
  const button = body.querySelector(`button[data-item="${item}"]`);
  if (button) button.closest("tr").className = "chosen";
});
const quoted = (text) => {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
};
const csv = () => {
  const lines = [COLUMNS.map(([name]) => name).join(",")];
  for (const item of shown) {
    lines.push(COLUMNS.map(([name]) => {
      if (name === "item") return quoted(data.items[item]);
      if (name === "note") return quoted(data.notes[note[item]]);
      const value = readable(name, item);
      if (Number.isNaN(value)) return "";
      return String(col[name] instanceof Float32Array ? Number(value.toPrecision(7)) : value);
    }).join(","));
  }
  return `${lines.join("\n")}\n`;
};
save.addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([csv()], {type: "text/csv"}));
  const link = element("a", {href: url, download: "items.csv"});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});
const build = () => {
  sortedBy = "average_error";
  descending = true;
  sort();
  filter();
};
const watch = new IntersectionObserver((seen) => {
  if (seen.some((one) => one.isIntersecting)) { watch.disconnect(); build(); }
}, {rootMargin: "600px"});
watch.observe(host);

// --- begin -----------------------------------------------------------------------------------
const begin = () => {
  let item = 0;
  for (let k = 1; k < n; k += 1) {
    if (kind[k] > kind[item] || (kind[k] === kind[item] && drawn[k] && !drawn[item])) item = k;
  }
  const first = document.querySelector("a.to-item");
  const named = first ? placeAt(first.hash) : undefined;
  choose(named === undefined ? item : named);
};
if (fromAddress()) requestAnimationFrame(() => reveal()); else begin();
root.dataset.ready = String(Math.round(performance.now()));
})();
