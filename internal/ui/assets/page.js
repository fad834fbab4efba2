// The page: the stream of what the instances do, the machine above, and a row for each.
import { el, put, fill, bytes, rate, clock, ask } from "./format.js";
import { Row } from "./row.js";
import { List } from "./list.js";
import { page } from "./actions.js";

const id = name => document.getElementById(name);
const rows = new Map(), list = new List(id("list"), nothing);
let seen = null, drawing = false;

page.names = () => [...rows.keys()];
page.leases = name => ask("leases?instance=" + encodeURIComponent(name));

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

function arrange() {
  id("tools").hidden = rows.size < 6;
  list.arrange(seen, rows, id("sort").value, id("find").value.trim().toLowerCase());
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
