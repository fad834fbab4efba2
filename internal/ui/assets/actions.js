// The buttons: what each stands for, why it may not be possible, and its dialog.
import { el, put, quote, ask, copy, ago, span, moment } from "./format.js";

export const page = { command: "ramaria", names: () => [], leases: async () => [] };

const pause = i => !i.pause ? "" : i.pause.shares ? "The server is paused for milliseconds." : `The server is paused for about ${span(Math.max(.1, i.pause.seconds))}: its volume copies.`;
const busy = i => i.phase === "starting" ? "it is starting" : i.phase === "stopping" ? "it is stopping" : i.moving ? "it is being moved to another volume" : i.phase === "gone" ? `its data is gone: ramaria up ${i.name} makes it again` : "";
const stopped = i => i.phase === "running" ? "" : `it does not run: ramaria up ${i.name} starts it`;

const NAME = "[a-z0-9][a-z0-9_\\-]{0,39}";
const RULE = "a to z, 0 to 9, - and _, 40 at most, beginning with a letter or a digit";

function free(name) {
  const taken = page.names(), stem = name.replace(/-\d+$/, "").slice(0, 36);
  for (let n = 2; ; n++) if (!taken.includes(stem + "-" + n)) return stem + "-" + n;
}

// Each action: why it is not possible ("" if it is), what its dialog says, its fields, the words of its command
// and its request.
export const ACTIONS = {
  branch: {
    label: "Branch", why: busy,
    text: i => `Starts a second server, with the data that ${i.name} has now. ${pause(i)}`, lost: () => "Nothing is lost.",
    fields: i => [name("new", "Name of the branch", free(i.name))],
    words: (i, v) => ["branch", i.name, v.new || "NEW"],
  },
  mark: {
    label: "Mark", why: busy,
    text: i => `Keeps the data that ${i.name} has now under a label, to which it can be rewound. ${pause(i)}`,
    lost: (i, v) => v.replace ? `The data of the mark that is called ${v.label} now is lost.` : "Nothing is lost.",
    fields: i => [name("label", "Label", "at-" + new Date().toLocaleTimeString("en-GB").slice(0, 5).replace(":", "")), ...(i.marks?.length ? [tick("replace", "replace the mark of that label")] : [])],
    words: (i, v) => ["mark", i.name, v.label || "LABEL", ...(v.replace ? ["--replace"] : [])],
  },
  rewind: {
    label: "Rewind", danger: true,
    why: i => busy(i) || (i.cluster ? `it is a member of cluster ${i.cluster.cluster}` : i.durable ? `it is durable, and its archive goes forward only: ramaria restore ${i.name} --at TIME --as NEW makes another instance as it was then` : !i.marks?.length ? "it has no marks" : ""),
    text: i => `Puts ${i.name} back to a mark. Its connections are closed, and its server starts again.`,
    lost: (i, v) => { const m = i.marks?.find(m => m.label === v.label); return m ? `All that ${i.name} was given since ${moment(m.created)}, ${ago(m.created)}, is lost.` : ""; },
    fields: (i, given) => [choice("label", "Mark", (i.marks || []).map(m => m.label).reverse(), given)],
    words: (i, v) => ["rewind", i.name, v.label || "LABEL"],
  },
  reset: {
    label: "Reset", danger: true,
    why: i => i.durable ? "it is durable, and has no leases" : i.log === "off" ? "it keeps no binary log, and has no leases" : stopped(i) || busy(i) || (!i.leases?.used ? "nothing is leased" : ""),
    text: () => "Puts leased databases back to their templates.",
    lost: (i, v) => v.databases?.length ? `What was written to ${v.databases.length === 1 ? v.databases[0] : "these " + v.databases.length + " databases"} is lost. A test that uses one of them now finds its data gone.` : "None is chosen.",
    fields: async (i, given) => [ticks("databases", "Leases", (await page.leases(i.name)).map(l => [l.name, l.template]), given)],
    words: (i, v) => ["db", "reset", "-i", i.name, ...(v.databases?.length ? v.databases : ["DATABASE"])],
    ready: v => v.databases?.length > 0,
  },
  backup: {
    label: "Backup", why: i => !i.durable ? "it is not durable, and has no archive" : stopped(i) || busy(i),
    text: i => `Makes a base backup of ${i.name} in its archive now, from which a recovery is faster. ${pause(i)}`, lost: () => "Nothing is lost.",
    fields: () => [], words: i => ["backup", i.name],
  },
  down: {
    label: "Down", danger: true,
    why: i => i.passing ? "it belongs to a ramaria run: end that command" : ["running", "starting"].includes(i.phase) ? "" : "it does not run",
    text: i => `Shuts the server of ${i.name} down. Its connections are closed; ramaria up ${quote(i.name)} starts it again.`,
    lost: i => i.durable ? "Nothing is lost: its data stays, and its archive." : i.volume.kind === "disk" ? "Nothing is lost: its data stays on the disk." : "Its data stays, in memory: a reboot loses it.",
    fields: () => [], words: i => ["down", i.name],
  },
};

