// Single keys (src/keys.rs lists them). Off in fields, with modifiers, and while a dialog is open.

let first = "";
let timer = 0;
/** Where storage is barred the choice lasts as long as the page. */
let off = false;

/** Says on every switch whether single keys are on (WCAG 2.1.4). */
export function show(): void {
  for (const el of document.querySelectorAll<HTMLElement>("[data-act=keys]")) {
    el.setAttribute("aria-pressed", String(!off));
    const words = el.querySelector("span");
    if (words) words.textContent = `Single keys: ${off ? "off" : "on"}`;
  }
}

/** Switches single keys off or on again, in this browser. */
export function turn(): string {
  off = !off;
  try {
    if (off) localStorage.setItem("keys", "off");
    else localStorage.removeItem("keys");
  } catch {
    // The choice lasts as long as the page.
  }
  show();
  return `Single keys: ${off ? "off" : "on"}`;
}

function typing(el: EventTarget | null): boolean {
  return el instanceof HTMLElement && (el.isContentEditable || el.matches("input:not([type=radio],[type=checkbox]), textarea, select"));
}

function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-row]")];
}

/** What takes the focus in a row: its link, else its summary. */
function handle(row: HTMLElement): HTMLElement | null {
  return row.querySelector<HTMLElement>("th a, summary, a, button");
}

function move(by: 1 | -1): boolean {
  const all = rows();
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const next = at < 0 ? (by > 0 ? all[0] : all.at(-1)) : all[at + by];
  if (!next) return all.length > 0;
  handle(next)?.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function tab(by: 1 | -1): boolean {
  const tabs = [...document.querySelectorAll<HTMLAnchorElement>("main .tabs a")];
  const at = tabs.findIndex((a) => a.hasAttribute("aria-current"));
  const next = tabs[at + by];
  next?.click();
  return !!next;
}

function press(key: string): boolean {
  const row = document.activeElement?.closest("[data-row]");
  const inRow = row?.querySelector<HTMLElement>(`[data-row-key="${CSS.escape(key)}"]`);
  const found = inRow ?? [...document.querySelectorAll<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)].find((el) => el.checkVisibility() || el.closest(".nav"));
  if (!found) return false;
  // A box is ticked where the focus is in its row, and the focus stays.
  if (found instanceof HTMLInputElement && found.type !== "checkbox") {
    found.focus();
    found.select();
  } else found.click();
  return true;
}

function act(key: string): boolean {
  if (key === "j") return move(1);
  if (key === "k") return move(-1);
  if (key === "[") return tab(-1);
  if (key === "]") return tab(1);
  return press(key);
}

export function start(): void {
  try {
    off = localStorage.getItem("keys") === "off";
  } catch {
    // Storage is barred: they are on.
  }
  show();
  document.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
    if (e.key === "Escape" && typing(e.target) && !(e.target as HTMLElement).closest("dialog")) {
      (e.target as HTMLElement).blur();
      return;
    }
    if (off || typing(e.target) || document.querySelector("dialog[open]") || e.key.length !== 1) return;
    const key = e.key.toLowerCase();
    clearTimeout(timer);
    const chord = first ? `${first} ${key}` : key;
    first = "";
    if (key === "g" && chord === "g") {
      first = "g";
      timer = window.setTimeout(() => (first = ""), 1200);
      return;
    }
    if (act(chord)) e.preventDefault();
  });
}
