// Dialogs: fetched into #dialog, shown as modal, closed back to where the focus was.

import { say, toast } from "./say";

let opener: HTMLElement | null = null;
let away = "/";

const host = () => document.getElementById("dialog");
const live = () => host()?.querySelector<HTMLDialogElement>("dialog") ?? null;

export function remember(el: Element | null): void {
  if (el instanceof HTMLElement && !host()?.contains(el)) opener = el;
}

/** Shows what was put into #dialog. */
export function show(): void {
  const dialog = live();
  if (!dialog) return;
  dialog.removeAttribute("open");
  away = dialog.querySelector<HTMLAnchorElement>("a[data-act=close]")?.href ?? away;
  dialog.showModal();
  const field = dialog.querySelector<HTMLElement>("[aria-invalid=true], [autofocus]");
  field?.focus();
  dialog.addEventListener("close", close, { once: true });
}

export function close(): void {
  const at = host();
  if (!at?.firstChild) return;
  // The page was only the dialog: there is nothing behind it to go back to.
  if (document.querySelector("main[inert]")) return location.assign(away);
  at.replaceChildren();
  opener?.focus();
  opener = null;
}

/** A link or button that closes; false where the link must be followed, because the dialog is the page. */
export function closes(): boolean {
  const dialog = live();
  if (!dialog?.matches(":modal")) return false;
  dialog.close();
  return true;
}

function filename(header: string | null): string {
  const star = /filename\*=UTF-8''([^;]+)/i.exec(header ?? "");
  if (star?.[1]) {
    try {
      return decodeURIComponent(star[1]);
    } catch {
      // Falls back to the plain form.
    }
  }
  return /filename="?([^";]+)"?/i.exec(header ?? "")?.[1] ?? "kubeconfig";
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A link that leads away from a form takes the reason and ticket along that were typed. */
export function carry(link: HTMLAnchorElement): void {
  const url = new URL(link.href);
  for (const [name, value] of new FormData(link.closest("form") ?? undefined)) {
    if ((name === "reason" || name === "ticket") && value) url.searchParams.set(name, String(value));
  }
  link.href = url.href;
}

/** What a person can paste into a POSIX shell as one word. */
function word(name: string): string {
  return /^[\w.,@%+=:/-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}

/** Sends a form whose answer is a file, so that the dialog can say how it went. */
export async function download(form: HTMLFormElement, ended: () => void): Promise<void> {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === "string") body.append(name, value);
  const token = form.querySelector<HTMLInputElement>("input[type=hidden]")?.value ?? "";
  let answer: Response;
  try {
    answer = await fetch(form.action, {
      method: "POST",
      body,
      credentials: "same-origin",
      redirect: "error",
      headers: { "HX-Request": "true", "HX-Target": "dialog", "X-CSRF-Token": token },
    });
  } catch {
    toast("We could not be reached. Nothing was issued; try again.", "bad");
    return;
  }
  if (answer.status === 401) return ended();
  const disposition = answer.headers.get("Content-Disposition");
  if (answer.ok && disposition) {
    const name = filename(disposition);
    save(await answer.blob(), name);
    finish(form, name);
    return;
  }
  const html = await answer.text();
  const at = host();
  if (!at || !answer.headers.get("Content-Type")?.startsWith("text/html")) {
    toast(`The answer was ${answer.status}. Nothing was issued; try again.`, "bad");
    return;
  }
  live()?.removeEventListener("close", close);
  at.innerHTML = html;
  if (live()) show();
  else close();
}

function finish(form: HTMLFormElement, name: string): void {
  const result = form.parentElement?.querySelector<HTMLElement>("[data-result]");
  if (!result) return;
  for (const el of result.querySelectorAll("[data-file]")) el.textContent = name;
  const command = result.querySelector("[data-command]");
  if (command) command.textContent = `kubectl --kubeconfig ${word(name)} get nodes`;
  form.hidden = true;
  result.hidden = false;
  result.querySelector<HTMLElement>(".btn[data-kind=primary]")?.focus();
  say(`Saved as ${name}`);
}
