"use strict"; // The script of the console: keys, copying, rows of forms, pausing. Every page works without it.
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const base = document.body.dataset.base || "";
  const announce = (text) => { const status = $("[data-status]"); if (status) status.textContent = text; };
  const remembered = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const remember = (key, value) => { try { localStorage.setItem(key, value); } catch { /* storage is off */ } };

  // Copying. Browsers allow it on secure addresses only; elsewhere the text is selected, for the reader to copy.
  function select(element) {
    if (!element) return;
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }
  async function copy(text, element) {
    try {
      await navigator.clipboard.writeText(text);
      announce("Copied " + text);
      return true;
    } catch {
      select(element);
      announce("Selected; press Ctrl C to copy");
      return false;
    }
  }
  async function copyButton(button) {
    const label = button.textContent;
    button.textContent = await copy(button.dataset.copy, button.previousElementSibling) ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = label; }, 2000);
  }

  // Tables and trees: one tab stop each, on the link of the current row. Arrows move it: up and down between rows, left
  // and right among the links and buttons of a row.
  const stops = (row) => all("a[href], button, input, select, summary", row);
  const rows = (table) => all("tbody tr", table).filter((row) => stops(row).length > 0);
  function rove(table, current) {
    const list = rows(table);
    const chosen = current || $("[data-row][aria-current]", table) || (list[0] && stops(list[0])[0]);
    for (const row of list) for (const stop of stops(row)) stop.tabIndex = stop === chosen ? 0 : -1;
  }
  function move(event, table) {
    const list = rows(table);
    const row = event.target.closest("tr");
    const at = list.indexOf(row);
    const column = stops(row).indexOf(event.target);
    if (at < 0 || column < 0 || event.target.matches("input, select")) return;
    const to = { ArrowDown: list[at + 1], ArrowUp: list[at - 1], Home: list[0], End: list[list.length - 1] }[event.key];
    let next = to && stops(to)[Math.min(column, stops(to).length - 1)];
    if (event.key === "ArrowRight") next = stops(row)[column + 1];
    if (event.key === "ArrowLeft") next = stops(row)[column - 1];
    if (!next) return;
    event.preventDefault();
    rove(table, next);
    next.focus();
  }
  const prepare = (root) => all("table[data-rows]", root).forEach((table) => rove(table));

  // Single keys, which a switch of the menu turns off.
  const pages = { o: "", p: "/providers", c: "/candidates", k: "/capacity", b: "/baremetal" };
  let prefix = 0;
  const singleKeys = () => remembered("berth-single-keys") !== "off";
  const showKeys = () => $("dialog[data-keys]:not([open])")?.showModal();
  function single(event) {
    if (event.key === "/") {
      const find = $("[data-find]");
      if (find) event.preventDefault(), find.focus(), find.select();
    } else if (event.key === "?") {
      event.preventDefault();
      showKeys();
    } else if (event.key === "g") {
      prefix = Date.now();
    } else if (Date.now() - prefix < 1500 && event.key in pages) {
      prefix = 0;
      location.assign(base + pages[event.key]);
    } else if (event.key === "y") {
      const element = $("[data-uuid]", document.activeElement?.closest("tr, .card") || document) || $("[data-uuid]");
      if (element) copy(element.dataset.uuid || element.textContent.trim(), element);
    }
  }
  document.addEventListener("keydown", (event) => {
    const explorer = $("form[data-explorer]");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && explorer) return event.preventDefault(), explorer.requestSubmit();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const table = event.target.closest?.("table[data-rows]");
    if (table) move(event, table);
    if (event.defaultPrevented || event.target.closest?.("input, select, textarea, dialog, [contenteditable]")) return;
    if (singleKeys()) single(event);
  });
  document.addEventListener("focusin", (event) => {
    const table = event.target.closest?.("tbody")?.closest("table[data-rows]");
    if (table) rove(table, event.target);
  });

  // Rows of forms: a button with data-add copies <template data-template="NAME"> to the list before its own row. "$n" in
  // names and ids becomes a new number.
  let added = 0;
  function add(button, event) {
    const template = $(`template[data-template="${button.dataset.add}"]`);
    if (!template) return;
    event.preventDefault();
    const copied = template.content.cloneNode(true);
    for (const element of all("[name*='$n'], [id*='$n'], [for*='$n']", copied))
      for (const name of ["name", "id", "for"]) if (element.hasAttribute(name)) element.setAttribute(name, element.getAttribute(name).replace("$n", "n" + added));
    added++;
    const first = $("input:not([type=hidden]), select", copied);
    (button.closest(".adds, .block") || button).before(copied);
    first?.focus();
  }
  function remove(button) {
    const item = button.closest("[data-token]") || button.closest("[data-item]") || button.closest("[data-items]");
    const next = $("input:not([type=hidden])", item.parentElement);
    item.parentElement.dispatchEvent(new Event("change", { bubbles: true }));
    item.remove();
    next?.focus();
  }

  // Refreshing: paused by the button, after 10 minutes, in a hidden tab, and while the focus is inside.
  let paused = false;
  function pause(on) {
    paused = on;
    for (const button of all("[data-pause]")) { button.setAttribute("aria-pressed", String(on)); button.textContent = on ? "Continue" : "Pause"; }
    announce(on ? "Refreshing is paused" : "Refreshing continues");
  }
  setTimeout(() => pause(true), 10 * 60 * 1000);
  for (const name of ["htmx:before:request", "htmx:beforeRequest"]) document.addEventListener(name, (event) => {
    const card = event.target;
    if (card.matches?.("[data-poll]") && (paused || document.hidden || card.contains(document.activeElement))) event.preventDefault();
  });
  for (const name of ["htmx:after:swap", "htmx:afterSwap"]) document.addEventListener(name, () => prepare(document));

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    for (const menu of all("details.who[open]")) menu.open = menu.contains(event.target);
    if (!button) return;
    if ("copy" in button.dataset) copyButton(button);
    else if ("add" in button.dataset) add(button, event);
    else if ("remove" in button.dataset) remove(button);
    else if ("pause" in button.dataset) pause(!paused);
    else if ("keysOpen" in button.dataset) showKeys();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-single-keys]")) remember("berth-single-keys", event.target.checked ? "on" : "off");
    if (event.target.matches("select[data-submit]")) event.target.form?.requestSubmit();
  });
  for (const box of all("[data-single-keys]")) box.checked = singleKeys();
  prepare(document);
})();
