// Flame graphs: which category counts, which box fills the graph, and which are found.
for (const figure of document.querySelectorAll(".flame")) {
  const form = figure.querySelector("form");
  const elements = [...figure.querySelectorAll(".boxes li")];
  const numbers = (text) => (text ? text.split(" ").map(Number) : []);
  const boxes = elements.map((element) => ({
    element,
    caller: element.dataset.caller === "" ? -1 : Number(element.dataset.caller),
    level: Number(element.style.getPropertyValue("--level")),
    slots: numbers(element.dataset.slots),
    differences: numbers(element.dataset.differences),
    title: element.title,
  }));
  const changes = numbers(figure.querySelector("[data-least-changes]")?.dataset.leastChanges);
  let zoomed = -1;
  const of = (values, category) => category === "all" ? values.reduce((a, b) => a + b, 0) : values[category];
  const isWithin = (index, box) => {
    while (index > box) index = boxes[index].caller;
    return index === box;
  };
  const show = () => {
    const category = form.elements.category.value;
    const find = form.elements.find.value.toLowerCase();
    const all = boxes.filter((box) => box.caller < 0).reduce((sum, box) => sum + of(box.slots, category), 0);
    const whole = zoomed < 0 ? all : of(boxes[zoomed].slots, category);
    let next = 0;
    let found = 0;
    for (const [index, box] of boxes.entries()) {
      const { element } = box;
      const slots = of(box.slots, category);
      const isCaller = zoomed >= 0 && index !== zoomed && isWithin(zoomed, index);
      const isShown = zoomed < 0 || isCaller || isWithin(index, zoomed);
      if (isCaller) {
        box.left = 0;
        box.width = whole;
        box.next = 0;
      } else {
        box.left = box.caller < 0 ? next : boxes[box.caller].next;
        box.width = slots;
        box.next = box.left;
        if (box.caller < 0) next += isShown ? slots : 0;
        else if (isShown) boxes[box.caller].next += slots;
      }
      element.hidden = !isShown || !(whole > 0) || !(box.width > 0);
      element.classList.toggle("outside", isCaller);
      element.style.left = 100 * box.left / whole + "%";
      element.style.width = 100 * box.width / whole + "%";
      box.isFound = find !== "" && element.textContent.toLowerCase().includes(find);
      element.classList.toggle("found", box.isFound);
      box.isBelowFound = box.isFound || (box.caller >= 0 && boxes[box.caller].isBelowFound);
      if (box.isFound && !(box.caller >= 0 && boxes[box.caller].isBelowFound)) found += slots;
      const share = category === "all" ? "" :
        " Shown: " + (100 * slots / all).toFixed(1) + " % of this category.";
      element.title = box.title + share;
      if (box.differences.length > 0) {
        const change = of(box.differences, category);
        const strength = changes.filter((least) => Math.abs(change) >= least).length;
        for (const kind of ["grew", "shrank"]) {
          for (const step of [1, 2, 3]) {
            const is = strength === step && (change > 0) === (kind === "grew");
            element.classList.toggle(kind + "-" + step, is);
          }
        }
      }
    }
    form.elements.reset.disabled = zoomed < 0;
    figure.querySelector("output").textContent =
      find === "" ? "" : "found: " + (all > 0 ? 100 * found / all : 0).toFixed(1) + " % of the slots";
  };
  const zoom = (index) => {
    zoomed = index;
    show();
  };
  const focus = (index) => {
    if (index === undefined || index < 0) return;
    for (const box of boxes) box.element.tabIndex = -1;
    elements[index].tabIndex = 0;
    elements[index].focus();
  };
  const visible = (fits) => [...boxes.keys()].filter((index) => !elements[index].hidden && fits(boxes[index]));
  elements.forEach((element, index) => {
    element.addEventListener("click", () => {
      focus(index);
      zoom(index);
    });
    element.addEventListener("keydown", (event) => {
      const { caller } = boxes[index];
      const siblings = visible((box) => box.caller === caller);
      const at = siblings.indexOf(index);
      const keys = {
        Enter: () => zoom(index),
        Escape: () => zoom(-1),
        ArrowUp: () => focus(caller),
        ArrowDown: () => focus(visible((box) => box.caller === index)[0]),
        ArrowLeft: () => focus(siblings[at - 1]),
        ArrowRight: () => focus(siblings[at + 1]),
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  });
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.reset.addEventListener("click", () => zoom(-1));
  form.hidden = false;
}
