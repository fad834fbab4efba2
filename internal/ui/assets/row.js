// One instance: its row in the list, and what opens below it.
import { el, put, fill, bytes, rate, span, ago, sentence } from "./format.js";
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
    t.fill = el("i", {});
    t.bar = el("div", { class: "bar" }, t.fill);
    t.spark = el("div", { class: "spark", "aria-hidden": "true" });
    t.row = el("div", { class: "row", click: e => { if (!window.getSelection().toString()) { e.stopPropagation(); this.toggle(); } } },
      cell("who", "", t.toggle, text("server", "span", "sub")),
      cell("vol", "Volume", el("div", { class: "line" }, text("volume", "b"), text("forecast", "span", "sub")), t.bar),
      cell("ram", "Memory", text("memory", "b"), t.parts = el("span", { class: "sub", title: "the server's process, and its data" })),
      cell("qps", "Queries a second", t.spark, text("queries", "b")),
      cell("num", "Connections", text("connections", "b")),
      cell("lease", "Leases", text("leases", "b"), text("resets", "span", "sub")),
      t.dur = cell("dur", "Durable", t.chips = el("div", { class: "chips" })));
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
    const state = i.trouble ? "trouble" : i.moving ? "moving" : i.phase;
    t.dot.className = "dot " + state;
    t.toggle.setAttribute("aria-label", `${i.name}, ${state}`);
    put(t.server, [i.phase === "running" ? (i.trouble ? "no answer" : i.moving ? `moving to ${i.moving.volume}` : "") : i.phase, serverWords(i.server), runs && i.port ? ":" + i.port : ""].filter(Boolean).join(" · "));
    this.volume(i);
    put(t.memory, bytes((i.server_bytes || 0) + (i.data_bytes || 0)));
    put(t.parts, i.server_bytes ? `${bytes(i.server_bytes)} + ${bytes(i.data_bytes)}` : "data");
    put(t.queries, rate(i.traffic?.queries_per_second));
    put(t.connections, rate(i.traffic?.connections));
    put(t.leases, i.leases ? `${i.leases.used} of ${i.leases.max}` : "–");
    put(t.resets, i.leases ? `${rate(i.leases.resets_per_second)} resets/s` + (i.leases.waiting ? ` · ${i.leases.waiting} wait` : "") : i.durable ? "durable: none" : i.log === "off" ? "no log" : "");
    t.dur.classList.toggle("no", !i.durable);
    const m = i.cluster, chips = [...(m ? [[memberWords(m), !m.online ? "bad" : m.sees < m.of ? "warn" : "", m.role]] : []), ...chipsOf(i.durable)];
    fill(t.chips, JSON.stringify(chips), () => chips.map(([text, cls, title]) => el("span", { class: "chip " + cls, title }, text)));
    const words = wordsOf(i);
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
    if (this.plot) this.plot.setData(this.history.of("queries"));
    else this.plot = spark(this.t.spark, this.history);
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

// chipsOf say what a durable instance promises: a text, how bad that is, and more of it.
export function chipsOf(d) {
  if (!d) return [];
  if (d.error) return [["archive unusable", "bad", d.error]];
  const chips = [[d.level === "commit" ? "RPO 0" : "RPO " + d.level, "", d.level === "commit" ? "no acknowledged commit is lost" : `at most ${d.level} of commits are lost`]];
  const share = d.recover_seconds / d.recover_within_seconds;
  chips.push([`recovers in ${span(d.recover_seconds)} of ${span(d.recover_within_seconds)}`, share > 1 ? "bad" : share > .8 ? "warn" : "", "how long a recovery takes now, of the time that it may take"]);
  const day = 86400e3, old = d.verified ? Date.now() - new Date(d.verified) : Infinity;
  chips.push([d.verified ? "verified " + ago(d.verified) : "not verified yet", old > 2 * day && Date.now() - new Date(d.last_backup) > 2 * day ? "warn" : "", "when what the archive gives was last compared with the instance"]);
  for (const b of d.buckets || []) {
    chips.push([b.error ? "bucket fails" : b.in_sync || b.lag_seconds < 1 ? "bucket in sync" : `bucket ${span(b.lag_seconds)} behind`, b.error ? "bad" : b.lag_seconds > 60 ? "warn" : "", b.url + (b.error ? ": " + b.error : "")]);
  }
  return chips;
}