// Fields: an element, and a function that reads its value.
function name(key, label, value) {
  const input = el("input", { type: "text", name: key, value, required: true, pattern: NAME, title: RULE, autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  return { key, node: el("label", {}, label, input), value: () => input.value.trim() };
}

function tick(key, label) {
  const input = el("input", { type: "checkbox", name: key });
  return { key, node: el("label", {}, input, label), value: () => input.checked };
}

function choice(key, label, all, given) {
  const select = el("select", { name: key }, all.map(a => el("option", { value: a, selected: a === given }, a)));
  return { key, node: el("label", {}, label, select), value: () => select.value };
}

function ticks(key, label, all, given) {
  const inputs = all.map(([n]) => el("input", { type: "checkbox", name: key, value: n, checked: !given || n === given }));
  return {
    key, node: el("fieldset", {}, el("legend", {}, label), all.map(([n, of], k) => el("label", {}, inputs[k], n, el("small", {}, "of " + of)))),
    value: () => inputs.filter(b => b.checked).map(b => b.value),
  };
}

const dialog = document.getElementById("dialog");

// open shows the dialog of an action on an instance; given is what was chosen already.
export async function open(kind, i, given) {
  const a = ACTIONS[kind];
  let fields;
  try { fields = await a.fields(i, given); } catch (e) { return show(a, i, e); }
  const values = () => Object.fromEntries(fields.map(f => [f.key, f.value()]));
  const line = () => page.command + " " + a.words(i, values()).map(quote).join(" ");
  const code = el("code", { id: "dialog-command" }), lost = el("p", { class: "lost" + (a.danger ? " danger" : "") }), answer = el("div", { role: "status" });
  const go = el("button", { class: "b " + (a.danger ? "danger" : "main"), type: "submit", id: "dialog-go" }, a.label + (kind === "down" ? " " + i.name : ""));
  const cancel = el("button", { class: "b", type: "button", id: "dialog-close", click: () => dialog.close() }, "Cancel");
  const again = () => {
    put(code, line());
    put(lost, a.lost(i, values()));
    go.disabled = a.ready ? !a.ready(values()) : false;
  };
  const form = el("form", { input: again, submit: e => { e.preventDefault(); run(kind, i, values(), { form, go, cancel, answer }); } },
    el("h2", { id: "dialog-title" }, `${a.label} ${i.name}`), el("p", {}, a.text(i)), fields.map(f => f.node), lost,
    el("div", { class: "command" }, code, el("button", { class: "b small", type: "button", click: e => copy(line(), e.currentTarget) }, "copy")),
    answer, el("div", { class: "end" }, cancel, go));
  dialog.replaceChildren(form);
  again();
  dialog.showModal();
  (form.querySelector("input[type=text], select") || (a.danger ? cancel : go)).focus();
  form.querySelector("input[type=text]")?.select();
}

function show(a, i, e) {
  dialog.replaceChildren(el("h2", { id: "dialog-title" }, `${a.label} ${i.name}`), trouble(e), el("div", { class: "end" }, el("button", { class: "b", click: () => dialog.close() }, "Close")));
  dialog.showModal();
}

const trouble = e => el("p", { class: "answer bad" }, e.message, e.hint ? "\n" + e.hint : "");

// run does what the dialog says, and shows what became of it.
async function run(kind, i, values, { form, go, cancel, answer }) {
  go.disabled = true;
  put(cancel, "Close");
  const label = go.textContent;
  put(go, "working …");
  form.setAttribute("aria-busy", "true");
  try {
    const r = await ask("do", { action: kind, instance: i.name, ...values });
    const notes = (r.notes || []).map(n => "\n" + n.replaceAll("\nhint: ", "\n"));
    answer.replaceChildren(el("p", { class: "answer good", id: "dialog-done" }, r.text, ...notes));
    for (const e of form.querySelectorAll("label, fieldset, .lost, p:not(.answer)")) e.remove();
    go.remove();
    cancel.focus();
  } catch (e) {
    answer.replaceChildren(trouble(e));
    go.disabled = false;
    put(go, label);
  }
  form.removeAttribute("aria-busy");
}
