// Words for those who listen, and toasts for those who look.

export function say(text: string): void {
  const el = document.getElementById("said");
  if (!el) return;
  el.textContent = "";
  setTimeout(() => (el.textContent = text), 50);
}

export function fade(toast: Element): void {
  let left = 8;
  const timer = setInterval(() => {
    if (toast.matches(":hover, :focus-within")) return;
    if (--left > 0) return;
    clearInterval(timer);
    toast.remove();
  }, 1000);
}

function icon(name: string): SVGSVGElement {
  const NS = "http://www.w3.org/2000/svg";
  const sprite = document.querySelector("svg.icon use")?.getAttribute("href")?.split("#")[0] ?? "";
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(NS, "use");
  use.setAttribute("href", `${sprite}#${name}`);
  svg.append(use);
  return svg;
}

/** What a toast offers. */
export interface Action {
  words: string;
  href: string;
  act: string;
}

/** Something the person did, or that failed on the way to us. One that offers something stays. */
export function toast(text: string, tone: "ok" | "bad" | "warn" = "ok", action?: Action): void {
  const host = document.getElementById("toasts");
  if (!host) return;
  const el = document.createElement("div");
  el.className = "toast";
  el.dataset.tone = tone;
  const words = document.createElement("span");
  words.textContent = text;
  el.append(icon(tone === "ok" ? "check" : "degraded"), words);
  // A modal dialog makes everything outside it inert: the toast goes inside.
  (document.querySelector("dialog:modal") ?? host).append(el);
  if (el.parentElement !== host) el.classList.add("floating");
  if (!action) return fade(el);
  const link = document.createElement("a");
  link.className = "btn";
  link.dataset.size = "s";
  link.dataset.act = action.act;
  link.href = action.href;
  link.textContent = action.words;
  el.append(link);
}
