// The script of every page. Pages work without it; it makes them live.

import "htmx.org";
import * as dialog from "./dialog";
import * as invalid from "./invalid";
import * as keys from "./keys";
import * as live from "./live";
import * as palette from "./palette";
import * as pick from "./pick";
import * as poll from "./poll";
import { fade, say, toast } from "./say";
import * as session from "./session";
import * as theme from "./theme-switch";
import * as time from "./time";

async function copy(text: string, button: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    toast("The browser does not let us copy. Select the text instead.", "bad");
    return;
  }
  const words = button.querySelector("span");
  const before = words?.textContent;
  button.dataset.done = "";
  if (words) words.textContent = "Copied";
  else toast("Copied");
  say("Copied");
  setTimeout(() => {
    delete button.dataset.done;
    if (words && before) words.textContent = before;
  }, 2000);
}

function clicked(e: MouseEvent): void {
  const target = e.target as Element;
  for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")) {
    if (!menu.contains(target)) menu.open = false;
  }
  const button = target.closest<HTMLElement>("[data-act], [data-copy]");
  if (!button) return;
  if (button.dataset.copy !== undefined) void copy(button.dataset.copy, button);
  else if (button.dataset.act === "theme") say(theme.turn());
  else if (button.dataset.act === "copy-previous") void copy(button.previousElementSibling?.textContent ?? "", button);
  else if (button.dataset.act === "keys") say(keys.turn());
  else if (button.dataset.act === "print") window.print();
  else if (button.dataset.act === "pause") say(poll.pause(button));
  else if (button.dataset.act === "stay") session.stay(button);
  else if (button.dataset.act === "palette") {
    e.preventDefault();
    palette.open();
  }
  else if (button.dataset.act === "sign-in-form") session.keepForm(button);
  else if (button.dataset.act === "carry") dialog.carry(button as HTMLAnchorElement);
  else if (button.dataset.act === "close" && dialog.closes()) e.preventDefault();
}

/** A form that runs says so, and takes no second press. */
function submitted(e: SubmitEvent): void {
  const form = e.target as HTMLFormElement;
  if (form.method !== "post") return;
  if (form.dataset.running !== undefined) {
    e.preventDefault();
    return;
  }
  form.dataset.running = "";
  session.keepForm(form);
  const button = form.querySelector<HTMLElement>("button[data-running]");
  const words = button?.querySelector("span");
  const before = words?.textContent ?? "";
  if (button && words) {
    button.setAttribute("aria-disabled", "true");
    words.textContent = button.dataset.running ?? before;
  }
  const done = () => {
    delete form.dataset.running;
    button?.removeAttribute("aria-disabled");
    if (words) words.textContent = before;
  };
  if (form.dataset.download !== undefined) {
    e.preventDefault();
    void dialog.download(form, session.ended).finally(done);
  } else {
    // Back from the bfcache, or a download that leaves the page standing.
    window.addEventListener("pageshow", done, { once: true });
  }
}

function escape(e: KeyboardEvent): void {
  if (e.key !== "Escape") return;
  const menu = document.querySelector<HTMLDetailsElement>("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector<HTMLElement>("summary")?.focus();
}

function swapped(e: Event): void {
  // Back and Forward swap without naming a target.
  const named = (e as CustomEvent<{ target?: Element }>).detail?.target;
  const target = named ?? (e.target instanceof Element ? e.target : document.body);
  time.tick(true);
  theme.show();
  keys.show();
  poll.mark();
  poll.title();
  live.find();
  pick.tell();
  if (poll.fell()) toast("Your elevation has ended. Grants taken under it only read now.", "warn");
  if (target.id === "dialog") {
    dialog.show();
    session.restore(target);
  }
  const count = target.querySelector("[data-say]")?.textContent ?? "";
  if (count && count !== said) say(count);
  said = count;
}

let said = document.querySelector("[data-say]")?.textContent ?? "";

function failed(e: Event): void {
  const status = (e as CustomEvent<{ xhr?: XMLHttpRequest }>).detail.xhr?.status ?? 0;
  if (status === 401) session.ended();
  else if (status === 0) toast("We could not be reached. What you see may be old.", "bad");
}

/** Long text whose end matters is opened there, unless the address names a line of it. */
function ends(): void {
  if (location.hash) return;
  for (const el of document.querySelectorAll("[data-at-end]")) el.scrollTop = el.scrollHeight;
}

function start(): void {
  ends();
  time.start();
  keys.start();
  invalid.start();
  palette.start();
  pick.start();
  theme.show();
  session.restore(document);
  session.restoreForms();
  poll.start();
  live.start();
  session.watch();
  for (const el of document.querySelectorAll(".toast")) fade(el);
  document.addEventListener("click", clicked);
  document.addEventListener("submit", submitted);
  document.addEventListener("keydown", escape);
  const body = document.body;
  body.addEventListener("htmx:beforeRequest", (e) => {
    const { elt, target } = (e as CustomEvent<{ elt: Element; target: Element }>).detail;
    if (target?.id === "dialog") dialog.remember(elt);
  });
  body.addEventListener("htmx:afterSwap", swapped);
  body.addEventListener("htmx:afterRequest", session.used);
  body.addEventListener("htmx:responseError", failed);
  body.addEventListener("htmx:sendError", failed);
  body.addEventListener("htmx:timeout", () => toast("No answer within 35 s. What you see may be old.", "bad"));
}

start();
