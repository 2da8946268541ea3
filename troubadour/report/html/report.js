(() => {
  const line = document.getElementById("timeline");
  if (!line) return;
  line.closest("section").querySelector(".tools").hidden = false;
  let width = 1;
  document.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    const factor = Number(button.dataset.zoom);
    width = factor === 0 ? 1 : Math.min(12, Math.max(1, width / factor));
    line.style.width = `${100 * width}%`;
    line.style.minWidth = `${1000 * width}px`;
  }));
  const session = document.getElementById("session");
  const core = document.getElementById("only-core");
  const filter = () => line.querySelectorAll(".transaction").forEach((bar) => {
    const away = (session && session.value && bar.dataset.session !== session.value)
      || (core && core.checked && !bar.classList.contains("core"));
    bar.classList.toggle("dim", Boolean(away));
  });
  if (session) session.addEventListener("change", filter);
  if (core) core.addEventListener("change", filter);
})();
(() => {
  const part = document.getElementById("steps");
  if (!part) return;
  const tools = document.getElementById("stepping");
  const steps = [...part.querySelectorAll(".step")];
  const all = document.getElementById("all-steps");
  const told = tools.querySelector("[role=status]");
  let at = 0;
  const show = () => {
    steps.forEach((step, number) => step.classList.toggle("now", number === at));
    part.classList.toggle("stepping", !all.checked);
    told.textContent = all.checked ? "" : `step ${at + 1} of ${steps.length}`;
    tools.querySelectorAll("button").forEach((button) => {
      button.disabled = all.checked || !steps[at + Number(button.dataset.step)];
    });
  };
  const move = (by) => {
    if (all.checked || !steps[at + by]) return false;
    at += by;
    show();
    return true;
  };
  const follow = () => {
    const found = steps.findIndex((step) => `#${step.id}` === location.hash);
    if (found >= 0) { at = found; show(); }
  };
  tools.hidden = steps.length < 2;
  tools.querySelectorAll("button").forEach((button) => {
    button.addEventListener("click", () => move(Number(button.dataset.step)));
  });
  all.addEventListener("change", show);
  window.addEventListener("hashchange", follow);
  document.addEventListener("keydown", (event) => {
    const by = { n: 1, p: -1 }[event.key];
    const arrow = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select")) return;
    // the arrows scroll what scrolls sideways
    if (by ? move(by) : arrow && !event.target.closest(".scroll") && move(arrow)) event.preventDefault();
  });
  show();
  follow();
})();
