// What opens below the row of an instance: buttons, plots, facts, marks, leases and logs.
import { el, put, fill, bytes, rate, span, ago, behind, moment, ask, copy } from "./format.js";
import { Plot } from "./plots.js";
import { ACTIONS, open } from "./actions.js";
import { memberWords, serverWords } from "./row.js";

const LEASES_EVERY = 3000, LOG_EVERY = 1000, LOG_KEPT = 60000, EMPTY = "(empty)";

export class Details {
  constructor(where, row) {
    this.where = where;
    this.row = row;
    this.buttons = {};
    this.why = el("p", { class: "why", role: "status" });
    const buttons = el("div", { class: "buttons", role: "group", "aria-label": "Actions" });
    for (const [kind, a] of Object.entries(ACTIONS)) {
      const b = el("button", { class: "b", type: "button", "data-action": kind, click: () => this.press(kind) }, a.label);
      this.buttons[kind] = b;
      buttons.append(b);
    }
    this.facts = el("dl", {});
    this.durable = el("dl", {});
    this.durableBox = box("Durable", this.durable);
    this.marks = el("ul", { class: "list" });
    this.leases = el("ul", { class: "list" });
    this.dsn = el("button", { class: "b small", type: "button", click: () => this.copyDSN() }, "copy DSN");
    where.replaceChildren(buttons, this.why, this.makePlots(),
      el("div", { class: "boxes" }, box(["Facts", el("span", { class: "tabs" }, this.dsn)], this.facts), this.durableBox, box("Marks", this.marks), box("Leases", this.leases), this.makeLog()));
    this.askLeases();
    this.timers = [setInterval(() => this.askLeases(), LEASES_EVERY), setInterval(() => this.askLog(), LOG_EVERY)];
    this.follow("server");
  }

  // press opens the dialog of a button, or says why it cannot.
  press(kind, given) {
    const i = this.row.seen, why = ACTIONS[kind].why(i);
    put(this.why, why ? `${ACTIONS[kind].label}: ${why}.` : "");
    if (!why) open(kind, i, given);
  }

  makePlots() {
    this.plots = [];
    const all = [
      ["queries/s", ["queries"], rate, 10], ["connections", ["connections"], rate, 5],
      [[key(1), "server ", key(2), "data"], ["server", "data"], bytes, 1 << 20], [[key(1), "resets/s ", key(2), "leases/s"], ["resets", "granted"], rate, 1],
    ];
    return el("div", { class: "plots" }, all.map(([title, names, write, least]) => {
      const value = el("b", {}), where = el("div", {});
      this.plots.push([where, value, names, write, least]);
      return el("div", { class: "plot" }, el("h3", {}, el("span", {}, title), value), where);
    }));
  }

  draw() {
    this.drawn ??= this.plots.map(([where, value, names, write, least]) => new Plot(where, value, this.row.history, names, write, least));
    for (const p of this.drawn) p.update();
  }

  restyle() { for (const p of this.drawn || []) p.restyle(); }

  makeLog() {
    this.log = el("pre", { class: "log", tabindex: "0", role: "log", "aria-label": "Log" });
    this.tabs = ["server", "supervisor"].map(which => el("button", { type: "button", role: "tab", "data-log": which, click: () => this.follow(which) }, which));
    const b = box(["Log", el("span", { class: "tabs", role: "tablist", "aria-label": "Which log" }, this.tabs)], this.log);
    b.classList.add("wide");
    return b;
  }

  follow(which) {
    this.read = { which, file: "", at: 0, busy: false };
    for (const t of this.tabs) t.setAttribute("aria-selected", t.dataset.log === which);
    this.log.textContent = "";
    this.askLog();
  }

  async askLog() {
    const read = this.read, log = this.log;
    if (read.busy) return;
    read.busy = true;
    try {
      const { text, begins, file, at } = await ask(`log?instance=${encodeURIComponent(this.row.name)}&which=${read.which}&file=${read.file}&at=${read.at}`);
      if (read !== this.read) return; // another is followed by now
      Object.assign(read, { file, at });
      if (!text && !begins && log.textContent) return;
      const low = log.scrollHeight - log.scrollTop - log.clientHeight < 30, empty = begins || log.textContent === EMPTY;
      log.textContent = end((empty ? "" : log.textContent) + text, LOG_KEPT) || EMPTY;
      if (low) log.scrollTop = log.scrollHeight;
    } catch (e) { if (read === this.read && !log.textContent) log.textContent = e.message; }
    finally { read.busy = false; }
  }

  async copyDSN() {
    try { copy((await ask("dsn", { instance: this.row.name })).url, this.dsn); } catch (e) { put(this.why, e.message); }
  }

