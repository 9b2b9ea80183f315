// The session is over: a dialog over the page that keeps what was typed.

import { toast, type Action } from "./say";

const KEPT = "kept";
/** The end is told so long before it, seconds. */
const WARN = 300;
/** A page that is attended renews its session when nothing else did for so long, seconds. */
const RENEW = 600;

let lastUse = Date.now();
let lastTouch = Date.now();
let absolute = Infinity;
let idle = Infinity;
let warned = "";

/** Any answer of ours renewed the session. */
export function used(): void {
  lastUse = Date.now();
}

/** Uses the session and learns when it ends; false when it is over. */
async function renew(): Promise<boolean> {
  try {
    const answer = await fetch("/api/info", { headers: { Accept: "application/json" }, redirect: "error" });
    if (answer.status === 401) {
      ended();
      return false;
    }
    const info = (await answer.json()) as { session_ends?: string; session_idle_seconds?: number };
    absolute = info.session_ends ? Date.parse(info.session_ends) : Infinity;
    idle = info.session_idle_seconds ? info.session_idle_seconds * 1000 : Infinity;
    used();
    return true;
  } catch {
    // Away: whatever asks next says so.
    return true;
  }
}

function warn(kind: string, action: Action): void {
  if (warned === kind) return;
  warned = kind;
  toast("Your session ends in 5 min.", "warn", action);
}

async function check(): Promise<void> {
  const now = Date.now();
  const attended = now - lastTouch < RENEW * 1000;
  if (!document.hidden && attended && now - lastUse > RENEW * 1000) await renew();
  if (absolute - now < WARN * 1000) {
    const href = `/api/login?redirect_uri=${encodeURIComponent(location.pathname + location.search)}`;
    if (now > absolute) await renew();
    else warn("absolute", { words: "Sign in again", href, act: "sign-in-form" });
  } else if (now - lastUse > idle - WARN * 1000) {
    if (now - lastUse > idle) await renew();
    else warn("idle", { words: "Stay", href: "#main", act: "stay" });
  } else warned = "";
}

/** The person wants to stay: the session is used, and the toast goes. */
export function stay(button: HTMLElement): void {
  button.closest(".toast")?.remove();
  void renew();
}

/** Watches the session's end: told before it comes, renewed without a word while somebody is at the page. */
export function watch(): void {
  if (!document.querySelector("[data-testid=person]")) return;
  for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, () => (lastTouch = Date.now()), { passive: true });
  setTimeout(() => void renew(), 20_000);
  setInterval(() => void check(), 30_000);
}

export function ended(): void {
  const dialog = document.getElementById("session") as HTMLDialogElement | null;
  if (!dialog || dialog.matches(":modal")) return;
  const link = dialog.querySelector<HTMLAnchorElement>("[data-act=sign-in]");
  const here = location.pathname + location.search;
  if (link && here !== "/") link.href = `/api/login?redirect_uri=${encodeURIComponent(here)}`;
  keep(dialog);
  dialog.removeAttribute("open");
  dialog.showModal();
}

/** Shows the longest text that is in a field of the page, but never a secret one. */
function keep(dialog: HTMLElement): void {
  const fields = [...document.querySelectorAll<HTMLTextAreaElement>("textarea:not([name=kubeconfig], [hidden])")];
  const text = fields.map((f) => f.value.trim()).sort((a, b) => b.length - a.length)[0] ?? "";
  const box = dialog.querySelector<HTMLElement>("#session-kept");
  const pre = box?.querySelector("pre");
  if (!text || !box || !pre) return;
  pre.textContent = text;
  box.hidden = false;
  try {
    sessionStorage.setItem(KEPT, text);
  } catch {
    // Storage is barred: it stands in the dialog, to be copied.
  }
}

/** After sign-in: puts the kept text into the first empty reason, once. */
export function restore(at: ParentNode): void {
  const field = at.querySelector<HTMLTextAreaElement>("textarea[name=reason]");
  if (!field || field.value) return;
  try {
    const text = sessionStorage.getItem(KEPT);
    if (text) field.value = text;
    sessionStorage.removeItem(KEPT);
  } catch {
    // Storage is barred.
  }
}

const FORM = "form:";

const keyOf = (form: HTMLFormElement) => FORM + new URL(form.action, location.href).pathname;

/**
 * What stands in a form that is sent, or that is left for a sign-in: a session that is over must not cost what was
 * typed. Forms that hold a secret do not ask for it (`data-keep`).
 */
export function keepForm(at: HTMLElement): void {
  const form = at.closest<HTMLFormElement>("form") ?? document.querySelector<HTMLFormElement>("form[data-keep]");
  if (form?.dataset.keep === undefined) return;
  const kept = [...new FormData(form)].filter(([name, value]) => typeof value === "string" && name !== "csrf_token");
  try {
    sessionStorage.setItem(keyOf(form), JSON.stringify(kept));
  } catch {
    // Storage is barred: the address carries what fits into it.
  }
}

function fill(form: HTMLFormElement, kept: [string, string][]): void {
  for (const [name, value] of kept) {
    for (const field of form.querySelectorAll<HTMLInputElement>(`[name="${CSS.escape(name)}"]`)) {
      if (field.type === "radio" || field.type === "checkbox") field.checked ||= field.value === value;
      else if (field.type !== "hidden" && !field.value) field.value = value;
    }
  }
}

/** On the next page: puts it back where the form is, once; anywhere else it has been sent. */
export function restoreForms(): void {
  try {
    for (const form of document.querySelectorAll<HTMLFormElement>("form[data-keep]")) {
      fill(form, JSON.parse(sessionStorage.getItem(keyOf(form)) ?? "[]"));
    }
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(FORM)) sessionStorage.removeItem(key);
  } catch {
    // Storage is barred, or holds what is not ours.
  }
}
