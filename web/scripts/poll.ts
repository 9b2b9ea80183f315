// Parts that ask whether they have changed: `data-poll` is the number of seconds between two questions,
// which htmx sends at the event `poll`. Unattended pages stop asking, so that a session can end unused.

const ATTENDED = 15 * 60_000;

let last = Date.now();
let second = 0;
let elevated = false;

function ask(): void {
  second += 1;
  if (document.hidden || Date.now() - last > ATTENDED || document.querySelector("dialog:modal")) return;
  for (const el of document.querySelectorAll<HTMLElement>("[data-poll]")) {
    const every = Number(el.dataset.poll);
    if (every > 0 && second % every === 0 && !el.classList.contains("htmx-request")) el.dispatchEvent(new CustomEvent("poll"));
  }
}

/** Whether an elevation has just ended; also keeps the icon of the browser's tab. */
export function fell(): boolean {
  const now = !!document.querySelector("#elevation .elevated");
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  const mark = document.querySelector<HTMLElement>("#elevation")?.dataset[now ? "iconOn" : "iconOff"];
  if (now !== elevated && icon && mark) icon.href = mark;
  const over = elevated && !now;
  elevated = now;
  return over;
}

export function start(): void {
  elevated = !!document.querySelector("#elevation .elevated");
  for (const kind of ["pointerdown", "keydown", "wheel"]) document.addEventListener(kind, () => (last = Date.now()), { passive: true });
  setInterval(ask, 1000);
}
