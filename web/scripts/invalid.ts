// What is wrong with a field is said under it: the browser's own bubble would cover the hint.

let made = 0;

/** The element under a field that says what is wrong; the server's own, where its answer has one. */
function place(field: HTMLInputElement): HTMLElement {
  const around = field.closest<HTMLElement>(".field, fieldset") ?? field.parentElement ?? field;
  const there = around.querySelector<HTMLElement>(".field-error");
  if (there) return there;
  const told = document.createElement("p");
  told.className = "field-error";
  told.id = `invalid-${(made += 1)}`;
  told.dataset.testid = "field-error";
  around.append(told);
  return told;
}

function refuse(e: Event): void {
  const field = e.target as HTMLInputElement;
  if (!field.form) return;
  e.preventDefault();
  const told = place(field);
  told.textContent = field.validationMessage;
  field.setAttribute("aria-invalid", "true");
  const before = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== told.id);
  if (told.id) field.setAttribute("aria-describedby", [told.id, ...before].join(" "));
  // The first of them takes the focus, as with the browser's own.
  if (field.form.querySelector(":invalid:not(fieldset)") === field) field.focus();
  field.addEventListener("input", () => accept(field, told), { once: true });
}

function accept(field: HTMLInputElement, told: HTMLElement): void {
  told.remove();
  clear(field, told.id);
  // Radio buttons of one name are refused and accepted together.
  const group = field.form?.elements.namedItem(field.name);
  if (group instanceof RadioNodeList) group.forEach((one) => one instanceof HTMLElement && clear(one, told.id));
}

/** Takes back that a field is wrong, and the reference to the text that said so. */
function clear(field: HTMLElement, told: string): void {
  field.removeAttribute("aria-invalid");
  const rest = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== told);
  if (rest.length > 0) field.setAttribute("aria-describedby", rest.join(" "));
  else field.removeAttribute("aria-describedby");
}

export function start(): void {
  // The event does not bubble.
  document.addEventListener("invalid", refuse, true);
}
