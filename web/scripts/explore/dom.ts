// Small builders for what scripts put into the page. Text from outside only ever becomes text nodes.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((e: Event) => void)>;

const SVG = "http://www.w3.org/2000/svg";

function fill(el: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") el.addEventListener(name, value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  el.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
}

/** An element with attributes (functions are listeners) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  fill(el, attributes, children);
  return el;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const el = document.createElementNS(SVG, tag) as SVGElement;
  fill(el, attributes, children);
  return el;
}

let sprite = "";

/** An icon of the page's sprite. */
export function icon(name: string): SVGElement {
  sprite ||= document.querySelector("svg.icon use")?.getAttribute("href")?.split("#")[0] ?? "";
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `${sprite}#${name}` }));
}

/** A button of only an icon. */
export function tool(name: string, label: string, press: () => void, more: Attributes = {}): HTMLButtonElement {
  return h("button", { class: "tool", type: "button", "aria-label": label, title: label, click: press, ...more }, icon(name));
}

// The same set as `text::steers` of the server: what changes how others are shown.
const STEERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u115f\u1160\u3164\uffa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;

/** Text from outside: isolated, cut, with characters that steer a screen made visible. */
export function shown(text: string, limit = 300): HTMLElement {
  const bdi = h("bdi");
  let plain = "";
  let count = 0;
  for (const c of text) {
    if (++count > limit) break;
    if (!STEERS.test(c)) {
      plain += c;
      continue;
    }
    bdi.append(plain, h("span", { class: "ctl" }, `U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`));
    plain = "";
  }
  bdi.append(plain);
  if (count > limit) bdi.append(h("span", { class: "mute" }, `… (${text.length.toLocaleString("en")} characters)`));
  return bdi;
}

/** The same as plain text, for titles, labels and canvases. */
export function plain(text: string, limit = 300): string {
  let out = "";
  let count = 0;
  for (const c of text) {
    if (++count > limit) return `${out}…`;
    out += STEERS.test(c) ? `[U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]` : c;
  }
  return out;
}

export function notice(tone: string, lead: string, text: string, ...acts: Child[]): HTMLElement {
  const shape = { bad: "failed", warn: "degraded", ok: "ok" }[tone] ?? "info";
  return h("div", { class: "notice", "data-tone": tone }, icon(shape), h("div", {}, h("b", {}, lead), " ", shown(text, 2000)), ...acts);
}

/** Nothing to show, and why. */
export function blank(name: string, tone: string, head: string, ...more: Child[]): HTMLElement {
  return h("div", { class: "blank", "data-tone": tone }, icon(name), h("p", {}, h("b", {}, head)), ...more.map((m) => (m ? h("p", {}, m) : null)));
}

export const num = (n: number): string => Math.round(n).toLocaleString("en");

/** One of few, as buttons. */
export function choice(label: string, options: [string, string][], current: string, pick: (value: string) => void): HTMLElement {
  const group = h("span", { class: "group", role: "group", "aria-label": label });
  for (const [value, words] of options) {
    const press = () => {
      for (const b of group.querySelectorAll("button")) b.setAttribute("aria-pressed", String(b.value === value));
      pick(value);
    };
    group.append(h("button", { type: "button", value, "aria-pressed": String(value === current), click: press }, words));
  }
  return group;
}

/** Gives text to the person as a file. */
export function save(name: string, type: string, parts: BlobPart[]): void {
  const link = h("a", { href: URL.createObjectURL(new Blob(parts, { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
