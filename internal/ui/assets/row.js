// One instance: its row in the list, and what opens below it.
import { el, put, fill, bytes, rate, span, ago, behind, sentence } from "./format.js";
import { History, spark } from "./plots.js";
import { Details } from "./details.js";

export const HEADS = ["Instance", "Volume", "Memory", "Queries a second", "Connections", "Leases", "Durable"];

// cell is a cell with the label that it has where the heads are not shown.
const cell = (cls, label, ...children) => el("div", { class: "cell " + cls }, el("span", { class: "lab" }, label), ...children);

export class Row {
  constructor(name) {
    this.name = name;
    this.history = new History();
    this.details = null;
    const t = this.t = {}, text = (key, tag = "span", cls = "") => t[key] = el(tag, { class: cls });
    t.dot = el("i", { class: "dot" });
    t.toggle = el("button", { class: "name", "aria-expanded": "false", "aria-controls": "details-" + name }, t.dot, el("span", {}, name));
    t.role = el("span", { class: "chip role" });
    t.fill = el("i", {});
    t.bar = el("div", { class: "bar" }, t.fill);
    t.spark = el("div", { class: "spark", "aria-hidden": "true" });
    t.row = el("div", { class: "row", click: e => { if (!window.getSelection().toString()) { e.stopPropagation(); this.toggle(); } } },
      cell("who", "", el("div", { class: "line" }, t.toggle, t.role), text("server", "span", "sub")),
      cell("vol", "Volume", el("div", { class: "line" }, text("volume", "b"), text("forecast", "span", "sub")), t.bar),
      cell("ram", "Memory", text("memory", "b"), t.parts = el("span", { class: "sub", title: "the server's process, and its data" })),
      cell("qps", "Queries a second", text("queries", "b"), t.spark),
      cell("num", "Connections", text("connections", "b")),
      t.lease = cell("lease", "Leases", text("leases", "b"), text("resets", "span", "sub")),
      t.dur = cell("dur", "Durable", text("promise", "b"), text("back", "span", "sub"), t.chips = el("div", { class: "chips" })));
    t.words = el("ul", { class: "words", hidden: true });
    t.below = el("div", { id: "details-" + name, class: "details", role: "region", "aria-label": name, hidden: true });
    this.node = el("article", { class: "inst", "data-name": name, "aria-label": name }, t.row, t.words, t.below);
  }

  toggle() {
    const open = !this.details;
    if (open) {
      this.t.below.hidden = false;
      this.details = new Details(this.t.below, this);
      if (this.seen) this.details.update(this.seen);
    } else {
      this.details.close();
      this.details = null;
      this.t.below.hidden = true;
    }
    this.node.classList.toggle("open", open);
    this.t.toggle.setAttribute("aria-expanded", open);
  }

  update(i, time) {
    this.seen = i;
    this.history.add(time, i);
    const t = this.t, runs = i.phase === "running" && !i.trouble;
    const state = i.trouble ? "trouble" : i.moving ? "moving" : i.phase, still = state === "stopped";
    this.node.classList.toggle("still", still);
    t.dot.className = "dot " + state;
    t.toggle.setAttribute("aria-label", `${i.name}, ${state}`);
    const [role, bad, title] = roleWords(i);
    t.role.hidden = !role;
    put(t.role, role);
    t.role.className = "chip role " + bad;
    t.role.title = title;
    put(t.server, still ? serverWords(i.server) : [i.phase === "running" ? (i.trouble ? "no answer" : i.moving ? `moving to ${i.moving.volume}` : "") : i.phase, serverWords(i.server), runs && i.port ? ":" + i.port : ""].filter(Boolean).join(" · "));
    this.volume(i);
    put(t.memory, bytes((i.server_bytes || 0) + (i.data_bytes || 0)));
    put(t.parts, i.server_bytes ? `${bytes(i.server_bytes)} + ${bytes(i.data_bytes)}` : "data");
    put(t.queries, still ? "" : rate(i.traffic?.queries_per_second));
    put(t.connections, still ? "" : rate(i.traffic?.connections));
    put(t.leases, i.leases ? `${i.leases.used} of ${i.leases.max}` : "");
    t.lease.classList.toggle("no", !i.leases);
    put(t.resets, i.leases ? `${rate(i.leases.resets_per_second)} resets/s` + (i.leases.waiting ? ` · ${i.leases.waiting} wait` : "") : "");
    t.dur.classList.toggle("no", !i.durable);
    const [promise, back, late, chips] = durableWords(i.durable, still);
    put(t.promise, promise);
    put(t.back, back);
    t.back.className = "sub " + late;
    fill(t.chips, JSON.stringify(chips), () => chips.map(([text, cls, title]) => el("span", { class: "chip " + cls, title }, text)));
    t.chips.hidden = chips.length === 0;
    const words = wordsOf(i).filter(([, cls]) => !still || cls !== "notice");
    t.words.hidden = words.length === 0;
    fill(t.words, JSON.stringify(words), () => words.map(([text, cls]) => sentence(text, cls)));
    this.details?.update(i);
  }

