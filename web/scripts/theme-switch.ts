// The themes in turn: as the system, light, dark, high contrast.

const ORDER = ["system", "light", "dark", "contrast"] as const;
const WORDS = { system: "as the system", light: "light", dark: "dark", contrast: "high contrast" };
type Theme = (typeof ORDER)[number];

function current(): Theme {
  const theme = document.documentElement.dataset.theme;
  return theme === "light" || theme === "dark" || theme === "contrast" ? theme : "system";
}

export function show(): void {
  const words = `Theme: ${WORDS[current()]}`;
  for (const el of document.querySelectorAll("[data-theme-words]")) el.textContent = words;
  for (const el of document.querySelectorAll<HTMLElement>("button.tool[data-act=theme]")) {
    el.title = words;
    el.setAttribute("aria-label", words);
  }
}

export function turn(): string {
  const theme = ORDER[(ORDER.indexOf(current()) + 1) % ORDER.length] ?? "system";
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem("theme");
    else localStorage.setItem("theme", theme);
  } catch {
    // Storage is barred: the choice lasts as long as the page.
  }
  show();
  return `Theme: ${WORDS[theme]}`;
}
