// The page of a queue. The server renders everything, so this only follows changes, selects rows, and sends actions.
"use strict";

const base = document.body.dataset.base;
const api = base + "/api/v1/";
const live = document.getElementById("live");
const ofDownload = document.querySelector("main").dataset.download;
const isReadOnly = !document.getElementById("confirm");

// Times in the reader's zone.

function showTimes(root) {
  for (const element of root.querySelectorAll("time")) {
    const date = new Date(element.dateTime);
    const isToday = date.toDateString() === new Date().toDateString();
    element.textContent = isToday ? date.toLocaleTimeString() : date.toLocaleString();
    element.title = date.toString();
  }
}

// Refreshing: fetches this page again, and replaces the parts that differ. Rows keep their check boxes and the focus.

const parts = ["states", "alerts", "activity", "running", "rows", "pages", "hosts", "workers", "facts", "members", "events"];
const shown = new Map();
let isRefreshing = false, wantsAnother = false, refreshedAt = 0;

function remember(root) {
  for (const id of parts) {
    const part = root.getElementById(id);
    if (part) shown.set(id, part.innerHTML);
  }
}

async function refresh() {
  if (document.hidden) { wantsAnother = true; return; }
  if (isRefreshing) { wantsAnother = true; return; }
  isRefreshing = true;
  try {
    // At most once a second, whatever happens in the queue.
    const rest = refreshedAt + 1000 - Date.now();
    if (rest > 0) await new Promise(done => setTimeout(done, rest));
    wantsAnother = false;
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    refreshedAt = Date.now();
    if (response.status === 401) { location.reload(); return; }
    if (!response.ok) throw new Error("The server answered " + response.status + ".");
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const id of parts) {
      const part = fresh.getElementById(id), old = document.getElementById(id);
      if (!part || !old || shown.get(id) === part.innerHTML) continue;
      shown.set(id, part.innerHTML);
      if (id === "rows" && old.querySelector("tbody") && part.querySelector("tbody")) {
        replaceRows(old.querySelector("tbody"), part.querySelector("tbody"));
      } else {
        showTimes(part);
        old.replaceChildren(...part.childNodes);
      }
    }
    updateSelection();
  } catch (error) {
    say("The page isn't up to date: " + error.message);
  } finally {
    isRefreshing = false;
    if (wantsAnother && !document.hidden) refresh();
  }
}

function replaceRows(body, fresh) {
  const old = new Map([...body.rows].map(row => [row.id, row]));
  const rows = [...fresh.rows].map(row => {
    const before = old.get(row.id);
    const text = row.innerHTML;
    if (before && before.dataset.text === text) return before;
    row.dataset.text = text;
    showTimes(row);
    if (!before) return row;
    // The cells change, the row and its check box stay.
    before.classList.toggle("failed", row.classList.contains("failed"));
    before.classList.toggle("cancelled", row.classList.contains("cancelled"));
    before.dataset.text = text;
    [...row.cells].forEach((cell, index) => {
      if (!cell.querySelector("input") && before.cells[index].innerHTML !== cell.innerHTML && !before.cells[index].contains(document.activeElement)) {
        before.cells[index].replaceWith(cell);
      }
    });
    return before;
  });
  const gone = new Set(old.values());
  rows.forEach((row, index) => {
    gone.delete(row);
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null);
  });
  gone.forEach(row => row.remove());
}

// Following changes. Browsers open about six connections to a server, so one tab follows for all of them, if the browser lets it.

const channel = "BroadcastChannel" in window ? new BroadcastChannel("sluice " + base) : null;

function say(text) { if (live.textContent !== text) live.textContent = text; }

function handle(message) {
  if (message.kind === "open") say(isReadOnly ? "Read-only, live" : "Live");
  if (message.kind === "lost") say("Reconnecting…");
  if (message.kind === "problem") say("The queue can't be read: " + message.text);
  if (message.kind === "change") {
    if (live.textContent.startsWith("The queue")) say("Live");
    refresh();
  }
}

function follow() {
  const tell = message => { handle(message); channel?.postMessage(message); };
  const source = new EventSource(api + "stream");
  let last = "";
  source.onopen = () => { tell({ kind: "open" }); tell({ kind: "change" }); };
  source.onerror = () => {
    tell({ kind: "lost" });
    // After a refusal, the browser doesn't try again.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { source.close(); poll(tell); }, 5000);
  };
  source.addEventListener("change", event => {
    const data = JSON.parse(event.data);
    const counts = JSON.stringify(data.counts);
    // Without an event, only the progress of running downloads can have changed.
    if (data.events.length || data.counts.running || last && counts !== last) tell({ kind: "change" });
    last = counts;
  });
  source.addEventListener("reset", () => tell({ kind: "change" }));
  source.addEventListener("problem", event => tell({ kind: "problem", text: JSON.parse(event.data).message }));
}

function poll(tell) {
  say("Updated every 10 seconds");
  setInterval(() => tell({ kind: "change" }), 10000);
}

if (channel) channel.onmessage = event => handle(event.data);
if (channel && navigator.locks) {
  // The lock is held until the tab closes. Then another tab gets it.
  navigator.locks.request("sluice " + base, () => { follow(); return new Promise(() => {}); });
  say("Live");
} else if (window.EventSource) {
  follow();
} else {
  poll(handle);
}
// A worker that stops reporting is no event.
setInterval(refresh, 10000);
document.addEventListener("visibilitychange", () => { if (!document.hidden && wantsAnother) refresh(); });