  async askLeases() {
    if (!this.row.seen?.leases) { this.showLeases([]); return; }
    if (this.asking) return;
    this.asking = true;
    try { this.showLeases(await ask("leases?instance=" + encodeURIComponent(this.row.name))); } catch { /* the row says what is wrong */ } finally { this.asking = false; }
  }

  showLeases(all) {
    const i = this.row.seen;
    const none = i?.durable ? "A durable instance has none." : i?.log === "off" ? "None without a binary log." : "None. A test gets one by ramaria db new.";
    fill(this.leases, JSON.stringify([all, none]), () => all.length ? all.map(l => el("li", {}, el("span", {}, l.name),
      el("span", {}, `of ${l.template} · ${l.kept ? "kept" : "until " + moment(l.expires_at).slice(11)}`),
      el("button", { class: "b small", type: "button", "aria-label": "Reset " + l.name, click: () => this.press("reset", l.name) }, "reset"))) : [el("li", { class: "none" }, none)]);
  }

  update(i) {
    for (const [kind, b] of Object.entries(this.buttons)) {
      const why = ACTIONS[kind].why(i);
      b.setAttribute("aria-disabled", why !== "");
      b.title = why;
    }
    pairs(this.facts, [
      ["state", i.since ? `${i.phase} since ${moment(i.since)}` : i.phase], ["server", serverWords(i.server)], ["tcp", i.port ? `${i.host}:${i.port}` : ""], ["socket", i.socket],
      ["cluster", memberWords(i.cluster)], ["follows", i.replica && followWords(i.replica)],
      ["database", i.database && `${i.database}, user ${i.user}`],
      ["volume", i.volume.size_bytes ? `${i.volume.kind}: ${bytes(i.volume.used_bytes)} of ${bytes(i.volume.size_bytes)}, ${bytes(i.volume.free_bytes)} free, bound by ${i.volume.bound}` : i.volume.kind],
      ["growth", i.volume.growth_bytes_per_hour ? `+${bytes(i.volume.growth_bytes_per_hour)} an hour` + (i.volume.full_seconds !== undefined ? `: full in ${span(i.volume.full_seconds)}` : "") : i.volume.size_bytes ? "none" : ""],
      ["largest", (i.largest || []).slice(0, 3).map(u => `${u.what} ${bytes(u.bytes)}`).join(", ")],
    ]);
    const d = i.durable;
    this.durableBox.hidden = !d;
    if (d) {
      pairs(this.durable, [
        ["promise", d.level === "commit" ? "no acknowledged commit is lost" : `at most ${d.level} of commits are lost`], ["archive", d.error ? d.archive + ": " + d.error : `${d.archive}, ${bytes(d.room_bytes)} free`],
        ["backups", d.error ? "" : `${d.backups}, the last ${ago(d.last_backup)}, ${bytes(d.since_bytes)} of log since`],
        ["recovery", d.error ? "" : `about ${span(d.recover_seconds)} now, of ${span(d.recover_within_seconds)}`], ["verified", d.error ? "" : d.verified ? ago(d.verified) : "never"],
        ["position", d.error ? "" : d.position], ...(d.buckets || []).map(b => ["bucket", b.url + ": " + (b.error || (b.in_sync ? "has all of it" : span(b.lag_seconds) + " behind"))]), ["outside", (d.outside || []).join(", ")],
      ]);
    }
    const marks = i.marks || [];
    fill(this.marks, JSON.stringify([marks, !!d]), () => marks.length ? marks.toReversed().map(m => el("li", {}, el("span", {}, m.label), el("span", {}, `${moment(m.created)} · ${bytes(m.bytes)}`),
      el("button", { class: "b small", type: "button", "aria-label": "Rewind to " + m.label, click: () => this.press("rewind", m.label) }, "rewind"))) : [el("li", { class: "none" }, d ? "None." : "None. Mark keeps the data of now, and rewind puts it back.")]);
  }

  // end asks for nothing more.
  end() {
    for (const t of this.timers) clearInterval(t);
  }

  close() {
    this.end();
    for (const p of this.drawn || []) p.close();
    this.where.replaceChildren();
  }
}

function followWords(r) {
  return [r.of, r.state, r.lag_seconds === undefined ? "" : behind(r.lag_seconds), r.sync ? "commits wait for it" : "", r.diverged ? "may differ since " + r.diverged.position : "", r.error].filter(Boolean).join(", ");
}

const key = n => el("i", { class: n === 1 ? "key" : "key two" });

// end is so much of a text, from the begin of a line on.
function end(text, most) { return text.length <= most ? text : text.slice(text.indexOf("\n", text.length - most) + 1); }

function box(title, ...children) { return el("section", { class: "box" }, el("h3", {}, title), children); }

// pairs shows names and values, without those that have none.
function pairs(dl, all) {
  all = all.filter(([, value]) => value);
  fill(dl, JSON.stringify(all), () => all.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}
