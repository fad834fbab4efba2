// The page: the stream of what the instances do, the machine above, and a row for each.
import { el, put, fill, bytes, rate, clock, ask } from "./format.js";
import { Row, HEADS } from "./row.js";
import { page } from "./actions.js";

const id = name => document.getElementById(name);
const rows = new Map(), list = id("list");
let seen = null, drawing = false;

page.names = () => [...rows.keys()];
page.leases = name => ask("leases?instance=" + encodeURIComponent(name));

// Orders of the list; equals are by name.
const ORDERS = {
  name: () => 0, queries: i => -(i.traffic?.queries_per_second ?? -1), memory: i => -((i.server_bytes || 0) + (i.data_bytes || 0)), full: i => i.volume.full_seconds ?? Infinity,
  trouble: i => i.trouble || i.phase === "crashed" || i.phase === "gone" ? 0 : i.warnings?.length ? 1 : i.notices?.length ? 2 : i.phase === "running" ? 3 : 4,
};

function look(o) {
  seen = o;
  if (o.error) { live("off", o.error.message); return; }
  live("on", "live · " + clock(o.at));
  machine(o);
  const time = new Date(o.at).getTime() / 1000, names = new Set(o.instances.map(i => i.name));
  for (const [name, row] of rows) if (!names.has(name)) { row.close(); rows.delete(name); }
  for (const i of o.instances) {
    if (!rows.has(i.name)) rows.set(i.name, new Row(i.name));
    rows.get(i.name).update(i, time);
  }
  arrange();
  soon();
}

// arrange puts the rows in order, and moves none that is where it belongs: what has the focus keeps it.
function arrange() {
  const order = ORDERS[id("sort").value], wanted = id("find").value.trim().toLowerCase();
  id("tools").hidden = rows.size < 6;
  const all = seen.instances.map(i => rows.get(i.name)).sort((a, b) => (order(a.seen) - order(b.seen)) || a.name.localeCompare(b.name));
  if (!list.querySelector(".heads") || all.length === 0) {
    list.replaceChildren(all.length ? el("div", { class: "heads", "aria-hidden": "true" }, HEADS.map(h => el("span", { class: h === "Connections" ? "num" : "" }, h === "Connections" ? "Conn." : h))) : nothing());
  }
  let before = list.firstElementChild;
  if (!all.length) return;
  for (const row of all) {
    row.node.hidden = wanted !== "" && ![row.name, row.seen.server, row.seen.volume.kind, row.seen.phase].some(t => (t || "").toLowerCase().includes(wanted));
    if (before.nextElementSibling !== row.node) before.after(row.node);
    before = row.node;
  }
}

function nothing() {
  return el("div", { class: "empty" }, el("b", {}, "No instances yet"), "This makes one, and it shows up here:", el("br"), el("code", {}, page.command + " up"));
}

function machine(o) {
  const m = o.machine, limit = m.limit_bytes || m.total_bytes, left = m.limit_bytes ? m.limit_bytes - m.limit_used_bytes : m.available_bytes;
  const taken = Math.min(m.taken_bytes, limit - left), others = Math.max(0, limit - left - taken);
  const sum = f => o.instances.reduce((n, i) => n + (f(i) ?? 0), 0), runs = o.instances.filter(i => i.phase === "running").length;
  id("machine").hidden = false;
  const figures = [
    [`${runs}`, o.instances.length > runs ? `of ${o.instances.length}` : "", runs === 1 ? "runs" : "run"], [bytes(m.taken_bytes), "", "taken"], [bytes(left), "", "memory left"],
    [rate(sum(i => i.traffic?.queries_per_second)), "", "queries/s"], [rate(sum(i => i.traffic?.connections)), "", "connections"],
    [rate(sum(i => i.leases?.used)), "", "leases"], [rate(sum(i => i.leases?.resets_per_second)), "", "resets/s"],
  ];
  const box = document.querySelector(".figures");
  if (!box.children.length) box.replaceChildren(...figures.map(() => el("div", {}, el("b", {}, el("span", {}), el("small", {})), el("span", {}))));
  figures.forEach(([n, of, what], k) => {
    const [b, label] = box.children[k].children;
    put(b.firstChild, n); put(b.lastChild, of ? " " + of : ""); put(label, what);
  });
  document.querySelector(".memory .ours").style.width = 100 * taken / limit + "%";
  document.querySelector(".memory .others").style.width = 100 * others / limit + "%";
  const words = [["ours", `instances ${bytes(taken)}`], ["others", `others ${bytes(others)}`], ["", `left ${bytes(left)} of ${bytes(limit)}` + (m.limit_bytes ? ", the limit of the control group" : "")]];
  if (m.swap_used_bytes) words.push(["warn", `swapped out ${bytes(m.swap_used_bytes)}`]);
  for (const n of o.notes || []) words.push(["warn", n]);
  fill(document.querySelector(".legend"), JSON.stringify(words), () => words.map(([cls, text]) => el("span", { class: cls === "warn" ? "warn" : "" }, cls === "warn" ? "" : el("i", { class: cls }), text)));
}

function live(cls, text) {
  id("live").className = cls;
  put(id("live").lastElementChild, text);
}

// soon draws the plots once, when the page is shown.
function soon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    for (const row of rows.values()) row.draw();
  });
}

function ended() {
  stream.close();
  for (const row of rows.values()) row.details?.end();
  live("off", "ended");
  id("ended").hidden = false;
  id("ended").replaceChildren("ramaria ui has ended, and with it this page. For a new one type: ", el("code", {}, page.command + " ui"));
}

const stream = new EventSource("events");
stream.addEventListener("hello", e => {
  const h = JSON.parse(e.data);
  page.command = h.command;
  put(id("home"), h.home);
  put(id("foot"), `ramaria ${h.version} · ${h.command} top shows the same in a terminal`);
});
stream.addEventListener("look", e => look(JSON.parse(e.data)));
stream.addEventListener("end", ended);
let lost = 0;
stream.addEventListener("open", () => { lost = 0; });
stream.addEventListener("error", () => {
  live("off", "connecting");
  if (stream.readyState === EventSource.CLOSED || ++lost > 2) ended();
});

for (const name of ["sort", "find"]) id(name).addEventListener("input", () => { if (seen?.instances) { arrange(); soon(); } });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const row of rows.values()) row.restyle(); soon(); });