// Selecting.

const rows = document.getElementById("rows");
const everything = document.getElementById("all");

function boxes() { return rows ? [...rows.querySelectorAll("tbody input")] : []; }

function selectedIDs() { return boxes().filter(box => box.checked).map(box => Number(box.closest("tr").id.slice(1))); }

function updateSelection() {
  if (!rows || isReadOnly) return;
  const count = selectedIDs().length;
  for (const box of boxes()) {
    const row = box.closest("tr");
    box.ariaLabel = "Select " + row.querySelector(".f a").textContent;
    row.classList.toggle("selected", box.checked || everything.checked);
  }
  const text = everything.checked ? "All that match are selected." : count ? count + " selected." : "Nothing is selected.";
  const label = document.getElementById("selected");
  if (label.textContent !== text) label.textContent = text;
  for (const button of document.querySelectorAll("#toolbar button")) button.disabled = !count && !everything.checked;
}

if (rows && !isReadOnly) {
  let lastBox = null;
  rows.addEventListener("click", event => {
    const box = event.target.closest("tbody input");
    if (!box) return;
    // Shift selects a range.
    if (event.shiftKey && lastBox) {
      const all = boxes(), [from, to] = [all.indexOf(lastBox), all.indexOf(box)].sort((a, b) => a - b);
      if (from >= 0) all.slice(from, to + 1).forEach(one => { one.checked = box.checked; });
    }
    lastBox = box;
    updateSelection();
  });
  everything.addEventListener("change", updateSelection);
}

// Actions.

const names = {
  pause: ["Pause", "Paused"], resume: ["Resume", "Resumed"], cancel: ["Cancel", "Cancelled"], retry: ["Retry", "Retried"],
  remove: ["Remove", "Removed"], prioritize: ["Change the priority of", "Changed the priority of"],
};
const downloads = count => count === 1 ? "1 download" : count.toLocaleString() + " downloads";

async function send(path, value) {
  const response = await fetch(api + path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value),
  });
  const result = await response.json();
  if (!response.ok) throw new Error(result.message);
  return result;
}

function currentFilter() {
  const filter = {};
  for (const [name, value] of new URLSearchParams(location.search)) if (name !== "after" && value) filter[name] = value;
  return filter;
}

function ask(question, asksPriority) {
  const dialog = document.getElementById("confirm");
  const priority = document.getElementById("priority");
  document.getElementById("question").textContent = question;
  priority.hidden = !asksPriority;
  dialog.returnValue = "no";
  dialog.showModal();
  if (asksPriority) priority.querySelector("input").focus();
  return new Promise(done => dialog.addEventListener("close", () => {
    done(dialog.returnValue === "yes" ? Number(priority.querySelector("input").value) || 0 : null);
  }, { once: true }));
}

async function act(action) {
  const change = { action };
  if (ofDownload) change.ids = [Number(ofDownload)];
  else if (everything.checked) change.filter = currentFilter();
  else change.ids = selectedIDs();
  try {
    const priority = action === "prioritize" ? { priority: 0 } : {};
    const count = (await send("changes", { ...change, ...priority, isPreview: true })).changedCount;
    if (!count) { say("There is nothing to change."); return; }
    const answer = await ask(names[action][0] + " " + downloads(count) + "?", action === "prioritize");
    if (answer === null) return;
    if (action === "prioritize") change.priority = answer;
    const result = await send("changes", change);
    const stopping = result.stoppingCount ? " " + downloads(result.stoppingCount) + " will stop in a moment." : "";
    say(names[action][1] + " " + downloads(result.changedCount) + "." + stopping);
    if (everything) everything.checked = false;
    for (const box of boxes()) box.checked = false;
    if (ofDownload && action === "remove") location.href = base + "/";
    else refresh();
  } catch (error) {
    say(error.message);
  }
}

const toolbar = document.getElementById("toolbar");
if (toolbar) {
  toolbar.hidden = false;
  toolbar.addEventListener("click", event => {
    const action = event.target.dataset?.action;
    if (action) act(action);
  });
}

const addForm = document.querySelector("#add form");
addForm?.addEventListener("submit", async event => {
  event.preventDefault();
  const status = addForm.querySelector("[role=status]");
  const fields = Object.fromEntries(new FormData(addForm));
  const urls = fields.urls.split("\n").map(line => line.trim()).filter(Boolean);
  try {
    const result = await send("downloads", {
      batch: fields.batch,
      downloads: urls.map(url => ({
        url, user: fields.user, directory: fields.directory, priority: Number(fields.priority) || 0,
      })),
    });
    const count = admission => result.downloads.filter(one => one.admission === admission).length;
    const notes = [["joined", "already there"], ["kept", "already done"], ["conflict", "refused, because another download writes the file"]];
    status.textContent = [downloads(count("added")) + " added",
      ...notes.filter(([name]) => count(name)).map(([name, text]) => count(name) + " " + text)].join(", ") + ".";
    addForm.querySelector("textarea").value = "";
    refresh();
  } catch (error) {
    status.textContent = error.message;
  }
});

// Keys: / goes to the search field.
document.addEventListener("keydown", event => {
  if (event.key !== "/" || event.target.closest("input, textarea, dialog")) return;
  const search = document.querySelector("input[type=search]");
  if (!search) return;
  event.preventDefault();
  search.focus();
});

remember(document);
for (const row of document.querySelectorAll("#rows tbody tr")) row.dataset.text = row.innerHTML;
showTimes(document);
updateSelection();
