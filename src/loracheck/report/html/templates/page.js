"use strict";

// Each list of cases has its own filter: a kind, which rows list in data-kinds, and a text.
for (const list of document.querySelectorAll(".cases")) {
  const form = list.querySelector(".filter");
  const select = form.querySelector("select");
  const input = form.querySelector("input");
  const count = form.querySelector("output");
  const rows = [...list.querySelectorAll(".case")].map((row) => ({
    row,
    kinds: new Set(row.dataset.kinds.split(" ")),
    text: null,
  }));

  // Collected at the first search only: there may be megabytes of it.
  function textOf(entry) {
    entry.text ??= [...entry.row.querySelectorAll(".find")].map((part) => part.textContent).join("\n").toLowerCase();
    return entry.text;
  }

  function apply() {
    const kind = select.value;
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    for (const entry of rows) {
      const matches = entry.kinds.has(kind) && (!wanted || textOf(entry).includes(wanted));
      entry.row.hidden = !matches;
      shown += matches;
    }
    count.value = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} cases`;
    list.querySelector(".none").hidden = shown > 0;
  }

  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 120);
  });
  select.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const link of document.querySelectorAll(`a[href="#${list.id}"][data-kind]`)) {
    link.addEventListener("click", () => {
      select.value = link.dataset.kind;
      input.value = "";
      apply();
    });
  }
  form.hidden = false;
  apply();
}

// Paper cannot be clicked: what matters is opened for the print, and closed after it.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details[data-print]:not([open])")];
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});
