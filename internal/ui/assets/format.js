// Numbers, times and words as the commands write them, and the little DOM there is.

export function bytes(n) {
  let unit = 0;
  for (n = Math.max(0, n || 0); n >= 1023.5 && unit < 5; unit++) n /= 1024;
  const text = unit > 0 && n < 9.95 ? n.toFixed(1).replace(/\.0$/, "") : n.toFixed(0);
  return text + " " + ["B", "KB", "MB", "GB", "TB", "PB"][unit];
}

// rate is a number of about three digits, or a dash for one that is not known.
export function rate(n) {
  if (n === undefined || n === null) return "–";
  if (n > 0 && n < 9.95) return n.toFixed(1).replace(/\.0$/, "");
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

// span is a length of time in one or two units.
export function span(seconds) {
  if (seconds < 10) return (Math.round(seconds * 10) / 10) + " s";
  if (seconds < 120) return Math.round(seconds) + " s";
  const minutes = Math.round(seconds / 60), hours = Math.floor(minutes / 60);
  if (minutes < 120) return minutes + " min";
  if (hours >= 48) return Math.floor(hours / 24) + " days";
  return minutes % 60 && hours < 10 ? hours + " h " + (minutes % 60) + " min" : hours + " h";
}

// behind says how far a replica is behind.
export function behind(seconds) { return seconds < 1 ? "less than 1 s behind" : span(seconds) + " behind"; }

export function ago(time) {
  const s = (Date.now() - new Date(time)) / 1000;
  return s < 2 ? "now" : span(s) + " ago";
}

export function clock(time) { return new Date(time).toLocaleTimeString("en-GB"); }

export function moment(time) { return new Date(time).toLocaleString("sv-SE"); }

// quote is a word as POSIX shells take it.
export function quote(word) {
  return /^[-\w./:,=+@%]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
}

// el makes an element: attributes, listeners (functions), children (texts and elements).
export function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") e.addEventListener(name, value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) e.setAttribute(name, value);
  }
  e.append(...children.flat().filter(c => c !== null && c !== undefined && c !== false));
  return e;
}

// put sets a text, and touches nothing where it is the same.
export function put(e, text) { if (e.textContent !== text) e.textContent = text; }

// fill replaces what an element holds when key is another than last time.
export function fill(e, key, make) {
  if (e.dataset.key === key) return;
  e.dataset.key = key;
  e.replaceChildren(...make());
}

// sentence is a warning: its text, and its hint below.
export function sentence(text, cls) {
  const [first, ...hints] = text.split("\nhint: ");
  return el("li", { class: cls }, first, hints.map(h => el("span", {}, h)));
}

export async function copy(text, button) {
  const was = button.textContent;
  try { await navigator.clipboard.writeText(text); put(button, "copied"); } catch { put(button, "not copied"); }
  setTimeout(() => put(button, was), 1500);
}

// ask sends a request to this page's own server.
export async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const answer = await fetch(path, options);
  let said = null;
  try { said = await answer.json(); } catch { /* a sentence for people */ }
  if (answer.ok) return said;
  const e = new Error(said?.error?.message || "ramaria ui answered " + answer.status);
  e.hint = said?.error?.hint;
  throw e;
}
