// The page: range, source and zone for all its queries, and what its address says.

import { say, toast } from "../say";
import { call } from "./api";
import { blank, choice, h, icon, num, plain, shown, tool } from "./dom";
import { advice, explain, tree } from "./explain";
import * as kept from "./kept";
import { type Kind, type Page, Panel } from "./panel";
import type { View } from "./result";
import { known } from "./suggest";
import * as when from "./when";

const MOST = 6;
const LETTERS = "ABCDEF";
const EVERY = 30;

interface Source {
  id: string;
  name: string;
  ok?: boolean | null;
  why?: string;
}

export class Explore implements Page {
  readonly base: string;
  window: when.Window = { range: 3600, end: null };
  private panels: Panel[] = [];
  private shownFor: Panel | null = null;
  private readonly model: HTMLElement;
  private readonly range: HTMLElement;
  private readonly end: HTMLInputElement;
  private readonly span: HTMLElement;
  private readonly select: HTMLSelectElement;
  private readonly side: { explain: HTMLElement | null; saved: HTMLElement | null };
  private timer = 0;
  private learning = 0;
  private live: HTMLButtonElement | null = null;
  private latest: kept.Saved[] = [];

  constructor(private readonly form: HTMLFormElement) {
    this.base = form.dataset["api"] ?? "";
    const first = form.querySelector<HTMLElement>("[data-panel]");
    const range = form.querySelector<HTMLElement>("[data-range]");
    const end = form.querySelector<HTMLInputElement>("input[name=end]");
    const select = form.querySelector<HTMLSelectElement>("select[name=source]");
    const move = form.querySelector<HTMLElement>("[data-move]");
    if (!first || !range || !end || !select || !move) throw new Error("a page without its parts");
    this.model = first.cloneNode(true) as HTMLElement;
    this.range = range;
    this.end = end;
    this.select = select;
    this.span = h("span", { class: "nowrap mute", "data-testid": "window" });
    this.side = { explain: form.querySelector("[data-explain]"), saved: form.querySelector("[data-saved]") };
    this.toolbar(move);
    this.read(true);
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.runAll();
    });
    addEventListener("popstate", () => this.read(false));
    void this.sources();
    void this.stored();
  }

  source = (): string => this.select.value;

  private toolbar(move: HTMLElement): void {
    const shift = (by: number) => () => this.move({ range: this.window.range, end: when.endOf(this.window) + this.window.range * by });
    this.live = h("button", { class: "btn", type: "button", "aria-pressed": "false", "data-testid": "refresh", title: "Run again by itself", click: () => this.follow(!this.timer) }, icon("refresh"), `Every ${EVERY} s`);
    move.replaceChildren(
      tool("left", "Earlier", shift(-0.5)), this.span, tool("right", "Later", shift(0.5)),
      h("button", { class: "btn", type: "button", "data-size": "s", title: "Twice the range", "data-testid": "zoom-out", click: () => this.zoom(when.endOf(this.window) - this.window.range * 1.5, when.endOf(this.window) + this.window.range * 0.5) }, "Zoom out"),
      choice("Time zone", [["utc", "UTC"], ["local", "Local"]], when.isLocal() ? "local" : "utc", (zone) => {
        when.setLocal(zone === "local");
        this.told();
        for (const one of this.panels) one.result.draw();
      }),
      this.live,
    );
    this.range.addEventListener("change", (e) => {
      const range = when.duration((e.target as HTMLInputElement).value);
      if (range) this.move({ range, end: this.window.end });
    });
    this.end.addEventListener("change", () => {
      const text = this.end.value.trim();
      const end = text && text !== "now" ? when.parse(text) : null;
      const wrong = text !== "" && text !== "now" && end === null;
      this.end.toggleAttribute("aria-invalid", false);
      if (wrong) {
        this.end.setAttribute("aria-invalid", "true");
        return say("Write it as 2026-11-21 03:12, or leave it empty for now");
      }
      this.move({ range: this.window.range, end });
    });
    this.select.addEventListener("change", () => this.runAll());
    const add = this.form.querySelector<HTMLElement>("[data-acts]");
    add?.replaceChildren(h("button", { class: "btn", type: "button", "data-testid": "add-query", click: () => this.add("", "range", "graph")?.editor.focus() }, icon("plus"), "Add query"));
  }

  /** Takes range, source and queries from the address. */
  private read(start: boolean): void {
    const given = new URLSearchParams(location.search);
    const range = when.duration(given.get("range") ?? "") || 3600;
    const end = given.get("end") ? when.parse(given.get("end") ?? "") : null;
    this.window = { range, end };
    const source = given.get("source") ?? "";
    if ([...this.select.options].some((one) => one.value === source)) this.select.value = source;
    const asked: [string, Kind, View][] = [];
    for (let i = 1; i <= MOST; i += 1) {
      const n = i === 1 ? "" : String(i);
      const text = given.get(`query${n}`);
      if (text === null && i > 1) continue;
      const view = given.get(`view${n}`);
      asked.push([text ?? "", given.get(`kind${n}`) === "instant" ? "instant" : "range", view === "table" || view === "stacked" ? view : "graph"]);
    }
    const same = !start && asked.length === this.panels.length && asked.every(([text], i) => this.panels[i]?.text() === text.trim());
    if (!same) {
      for (const one of this.panels.splice(0)) one.destroy();
      for (const one of this.form.querySelectorAll("[data-panel]")) one.remove();
      for (const [text, kind, view] of asked) this.add(text, kind, view);
    }
    this.told();
    if (this.panels.some((one) => one.text())) this.runAll();
    else if (start && matchMedia("(pointer: fine)").matches) this.panels[0]?.editor.focus();
  }

  private add(text: string, kind: Kind, view: View): Panel | null {
    if (this.panels.length >= MOST) {
      toast(`${MOST} queries are the most on one page.`, "warn");
      return null;
    }
    const letter = [...LETTERS].find((one) => this.panels.every((p) => p.letter !== one)) ?? "A";
    const section = this.model.cloneNode(true) as HTMLElement;
    section.querySelector("[data-result]")?.replaceChildren();
    const head = section.querySelector("h2");
    if (head) {
      head.textContent = letter;
      head.id = `query-${letter}`;
    }
    section.setAttribute("aria-labelledby", `query-${letter}`);
    for (const radio of section.querySelectorAll<HTMLInputElement>("input[type=radio]")) radio.name = `kind-${letter}`;
    const field = section.querySelector("textarea");
    field?.removeAttribute("name");
    this.form.querySelector("[data-panels]")?.append(section);
    const panel = new Panel(section, this, letter, text, kind, view);
    this.panels.push(panel);
    return panel;
  }

  remove(panel: Panel): void {
    if (this.panels.length === 1) {
      panel.editor.set("");
      panel.result.idle();
      panel.editor.focus();
    } else {
      this.panels = this.panels.filter((one) => one !== panel);
      panel.destroy();
      this.panels.at(-1)?.editor.focus();
    }
    this.shownFor = null;
    this.changed();
    say("Removed");
  }

  runAll(): void {
    for (const one of this.panels) void one.run();
  }

  zoom = (start: number, end: number): void => {
    const from = Math.floor(start);
    const range = Math.max(10, Math.round(end - from));
    const to = from + range;
    // What reaches into the future ends now, and goes on moving with it.
    this.move(to >= when.now() - 1 ? { range: Math.min(range, Math.max(10, when.now() - from)), end: null } : { range, end: to });
  };

  private move(window: when.Window): void {
    this.window = window.end !== null && window.end >= when.now() ? { range: window.range, end: null } : window;
    if (this.window.end !== null) this.follow(false);
    this.told();
    this.write(true);
    this.runAll();
  }

  private follow(on: boolean): void {
    clearInterval(this.timer);
    this.timer = 0;
    this.live?.setAttribute("aria-pressed", String(on));
    if (!on) return;
    if (this.window.end !== null) this.move({ range: this.window.range, end: null });
    this.timer = window.setInterval(() => {
      if (!document.hidden && !this.form.querySelector("[data-busy]")) this.runAll();
    }, EVERY * 1000);
    this.live?.setAttribute("aria-pressed", "true");
  }

  /** Says the range where it is shown. */
  private told(): void {
    const name = when.name(this.window.range);
    let preset = false;
    for (const one of this.range.querySelectorAll<HTMLInputElement>("input")) {
      one.checked = when.duration(one.value) === this.window.range;
      preset ||= one.checked;
    }
    const [start, end] = [when.startOf(this.window), when.endOf(this.window)];
    const days = when.day(start) === when.day(end) ? "" : `${when.day(start)} `;
    const until = this.window.end === null ? "now" : `${days && `${when.day(end)} `}${when.clock(end)}`;
    this.span.textContent = `${preset ? "" : `${when.spoken(this.window.range)}, `}${days}${when.clock(start)} to ${until}`;
    this.span.title = `${when.full(start)} to ${when.full(end)} ${when.zone()}, ${name}`;
    this.end.value = this.window.end === null ? "" : when.full(this.window.end);
    this.end.placeholder = "now";
  }

  changed(): void {
    this.write(false);
  }

  private address(): string {
    const out = new URLSearchParams();
    this.panels.forEach((one, i) => {
      const n = i === 0 ? "" : String(i + 1);
      if (!one.text() && this.panels.length === 1) return;
      out.set(`query${n}`, one.text());
      if (one.kind !== "range") out.set(`kind${n}`, one.kind);
      if (one.result.view !== "graph") out.set(`view${n}`, one.result.view);
    });
    out.set("range", when.name(this.window.range));
    if (this.window.end !== null) out.set("end", String(Math.round(this.window.end)));
    if (this.source()) out.set("source", this.source());
    return `${location.pathname}?${out.toString()}`;
  }

  private write(push: boolean): void {
    const to = this.address();
    if (to === location.pathname + location.search) return;
    if (push) history.pushState(null, "", to);
    else history.replaceState(null, "", to);
  }

  link(): void {
    this.write(false);
    // Who opens it later sees the same instants.
    const url = new URL(this.address(), location.href);
    url.searchParams.set("end", String(when.endOf(this.window)));
    navigator.clipboard.writeText(url.href).then(
      () => toast("Link copied: query, range, source and cluster are in it."),
      () => toast("The browser does not let us copy. Take the address of the page instead.", "bad"),
    );
  }

  /** The panel in use is the one that is explained. */
  explained(panel: Panel): void {
    const host = this.side.explain;
    if (!host || (this.shownFor && this.shownFor !== panel && !panel.section.contains(document.activeElement))) return;
    this.shownFor = panel;
    const title = host.querySelector("h2");
    const body = host.querySelector<HTMLElement>("[data-body]");
    if (!title || !body) return;
    const head = `What ${panel.letter} does`;
    if (title.textContent !== head) title.textContent = head;
    const step = explain(panel.text());
    if (!step) {
      body.replaceChildren(h("p", { class: "hint" }, panel.text() ? "It does not read as a query yet." : "Write a query, and its parts stand here in words."));
      return;
    }
    const words = new Map([...known].filter(([, one]) => one.type || one.help).map(([name, one]) => [name, [one.type, one.help].filter(Boolean).join(": ")]));
    const types = new Map([...known].map(([name, one]) => [name, one.type]));
    const notes = advice(step, types).map((text) => h("p", { class: "row nowrap" }, icon("info"), h("span", {}, plain(text))));
    body.replaceChildren(h("div", { class: "nest" }, tree(step, words)), ...notes);
    clearTimeout(this.learning);
    this.learning = window.setTimeout(() => void panel.learn().then((more) => more && this.explained(panel)), 600);
  }

  private async sources(): Promise<void> {
    try {
      const found = await call<{ chosen: string; items: Source[] }>("GET", `${this.base}/sources`);
      const current = this.select.value;
      const name = found.items.find((one) => one.id === found.chosen)?.name ?? found.chosen;
      const options = found.items.map((one) => h("option", { value: one.id, title: one.why ?? "" }, `${plain(one.name, 60)}${one.ok === false ? " (does not answer)" : ""}`));
      this.select.replaceChildren(h("option", { value: "" }, name ? `By itself: ${plain(name, 60)}` : "Chosen by itself"), ...options);
      this.select.value = [...this.select.options].some((one) => one.value === current) ? current : "";
    } catch {
      // The choice of the page stays.
    }
  }

  asked(): void {
    this.recent();
  }

  private async stored(): Promise<void> {
    this.recent();
    try {
      this.latest = await kept.saved();
      this.recent();
    } catch {
      // What this browser remembers is still there.
    }
  }

  private use(text: string, kind: Kind): void {
    const panel = this.panels.find((one) => one === this.shownFor) ?? this.panels[0];
    if (!panel) return;
    panel.kind = kind;
    for (const radio of panel.section.querySelectorAll<HTMLInputElement>("input[type=radio]")) radio.checked = radio.value === kind;
    panel.editor.set(text);
    void panel.run();
    panel.editor.focus();
  }

  private recent(): void {
    const host = this.side.saved?.querySelector<HTMLElement>("[data-body]");
    if (!host) return;
    const asked = kept.history();
    const line = (shape: string, text: HTMLElement, quote: string, end: Node | null) => h("li", {}, icon(shape), h("div", { class: "body" }, text, h("p", { class: "quote" }, shown(quote, 120))), h("span", { class: "aside" }, end));
    const button = (words: string, mono: boolean, press: () => void) => h("button", { type: "button", class: `plain${mono ? " mono" : ""}`, click: press }, shown(words, 160));
    const saved = this.latest.map((one) => line("save", button(one.name, false, () => this.use(one.query, one.range_secs === undefined ? "instant" : "range")), one.mine ? (one.shared ? "mine, shared" : "mine") : `shared by ${one.owner}`,
      one.mine ? tool("trash", `Remove ${plain(one.name, 80)}`, () => void this.drop(one)) : null));
    const past = asked.slice(0, 12).map((one) => line("history", button(one.query, true, () => this.use(one.query, one.kind)), one.note, h("time", { datetime: new Date(one.at * 1000).toISOString() }, ago(one.at))));
    if (!saved.length && !past.length) {
      host.replaceChildren(blank("history", "mute", "Nothing yet", "What you run is kept in this browser; what you save is kept on the server."));
      return;
    }
    const clear = past.length ? h("p", { class: "panel-foot" }, h("span", {}, `${num(asked.length)} kept in this browser`), h("button", { type: "button", class: "btn push", "data-size": "s", click: () => (kept.forget(), this.recent()) }, "Clear")) : null;
    host.replaceChildren(h("ul", { class: "items", "data-testid": "recent" }, ...saved, ...past), ...(clear ? [clear] : []));
  }

  private async drop(one: kept.Saved): Promise<void> {
    try {
      await kept.drop(one.id);
      this.latest = this.latest.filter((other) => other !== one);
      this.recent();
      toast(`“${plain(one.name, 60)}” is removed.`);
    } catch (error) {
      toast((error as Error).message, "bad");
    }
  }

  keep(panel: Panel): void {
    if (!panel.text()) return toast("There is nothing to save yet.", "warn");
    const name = h("input", { class: "input", id: "save-name", maxlength: 100, required: true, autocomplete: "off", "data-testid": "save-name" });
    const shared = h("input", { type: "checkbox", id: "save-shared" });
    const box = h("dialog", { class: "dialog", "aria-labelledby": "save-h", "data-testid": "dialog-save" });
    const done = async (e: Event) => {
      e.preventDefault();
      try {
        await kept.save({ name: name.value.trim(), query: panel.text(), shared: shared.checked, ...(this.form.dataset["resource"] ? { cluster: this.form.dataset["resource"] } : {}), ...(panel.kind === "range" ? { range_secs: Math.round(this.window.range) } : {}) });
        box.close();
        toast("Saved");
        await this.stored();
      } catch (error) {
        toast((error as Error).message, "bad");
      }
    };
    box.append(h("form", { submit: (e) => void done(e) },
      h("div", { class: "dialog-head" }, h("h2", { id: "save-h" }, icon("save"), " Save this query"), tool("close", "Close", () => box.close())),
      h("div", { class: "dialog-body" }, h("pre", { class: "code", "data-wrap": true }, shown(panel.text(), 600)), h("div", { class: "field" }, h("label", { for: "save-name" }, "Name"), name),
        h("p", {}, h("label", { class: "check", for: "save-shared" }, shared, " Share it with everybody who may query"))),
      h("div", { class: "dialog-foot" }, h("span", { class: "push row" }, h("button", { class: "btn", type: "button", click: () => box.close() }, "Cancel"), h("button", { class: "btn", type: "submit", "data-kind": "primary", "data-testid": "save-done" }, icon("save"), h("span", {}, "Save"))))));
    document.body.append(box);
    box.addEventListener("close", () => (box.remove(), panel.editor.focus()));
    box.showModal();
    name.focus();
  }
}

function ago(at: number): string {
  const past = Math.max(0, when.now() - at);
  return past < 60 ? "just now" : `${when.spoken(past).split(" ").slice(0, 2).join(" ")} ago`;
}
