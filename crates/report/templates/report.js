"use strict";
(() => {
  const rows = [...document.querySelectorAll("#rows > tr")];
  if (rows.length === 0) return;
  const filter = document.getElementById("filter");
  const sort = document.getElementById("sort");
  const classes = [...document.querySelectorAll("input[name=class]")];
  const number = (row, key) => Number(row.getAttribute("data-" + key) ?? -Infinity);
  const byOrder = (a, b) => number(a, "order") - number(b, "order");
  const byName = (a, b) => a.dataset.name.localeCompare(b.dataset.name, undefined, { numeric: true });
  const byMost = (key) => (a, b) => number(b, key) - number(a, key) || byOrder(a, b);
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const chosen = new Set(classes.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const row of rows) {
      const text = row.cells[0].textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word)) &&
        (classes.length === 0 || chosen.has(row.dataset.class));
      row.hidden = !fits;
      const link = row.querySelector("a");
      if (link) document.querySelector(link.hash).hidden = !fits;
      if (fits) shown += 1;
    }
    document.getElementById("shown").textContent = shown + " of " + rows.length + " shown";
  };
  // A link from the table shows what it leads to.
  const unfold = () => {
    const folded = location.hash && document.getElementById(location.hash.slice(1))?.querySelector("details:not(.facts)");
    if (folded) folded.open = true;
  };
  const arrange = () => {
    const body = document.getElementById("rows");
    const order = { order: byOrder, name: byName }[sort.value] ?? byMost(sort.value);
    body.append(...[...rows].sort(order));
  };
  filter.addEventListener("input", show);
  sort.addEventListener("change", arrange);
  for (const box of classes) box.addEventListener("change", show);
  addEventListener("hashchange", unfold);
  unfold();
  const controls = document.getElementById("controls");
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.hidden = false;
  show();
})();