  volume(i) {
    const v = i.volume, t = this.t, known = v.size_bytes > 0;
    put(t.volume, known ? `${v.kind} · ${v.used_percent} %` : v.kind);
    t.bar.hidden = !known;
    t.bar.className = "bar " + (v.level || "");
    t.fill.style.width = Math.min(100, Math.max(v.used_percent, v.used_bytes > 0 ? 1 : 0)) + "%";
    t.bar.title = known ? `${bytes(v.used_bytes)} used, ${bytes(v.free_bytes)} free, bound by ${v.bound}` : "";
    const soon = v.full_seconds !== undefined && v.full_seconds < 86400;
    put(t.forecast, !known ? "" : v.full_seconds !== undefined ? "full in " + span(v.full_seconds) : v.growth_bytes_per_hour ? `+${bytes(v.growth_bytes_per_hour)} an hour` : `${bytes(v.used_bytes)} of ${bytes(v.size_bytes)}`);
    t.forecast.classList.toggle("soon", soon);
  }

  draw() {
    if (!this.node.isConnected || this.node.hidden) return;
    const width = this.t.spark.clientWidth;
    if (this.plot && width !== this.width) this.restyle(); // the window has another size
    if (this.plot) this.plot.setData(this.history.of("queries"));
    else if (width) this.plot = spark(this.t.spark, this.history);
    this.width = width;
    this.details?.draw();
  }

  restyle() {
    this.plot?.destroy();
    this.plot = null;
    this.details?.restyle();
  }

  close() {
    this.details?.close();
    this.plot?.destroy();
    this.node.remove();
  }
}

export function serverWords(server) {
  return (server || "").replace(/^mariadb-/, "MariaDB ").replace(/^mysql-/, "MySQL ");
}

// wordsOf is what there is to say, the worst first.
export function wordsOf(i) {
  const words = [];
  if (i.trouble) words.push([i.trouble, "bad"]);
  if (i.reason && i.phase !== "running") words.push([i.reason, i.phase === "stopped" ? "notice" : "bad"]);
  for (const w of i.warnings || []) words.push([w, "warn"]);
  for (const n of i.notices || []) words.push([n, "notice"]);
  return words;
}

// memberWords are what a member is in its cluster.
export function memberWords(m) { return m && `${m.cluster}: ${m.state}, ${m.sees} of ${m.of}`; }

// roleWords are what an instance is in its group: a text, how bad that is, and more of it.
function roleWords(i) {
  if (i.replica) {
    const r = i.replica, where = "follows " + r.of;
    if (i.phase !== "running") return ["replica", "", where];
    if (r.state !== "following") return ["replica, " + r.state, "bad", r.error || where];
    if (r.diverged) return ["replica, may differ", "warn", r.diverged.why];
    return ["replica", "", where + (r.lag_seconds === undefined ? "" : ", " + behind(r.lag_seconds))];
  }
  if (!i.cluster) return [i.role || "", "", ""];
  if (!i.cluster.online) return [i.cluster.state.toLowerCase(), "bad", memberWords(i.cluster)];
  return [i.role === "any" ? "member" : i.role || "member", i.cluster.sees < i.cluster.of ? "warn" : "", memberWords(i.cluster)];
}

// durableWords say what a durable instance promises, in how much time it is back, how late that is, and what is wrong.
function durableWords(d, still) {
  if (!d) return ["", "", "", []];
  if (d.error) return ["", "", "", [["archive unusable", "bad", d.error]]];
  let promise = d.level === "commit" ? "no commit lost" : `at most ${span(parseFloat(d.level))} lost`;
  if (d.blind_since) promise = "";
  if (still) return [promise, "", "", []];
  const share = d.recover_seconds / d.recover_within_seconds, chips = [];
  if (d.blind_since) chips.push(["log blinded", "bad", `commits since ${ago(d.blind_since)} may be missing in the archive: a session may have switched the log off`]);
  const day = 86400e3, old = d.verified ? Date.now() - new Date(d.verified) : Infinity;
  if (old > 2 * day && Date.now() - new Date(d.last_backup) > 2 * day) chips.push([d.verified ? "verified " + ago(d.verified) : "never verified", "warn", "when what the archive gives was last compared with the instance"]);
  for (const b of d.buckets || []) {
    if (b.error || !(b.in_sync || b.lag_seconds < 60)) chips.push([b.error ? "bucket fails" : `bucket ${span(b.lag_seconds)} behind`, b.error ? "bad" : "warn", b.url + (b.error ? ": " + b.error : "")]);
  }
  return [promise, `back in ${span(d.recover_seconds)} of ${span(d.recover_within_seconds)}`, share > 1 ? "late" : share > .8 ? "soon" : "", chips];
}
