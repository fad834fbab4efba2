// Plots by uPlot: what the page has seen of each instance in the last five minutes.

import { bytes } from "./format.js";

export const KEPT = 300;

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// History is what one instance did, a column a second.
export class History {
  constructor() { this.columns = { time: [] }; for (const name of History.names) this.columns[name] = []; }
  static names = ["queries", "connections", "server", "data", "resets", "granted"];

  add(time, i) {
    const values = {
      time, queries: i.traffic?.queries_per_second ?? null, connections: i.traffic?.connections ?? null,
      server: i.server_bytes ?? null, data: i.data_bytes ?? null, resets: i.leases?.resets_per_second ?? null, granted: i.leases?.granted_per_second ?? null,
    };
    const last = this.columns.time.at(-1);
    if (last !== undefined && time - last > 5) this.push({ time: last + 1 }); // a gap, not a line across it
    this.push(values);
  }

  push(values) {
    for (const [name, column] of Object.entries(this.columns)) {
      column.push(values[name] ?? null);
      if (column.length > KEPT) column.shift();
    }
  }

  of(...names) { return [this.columns.time, ...names.map(n => this.columns[n])]; }
}

// range is from nothing to somewhat above the most, and not of no height.
const range = least => (_, low, high) => [0, Math.max(least, (high || 0) * 1.15)];

// ROUND are the distances of ticks of bytes, so that each has a round number; of others uPlot knows them.
export const ROUND = Array.from({ length: 41 }, (_, n) => 2 ** n);

// tick is a number of bytes at an axis: of 256 MB the fifth is 1.25 GB.
export function tick(n) {
  const unit = n < 1 ? 0 : Math.min(4, Math.floor(Math.log2(n) / 10));
  return +(n / 2 ** (10 * unit)).toFixed(2) + " " + ["B", "KB", "MB", "GB", "TB"][unit];
}

// spark is a line without axes.
export function spark(where, history) {
  return new uPlot({
    width: Math.max(60, where.clientWidth), height: 28, cursor: { show: false }, legend: { show: false }, padding: [2, 0, 2, 0],
    scales: { x: { range: () => now(where.clientWidth > 240 ? KEPT : 120) }, y: { range: range(10) } }, axes: [{ show: false }, { show: false }],
    series: [{}, { stroke: colour("--data"), fill: colour("--data") + "22", width: 1.4, points: { show: false } }],
  }, history.of("queries"), where);
}

const now = seconds => { const t = Date.now() / 1000; return [t - seconds, t]; };

const hhmm = t => new Date(t * 1000).toLocaleTimeString("en-GB").slice(0, 5);

// Plot is a plot with axes, and the value below the cursor in its title.
export class Plot {
  constructor(where, value, history, names, write, least) {
    Object.assign(this, { where, value, history, names, write, least });
    this.draw();
    this.resized = new ResizeObserver(() => this.u.setSize({ width: this.width(), height: 128 }));
    this.resized.observe(where);
  }

  width() { return Math.max(120, this.where.clientWidth); }

  draw() {
    const soft = colour("--soft"), grid = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: soft, grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    this.u = new uPlot({
      width: this.width(), height: 128, legend: { show: false }, padding: [8, 18, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { range: () => now(KEPT) }, y: { range: range(this.least) } },
      axes: [
        { ...axis, size: 24, incrs: [60, 120], space: 44, values: (_, all) => all.map(hhmm) },
        this.write === bytes ? { ...axis, size: 58, space: 30, incrs: ROUND, values: (_, all) => all.map(tick) } : { ...axis, size: 58, space: 30, values: (_, all) => all.map(this.write) },
      ],
      series: [{}, ...this.names.map((_, n) => ({ stroke: colour(n ? "--data2" : "--data"), fill: n ? undefined : colour("--data") + "18", width: 1.6, points: { show: false } }))],
      hooks: { setCursor: [() => this.tell()] },
    }, this.history.of(...this.names), this.where);
  }

  // tell says the value below the cursor, or the last one.
  tell() {
    const at = this.u.cursor.idx, data = this.u.data, last = data[0].length - 1, n = at ?? last;
    const text = n < 0 ? "" : data.slice(1).map(c => c[n] === null ? "–" : this.write(c[n])).join(" · ");
    this.value.textContent = text + (at !== null && at !== undefined && at !== last && n >= 0 ? " at " + new Date(data[0][n] * 1000).toLocaleTimeString("en-GB") : "");
  }

  update() { this.u.setData(this.history.of(...this.names)); this.tell(); }

  restyle() { this.u.destroy(); this.draw(); this.tell(); }

  close() { this.resized.disconnect(); this.u.destroy(); }
}
