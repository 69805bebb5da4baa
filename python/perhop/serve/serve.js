// The one script of `perhop serve`: it copies commands, follows a job, asks what a form amounts to, and says when the server is lost.
"use strict";

for (const button of document.querySelectorAll("button.copy"))
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

const byId = (id) => document.getElementById(id);

function show(id, text) {
  byId(id).textContent = text;
  byId(id).hidden = !text;
}

// A word of a command as a shell takes it.
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

// Ask every half second whether the server is there: its end is told within one.
let lost = false;
async function watch() {
  let why = "";
  try {
    const { ok } = await fetch("/alive", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!ok) why = "Another server answers here. Open the link that it printed.";
  } catch {
    why = "The server does not answer. Nothing here is checked or run, and what was running may have ended. If it does not come back, start perhop serve again, and open its link.";
  }
  const found = lost && why === "";
  lost = why !== "";
  if (found && byId("job")) location.reload();
  if (lost && byId("job")) {
    document.querySelector("h1").textContent = "Not known: the server is lost";
    byId("progress").hidden = true;
    show("told", "");
  }
  if (byId("lost").textContent !== why) show("lost", why);
  setTimeout(watch, 500);
}
watch();

function compare(form) {
  // in the order in which they were chosen: the first is what others are compared with
  let chosen = [];
  const told = () => {
    const now = [...form.querySelectorAll("input:checked")];
    chosen = [...chosen.filter((box) => now.includes(box)), ...now.filter((box) => !chosen.includes(box))];
    const words = chosen.map((box) => quoted(box.dataset.word));
    byId("do-compare").disabled = words.length < 2;
    byId("compare-command").textContent = `perhop compare ${words.length ? words.join(" ") : "A B"}`;
  };
  form.addEventListener("change", told);
  form.addEventListener("formdata", (event) => {
    event.formData.delete("of");
    for (const box of chosen) event.formData.append("of", box.value);
  });
  told();
}

function follow(job) {
  const events = new EventSource(job.dataset.events);
  let begun = false;
  events.addEventListener("printed", (event) => {
    const { stream, text, percent } = JSON.parse(event.data);
    if (!begun) { show("stdout", ""); show("stderr", ""); begun = true; }
    if (stream === "progress") byId("told").textContent = text;
    else show(stream, byId(stream).textContent + text);
    if (percent !== null) byId("progress").value = percent;
  });
  events.addEventListener("ended", (event) => {
    events.close();
    location.replace(JSON.parse(event.data).page ?? location.href);
  });
}

function check(form) {
  let timer = 0, asked = 0;
  const ask = async () => {
    const mine = ++asked;
    const body = new URLSearchParams(new FormData(form));
    let answer;
    try {
      answer = await fetch(form.dataset.check, { method: "POST", body });
    } catch {
      show("mistakes", "Not checked: the server does not answer.");
      return;
    }
    if (mine !== asked || !answer.headers.get("content-type").startsWith("application/json")) return;
    const { command, mistakes, warnings } = await answer.json();
    byId("command").textContent = command;
    show("mistakes", mistakes.join("\n\n"));
    show("warnings", warnings.join("\n\n"));
  };
  form.addEventListener("input", (event) => {
    const field = event.target, base = field.dataset.base;
    if (base !== undefined) field.classList.toggle("changed", field.value !== "" && field.value !== base);
    clearTimeout(timer);
    timer = setTimeout(ask, 250);
  });
  form.addEventListener("change", (event) => {
    if (event.target.dataset.swaps !== undefined && !lost) form.requestSubmit(byId("settle"));
  });
  if (form.dataset.try) slide(form);
  // what was typed before this script came, or is kept by the browser
  ask();
  // nothing that has the focus lies under the bar, which grows with what it says
  const bar = form.querySelector(".stay");
  new ResizeObserver(() => {
    const over = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight + 8 : 0;
    document.documentElement.style.scrollPaddingBottom = `${over}px`;
    const one = document.activeElement;
    if (one.closest(".settings")) one.scrollIntoView({ block: "nearest" });
  }).observe(bar);
}

