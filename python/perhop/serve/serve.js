// The one script of `perhop serve`: it copies commands, follows a job, and asks what a form amounts to.
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
  events.addEventListener("ended", () => { events.close(); location.reload(); });
}

function check(form) {
  let timer = 0, asked = 0;
  const ask = async () => {
    const mine = ++asked;
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.dataset.check, { method: "POST", body });
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
    if (event.target.dataset.swaps !== undefined) form.requestSubmit(byId("settle"));
  });
  // what was typed before this script came, or is kept by the browser
  ask();
}

function find(box) {
  box.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  box.addEventListener("input", (event) => {
    event.stopPropagation();
    const asked = box.value.trim().toLowerCase();
    for (const label of document.querySelectorAll(".fields label")) {
      const field = label.querySelector("[name]");
      label.hidden = asked !== "" && !`${field.name} ${label.title}`.toLowerCase().includes(asked);
    }
    for (const part of [...document.querySelectorAll(".settings details")].reverse()) {
      const some = part.querySelector("label:not([hidden])") !== null;
      part.hidden = asked !== "" && !some;
      part.open = asked !== "" ? some : part.querySelector(".changed") !== null;
    }
  });
}

const parts = { compare, job: follow, form: check, find };
for (const [id, begin] of Object.entries(parts)) if (byId(id)) begin(byId(id));
