// The list: clusters and replicas together, what runs first, and what is stopped folded to a line.
import { el, put, fill, behind } from "./format.js";
import { HEADS } from "./row.js";

// stirs is by how much a figure must change to move a row: rates that are nearly the same do not change places.
const stirs = (was, now) => Math.max(was, now) > 2 * Math.min(was, now) && Math.abs(was - now) > 10;

// Orders of the list by a figure, the least first; equals are by name.
const ORDERS = {
  name: () => 0, queries: i => -(i.traffic?.queries_per_second ?? 0), memory: i => -((i.server_bytes || 0) + (i.data_bytes || 0)), full: i => i.volume.full_seconds ?? Infinity,
  trouble: i => i.trouble || i.phase === "crashed" || i.phase === "gone" ? 0 : i.warnings?.length ? 1 : i.notices?.length ? 2 : 3,
};

const still = i => i.phase === "stopped" && !i.trouble;

// List arranges rows in a node.
export class List {
  constructor(node, nothing) {
    Object.assign(this, { node, nothing, heads: new Map(), held: new Map(), unfolded: false });
    this.fold = el("button", { class: "fold", type: "button", "aria-expanded": "false", click: () => { this.unfolded = !this.unfolded; this.again(); } }, el("span", {}), el("span", { class: "names" }));
  }

  // arrange puts the rows of an overview in order, and moves none that is where it belongs: what has the focus keeps it.
  arrange(seen, rows, sort, wanted) {
    this.again = () => this.arrange(seen, rows, sort, wanted);
    if (!this.node.querySelector(".heads") || rows.size === 0) this.node.replaceChildren(rows.size ? heads() : this.nothing());
    if (!rows.size) return;
    if (sort !== this.sort) { this.sort = sort; this.held.clear(); }
    const units = this.units(seen, rows), runs = units.filter(u => !u.still), rest = units.filter(u => u.still);
    const folded = !this.unfolded && wanted === "";
    let before = this.node.firstElementChild;
    const place = (node, hidden) => {
      node.hidden = hidden;
      if (before.nextElementSibling !== node) before.after(node);
      before = node;
    };
    const matches = row => wanted === "" || [row.name, row.seen.group, row.seen.role, row.seen.server, row.seen.volume.kind, row.seen.phase].some(t => (t || "").toLowerCase().includes(wanted));
    const put1 = (u, hide) => {
      if (u.group) place(this.head(u), hide || !u.rows.some(matches));
      for (const row of u.rows) {
        row.node.classList.toggle("member", !!u.group);
        row.node.classList.toggle("last", u.group !== undefined && row === u.rows.at(-1));
        place(row.node, !matches(row) || hide && !row.details);
      }
    };
    for (const u of runs) put1(u, false);
    this.tell(rest, folded);
    place(this.fold, rest.length === 0 || wanted !== "");
    for (const u of rest) put1(u, folded);
    while (before.nextElementSibling) before.nextElementSibling.remove(); // heads of groups that are gone
  }

  // units are what stays together: a group with its rows, or one row.
  units(seen, rows) {
    const units = [], named = new Set();
    for (const group of seen.groups || []) {
      const of = group.members.map(n => rows.get(n)).filter(Boolean);
      for (const row of of) named.add(row.name);
      const down = of.filter(row => still(row.seen));
      units.push({ group, name: group.name, rows: [...of.filter(row => !still(row.seen)), ...down], still: down.length === of.length });
    }
    for (const i of seen.instances) if (!named.has(i.name)) units.push({ name: i.name, rows: [rows.get(i.name)], still: still(i) });
    for (const u of units) u.rank = this.hold(u.name, Math.min(...u.rows.map(row => ORDERS[this.sort](row.seen))));
    return units.sort((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank) || a.name.localeCompare(b.name));
  }

  // hold is a figure as it was when it last changed much.
  hold(name, now) {
    const was = this.held.get(name);
    if (was !== undefined && (was === now || Number.isFinite(was) && Number.isFinite(now) && !stirs(Math.abs(was), Math.abs(now)))) return was;
    this.held.set(name, now);
    return now;
  }

  head(u) {
    const g = u.group, key = g.kind + " " + g.name;
    if (!this.heads.has(key)) this.heads.set(key, el("div", { class: "group", "data-group": g.name }));
    const node = this.heads.get(key), words = groupWords(g, u.rows.map(r => r.seen));
    fill(node, JSON.stringify(words), () => [el("b", {}, g.kind === "cluster" ? "cluster " + g.name : g.name + " and replicas"), ...words.map(([text, cls, title]) => el("span", { class: cls, title }, text))]);
    return node;
  }

  tell(rest, folded) {
    const n = rest.reduce((sum, u) => sum + u.rows.length, 0);
    this.fold.setAttribute("aria-expanded", !folded);
    put(this.fold.firstChild, n + " stopped");
    put(this.fold.lastChild, folded ? rest.map(u => u.group ? `${u.name} (${u.rows.length})` : u.name).join(", ") : "");
  }
}

function heads() {
  return el("div", { class: "heads", "aria-hidden": "true" }, HEADS.map(h => el("span", { class: h === "Connections" ? "num" : "" }, h === "Connections" ? "Conn." : h)));
}

// groupWords say how a group is: a text, how bad that is, and more of it.
function groupWords(g, all) {
  if (all.every(still)) return [["stopped", ""]];
  const lag = g.lag_seconds === undefined ? [] : [[behind(g.lag_seconds) + (all.filter(i => i.replica).length > 1 ? " at most" : ""), g.lag_seconds > 60 ? "warn" : ""]];
  if (g.kind !== "cluster") {
    const copies = all.filter(i => i.replica), following = copies.filter(i => i.replica.state === "following" && i.phase === "running").length;
    return [[`${following} of ${copies.length} ${copies.length === 1 ? "follows" : "follow"}`, following < copies.length ? "warn" : ""], ...lag];
  }
  const primary = all.find(i => i.role === "primary");
  return [
    [`${g.online} of ${g.of} online`, g.online < g.of ? "warn" : ""],
    g.quorum ? ["quorum", "", "most members reach each other: the cluster is written to"] : ["no quorum: it takes no writes", "bad", "ramaria cluster up " + g.name],
    ...(g.quorum && primary ? [["written to at " + primary.name, ""]] : []), ...lag,
  ];
}
