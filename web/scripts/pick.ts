// Clusters that are ticked in the list: how many, all of the page at once.

const boxes = () => [...document.querySelectorAll<HTMLInputElement>("input[name=pick]")];

export function tell(): void {
  const all = boxes();
  const ticked = all.filter((box) => box.checked);
  for (const box of all) box.closest("tr")?.setAttribute("aria-selected", String(box.checked));
  const words = document.querySelector<HTMLElement>("[data-picked]");
  const whole = document.querySelector<HTMLInputElement>("[data-act=pick-all]");
  if (whole) {
    whole.checked = all.length > 0 && ticked.length === all.length;
    whole.indeterminate = ticked.length > 0 && ticked.length < all.length;
  }
  const none = document.querySelector<HTMLElement>("[data-pick-none]");
  if (none) none.hidden = ticked.length === 0;
  if (!words) return;
  if (!words.dataset.none) words.dataset.none = words.textContent ?? "";
  words.textContent = ticked.length ? `${ticked.length} chosen` : words.dataset.none;
}

export function start(): void {
  document.addEventListener("change", (e) => {
    const box = e.target as HTMLInputElement;
    if (box.dataset?.act === "pick-all") for (const one of boxes()) one.checked = box.checked;
    if (box.dataset?.act === "pick-all" || box.name === "pick") tell();
  });
  document.addEventListener("click", (e) => {
    if (!(e.target as Element).closest("[data-act=pick-none]")) return;
    for (const box of boxes()) box.checked = false;
    tell();
    boxes()[0]?.focus();
  });
  tell();
}
