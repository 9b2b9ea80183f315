// The session is over: a dialog over the page that keeps what was typed.

const KEPT = "kept";

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
  const fields = [...document.querySelectorAll<HTMLTextAreaElement>("textarea:not([name=kubeconfig])")];
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
