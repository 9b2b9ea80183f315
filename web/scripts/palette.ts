// The jump palette: a combobox over any page (WAI-ARIA combobox with a listbox). Asks the server as one types.

import { say } from "./say";

interface Item {
  text: string;
  note: string;
  tone: string;
  icon: string;
  href: string;
}

interface Group {
  words: string;
  items: Item[];
}

let opener: Element | null = null;
let asked: AbortController | undefined;
let timer = 0;
/** The place that was chosen with the arrows for the present letters; empty: none. */
let byHand = "";
/** The answer for the present letters has not come. */
let pending = false;
/** Enter was pressed before that answer: open its first place, in a new tab or not. */
let entered: { elsewhere: boolean } | undefined;

const sprite = () => document.querySelector("svg.icon use")?.getAttribute("href")?.split("#")[0] ?? "";

function icon(name: string): SVGSVGElement {
  const NS = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(NS, "use");
  use.setAttribute("href", `${sprite()}#${name}`);
  svg.append(use);
  return svg;
}

function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string>, ...inside: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

function option(item: Item, id: string): HTMLElement {
  const note = item.note ? [el("span", { class: "push small tone", "data-tone": item.tone }, item.note)] : [];
  return el("li", { role: "option", id, "aria-selected": "false", "data-href": item.href }, icon(item.icon), el("span", {}, item.text), ...note);
}

const options = (dialog: Element) => [...dialog.querySelectorAll<HTMLElement>("[role=option]")];

function select(dialog: Element, at: number): void {
  const all = options(dialog);
  const input = dialog.querySelector("input");
  all.forEach((one, i) => one.setAttribute("aria-selected", String(i === at)));
  const chosen = all[at];
  if (!chosen) return input?.removeAttribute("aria-activedescendant");
  input?.setAttribute("aria-activedescendant", chosen.id);
  chosen.scrollIntoView({ block: "nearest" });
}

const selected = (dialog: Element) => options(dialog).findIndex((one) => one.getAttribute("aria-selected") === "true");

function go(href: string | undefined, elsewhere: boolean): void {
  if (!href) return;
  if (elsewhere) window.open(href, "_blank", "noopener");
  else location.assign(href);
}

function show(dialog: Element, groups: Group[]): void {
  const list = dialog.querySelector("[role=listbox]");
  if (!list) return;
  let n = 0;
  list.replaceChildren(
    ...groups.map((group) =>
      el("div", { role: "group", "aria-label": group.words }, el("h3", { role: "presentation" }, group.words), ...group.items.map((item) => option(item, `jump-${n++}`))),
    ),
  );
  if (n === 0) list.replaceChildren(el("p", { class: "panel-body mute", role: "presentation" }, "No matches."));
  // An answer that comes late takes nothing away that was chosen meanwhile.
  const kept = byHand ? options(dialog).findIndex((one) => one.dataset.href === byHand) : -1;
  select(dialog, n > 0 ? Math.max(0, kept) : -1);
  pending = false;
  if (entered) return go(options(dialog)[selected(dialog)]?.dataset.href, entered.elsewhere);
  say(n === 1 ? "1 place" : `${n} places`);
}

async function ask(dialog: Element, q: string): Promise<void> {
  asked?.abort();
  asked = new AbortController();
  const address = `/api/v1/jump?q=${encodeURIComponent(q)}&from=${encodeURIComponent(location.pathname)}`;
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" }, signal: asked.signal, redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    show(dialog, ((await answer.json()) as { groups: Group[] }).groups);
  } catch (error) {
    if ((error as Error).name === "AbortError") return;
    // What cannot be searched here is searched by the page, which also knows what to say.
    show(dialog, [{ words: "Search", items: [{ text: `Search for “${q}”`, note: "", tone: "mute", icon: "search", href: `/jump?q=${encodeURIComponent(q)}` }] }]);
  }
}

function pressed(e: KeyboardEvent, dialog: HTMLDialogElement): void {
  const count = options(dialog).length;
  const at = selected(dialog);
  const choose = (to: number) => {
    select(dialog, to);
    byHand = options(dialog)[to]?.dataset.href ?? "";
  };
  if (e.key === "ArrowDown") choose(count ? (at + 1) % count : -1);
  else if (e.key === "ArrowUp") choose(count ? (at - 1 + count) % count : -1);
  else if (e.key === "PageDown") choose(Math.min(count - 1, at + 8));
  else if (e.key === "PageUp") choose(Math.max(0, at - 8));
  else if (e.key !== "Enter") return;
  // What is shown belongs to other letters.
  else if (pending && !byHand) entered = { elsewhere: e.ctrlKey || e.metaKey };
  else go(options(dialog)[at]?.dataset.href, e.ctrlKey || e.metaKey);
  e.preventDefault();
}

/** Opens the palette; pressing the keys again closes it. */
export function open(): void {
  const there = document.querySelector<HTMLDialogElement>("dialog.palette");
  if (there) return there.close();
  opener = document.activeElement;
  const input = el("input", {
    class: "input",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "jump-list",
    "aria-autocomplete": "list",
    "aria-label": "Jump to a cluster, a page or an action",
    placeholder: "Jump to a cluster, a page, an action",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "500",
  });
  const dialog = el("dialog", { class: "palette", "aria-label": "Jump", "data-testid": "palette" }, input, el("div", { id: "jump-list", role: "listbox", "aria-label": "Places" }));
  document.body.append(dialog);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    [byHand, pending, entered] = ["", true, undefined];
    timer = window.setTimeout(() => void ask(dialog, input.value), 100);
  });
  dialog.addEventListener("keydown", (e) => pressed(e, dialog));
  dialog.addEventListener("click", (e) => {
    if (e.target === dialog) dialog.close();
    else go((e.target as Element).closest<HTMLElement>("[role=option]")?.dataset.href, e.ctrlKey || e.metaKey);
  });
  dialog.addEventListener("close", () => {
    asked?.abort();
    entered = undefined;
    dialog.remove();
    if (opener instanceof HTMLElement) opener.focus();
  });
  dialog.showModal();
  [byHand, pending, entered] = ["", true, undefined];
  void ask(dialog, "");
}

export function start(): void {
  document.addEventListener("keydown", (e) => {
    if (e.key.toLowerCase() !== "k" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
    // Another dialog asks something first.
    if (document.querySelector("dialog:modal:not(.palette)")) return;
    e.preventDefault();
    open();
  });
}
