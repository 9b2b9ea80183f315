// Parts that ask whether they have changed: `data-poll` is the number of seconds between two questions,
// which htmx sends at the event `poll`. A page that is not in view asks only what its title tells (`data-unseen`). Unattended pages stop asking, so that a session can end unused.

const ATTENDED = 15 * 60_000;

let last = Date.now();
let second = 0;
let elevated = false;
let paused = false;

/** Whether somebody is at work in the part that would be replaced: a field, a row, a menu, ticks. */
function busy(): boolean {
  const main = document.getElementById("main");
  if (!main) return false;
  const at = document.activeElement;
  return (at !== main && main.contains(at)) || !!main.querySelector("input[name=pick]:checked, details.menu[open]");
}

/** Stops asking, or goes on; `paused` on the body tells what else refreshes. */
export function pause(button: HTMLElement): string {
  paused = !paused;
  mark();
  document.body.dispatchEvent(new CustomEvent("paused", { detail: paused }));
  button.blur();
  return paused ? "Refreshing is paused" : "Refreshing resumed";
}

/** Puts the state of the pause on its buttons, which are new after a swap. */
export function mark(): void {
  const words = paused ? "Resume refreshing (P)" : "Pause refreshing (P)";
  for (const el of document.querySelectorAll<HTMLElement>("[data-act=pause]")) {
    el.setAttribute("aria-pressed", String(paused));
    el.title = words;
    el.setAttribute("aria-label", words);
    const use = el.querySelector("use");
    use?.setAttribute("href", (use.getAttribute("href") ?? "").replace(/#.*/, paused ? "#play" : "#pause"));
    el.closest<HTMLElement>(".live")?.setAttribute("data-tone", paused ? "mute" : "ok");
  }
}

/** Whether somebody was at the page of late. */
export function attended(): boolean {
  return Date.now() - last <= ATTENDED;
}

function ask(): void {
  second += 1;
  if (Date.now() - last > ATTENDED || paused || document.querySelector("dialog:modal")) return;
  for (const el of document.querySelectorAll<HTMLElement>(document.hidden ? "[data-unseen]" : "[data-poll]")) {
    const every = Number(el.dataset.poll);
    if (el.dataset.calm !== undefined && busy()) continue;
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

/** Puts the number of requests that wait for a decision before the title, as the server does. */
export function title(): void {
  const waiting = document.querySelector("#nav-waiting .count")?.firstChild?.textContent ?? "";
  const plain = document.title.replace(/^\(\d+\) /, "");
  const wanted = waiting ? `(${waiting}) ${plain}` : plain;
  if (document.title !== wanted) document.title = wanted;
}

export function start(): void {
  elevated = !!document.querySelector("#elevation .elevated");
  for (const kind of ["pointerdown", "keydown", "wheel"]) document.addEventListener(kind, () => (last = Date.now()), { passive: true });
  setInterval(ask, 1000);
}