// A number with its unit can be slid from a tenth to ten times what it is, one below 1 from 0 to 1.
function slides(field) {
  const [, number, unit] = field.value.match(/^(\d+(?:\.\d+)?) ?([A-Za-z%/]*)$/) ?? [];
  const base = Number(number), part = unit === "" && base < 1;
  if (!base) return null;
  const whole = unit === "p" || unit === "B" || (unit === "" && Number.isInteger(base));
  const range = Object.assign(document.createElement("input"), { type: "range", min: 1, max: 99, value: part ? 100 * base : 50 });
  range.setAttribute("aria-label", `${field.labels[0].textContent}, by slider`);
  const at = () => {
    if (part) return String(range.value / 100);
    const value = Number((base * 10 ** ((range.value - 50) / 49)).toPrecision(2));
    return `${whole ? Math.max(1, Math.round(value)) : value}${unit}`;
  };
  field.after(range);
  return [range, at];
}

// Runs a small scenario as a slider moves, one run at a time: the latest value is the one that is run next.
function slide(form) {
  const box = byId("tried"), head = box.querySelector("thead tr"), body = box.querySelector("tbody");
  let moved = null, busy = false, first = null, latest = null;
  const row = (into, cells) => into.replaceChildren(...cells.map((text, place) =>
    Object.assign(document.createElement(into === head ? "th" : "td"), { textContent: text, className: place ? "" : "t" })));
  const asked = (field) => [field, field.value, new URLSearchParams(new FormData(form))];
  const once = async (field, label, sent) => {
    let answer;
    try {
      answer = await (await fetch(form.dataset.try, { method: "POST", body: sent })).json();
    } catch {
      answer = { why: "Not run: the server does not answer." };
    }
    if (field !== moved) return;
    const { headings, cells, why } = answer;
    box.hidden = false;
    show("why", why ?? "");
    if (why) return;
    row(head, [field.labels[0].firstChild.data.trim(), ...headings]);
    for (const one of [...body.rows]) if (one.cells[0].textContent === label) one.remove();
    row(body.insertRow(), [label, ...cells]);
    // the first is as the scenario has it
    if (body.rows.length > 5) body.deleteRow(1);
    body.lastChild.scrollIntoView({ block: "nearest" });
  };
  for (const field of form.querySelectorAll(".first input")) {
    const [range, at] = slides(field) ?? [];
    range?.addEventListener("input", async (event) => {
      event.stopPropagation();
      if (moved !== field) {
        [moved, first] = [field, asked(field)];
        body.replaceChildren();
      }
      field.value = at();
      range.setAttribute("aria-valuetext", field.value);
      field.dispatchEvent(new Event("input", { bubbles: true }));
      latest = asked(field);
      if (busy) return;
      for (busy = true; first ?? latest;) {
        const next = first ?? latest;
        if (first) first = null;
        else latest = null;
        await once(...next);
      }
      busy = false;
    });
  }
}

function find(box) {
  const fields = [...document.querySelectorAll(".field")].map((one) =>
    [one, `${one.querySelector("[name]").name} ${one.textContent}`.toLowerCase()]);
  const parts = [...document.querySelectorAll(".settings section, .settings details")].reverse();
  box.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  box.addEventListener("input", (event) => {
    event.stopPropagation();
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean), any = words.length > 0;
    let count = 0;
    for (const [one, text] of fields) {
      one.hidden = !words.every((word) => text.includes(word));
      count += !one.hidden;
    }
    for (const part of parts) {
      const some = part.querySelector(".field:not([hidden])") !== null;
      part.hidden = any && !some;
      if (part.tagName === "DETAILS") part.open = any ? some : part.querySelector(".changed") !== null;
    }
    if (any) box.scrollIntoView();
    document.querySelector(".settings").classList.toggle("found", any);
    byId("found").textContent = any ? (count ? `${count} of ${fields.length}` : "No setting has this in its name or meaning.") : "";
  });
}

const parts = { compare, job: follow, form: check, find };
for (const [id, begin] of Object.entries(parts)) if (byId(id)) begin(byId(id));
