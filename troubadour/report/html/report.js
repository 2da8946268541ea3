(() => {
  const line = document.getElementById("timeline");
  if (!line) return;
  document.querySelector(".tools").hidden = false;
  let width = 1;
  document.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    const factor = Number(button.dataset.zoom);
    width = factor === 0 ? 1 : Math.min(12, Math.max(1, width / factor));
    line.style.width = `${100 * width}%`;
    line.style.minWidth = `${760 * width}px`;
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
