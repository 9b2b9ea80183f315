// One query of the page: editor, kind, run and stop, and its result.

import { say, toast } from "../say";
import { ask, cancelled, type Problem, query } from "./api";
import { h, icon, tool } from "./dom";
import { Editor, type Verdict } from "./editor";
import { explain, metrics } from "./explain";
import { remember } from "./kept";
import { Result, type View } from "./result";
import { known, Suggester } from "./suggest";
import { guess } from "./guess";
import { words } from "./units";
import * as when from "./when";

export type Kind = "range" | "instant";

export interface Page {
  /** Base of the questions to this cluster. */
  base: string;
  source: () => string;
  window: when.Window;
  zoom: (start: number, end: number) => void;
  /** Something that belongs into the address changed. */
  changed: () => void;
  explained: (panel: Panel) => void;
  remove: (panel: Panel) => void;
  link: () => void;
  keep: (panel: Panel) => void;
  asked: () => void;
}

/** Places that a line is drawn in, at most: two points each. */
const PLACES = 500;
/** Points of one line where nothing is reduced. */
const POINTS = 800;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/** A step that gives about as many points as the graph has places for. */
export function step(range: number, points = POINTS): number {
  const least = range / points;
  return STEPS.find((one) => one >= least) ?? Math.ceil(least / 86_400) * 86_400;
}

export class Panel {
  readonly editor: Editor;
  readonly result: Result;
  private running: AbortController | null = null;
  private readonly runs: HTMLButtonElement;
  private readonly stops: HTMLButtonElement;
  private readonly verdict: HTMLElement;
  private readonly unit: HTMLElement;

  constructor(readonly section: HTMLElement, private readonly page: Page, public letter: string, text: string, public kind: Kind, view: View) {
    const field = section.querySelector<HTMLTextAreaElement>("textarea");
    const box = section.querySelector<HTMLElement>("[data-editor]");
    const foot = section.querySelector<HTMLElement>(".editor-foot");
    const host = section.querySelector<HTMLElement>("[data-result]");
    const row = section.querySelector<HTMLElement>("[data-run]");
    const tools = section.querySelector<HTMLElement>("[data-tools]");
    if (!field || !box || !foot || !host || !row || !tools) throw new Error("a panel without its parts");

    this.verdict = h("span", { class: "tone verdict-line", role: "status" });
    this.unit = h("span");
    const keys = (combo: string, does: string) => h("span", { class: "hide-narrow" }, h("kbd", {}, combo), ` ${does}`);
    foot.replaceChildren(this.verdict, this.unit, keys("Ctrl Space", "complete"), keys("Ctrl Enter", "run"), keys("Tab", "leaves the editor"));

    const suggest = new Suggester(() => page.base, page.source);
    this.editor = new Editor(text, suggest, {
      label: `PromQL query ${letter}`,
      run: () => void this.run(),
      format: () => void this.format(),
      changed: (now) => {
        field.value = now;
        this.cancel();
        this.told();
      },
      verdict: (verdict) => this.judged(verdict),
    });
    field.hidden = true;
    field.before(this.editor.host);

    this.runs = h("button", { class: "btn", type: "button", "data-kind": "primary", title: "Run (Ctrl Enter)", "aria-keyshortcuts": "Control+Enter", "data-testid": "run", click: () => void this.run() }, icon("play"), h("span", {}, "Run"));
    this.stops = h("button", { class: "btn", type: "button", "data-testid": "stop", hidden: true, click: () => this.stop() }, icon("stop"), h("span", {}, "Stop"));
    row.replaceChildren(this.stops, this.runs);
    for (const radio of section.querySelectorAll<HTMLInputElement>("input[type=radio]")) {
      radio.checked = radio.value === kind;
      radio.addEventListener("change", () => {
        this.kind = radio.value === "instant" ? "instant" : "range";
        page.changed();
        void this.run();
      });
    }
    tools.replaceChildren(
      tool("braces", "Format (Shift Alt F)", () => void this.format(), { "data-testid": "format" }),
      tool("tree", "Explain", () => page.explained(this), { "data-testid": "explain" }),
      tool("save", "Save this query", () => page.keep(this), { "data-testid": "save" }),
      tool("share", "Copy a link with query, range and cluster", () => page.link(), { "data-testid": "share" }),
      tool("close", "Remove this query", () => page.remove(this), { "data-testid": "remove" }),
    );
    this.result = new Result({ letter, zoom: page.zoom, stop: () => this.stop(), again: () => void this.run(), view: () => page.changed() });
    this.result.view = view;
    host.replaceChildren(this.result.host);
    section.addEventListener("focusin", () => page.explained(this));
    this.told();
  }

  destroy(): void {
    this.cancel();
    this.result.destroy();
    this.editor.view.destroy();
    this.section.remove();
  }

  text(): string {
    return this.editor.text().trim();
  }

  private told(): void {
    const unit = words(guess(this.text()));
    this.unit.textContent = unit ? `Unit: ${unit}, from the names` : "";
    this.page.explained(this);
  }

  private judged(verdict: Verdict): void {
    this.verdict.dataset["tone"] = verdict.tone;
    const text = verdict.text.length > 300 ? `${verdict.text.slice(0, 300)}…` : verdict.text;
    if (this.verdict.textContent?.trim() === text) return;
    this.verdict.replaceChildren(icon(verdict.tone === "ok" ? "check" : verdict.tone === "bad" ? "failed" : "info"), ` ${text}`);
  }

  /** Takes a running question back, all the way to Prometheus. */
  cancel(): boolean {
    if (!this.running) return false;
    this.running.abort();
    this.running = null;
    this.state(false);
    this.result.stopped();
    return true;
  }

  private stop(): void {
    if (this.cancel()) say("Stopped");
    this.runs.focus();
  }

  private state(busy: boolean): void {
    this.stops.hidden = !busy;
    const label = this.runs.querySelector("span");
    if (label) label.textContent = busy ? "Running…" : "Run";
    this.section.toggleAttribute("data-busy", busy);
  }

  async run(): Promise<void> {
    this.cancel();
    const text = this.text();
    if (!text) return this.result.idle();
    this.page.changed();
    const mine = new AbortController();
    this.running = mine;
    this.state(true);
    this.result.busy();
    const end = when.endOf(this.page.window);
    const range = this.page.window.range;
    // On a grid, so that the same instants are asked again.
    const even = step(range, PLACES);
    const width = Math.round(Math.min(PLACES, Math.max(100, this.section.clientWidth / 2)));
    const window = { start: Math.ceil((end - range) / even) * even, end: Math.floor(end / even) * even, width };
    const source = this.page.source();
    try {
      const answer = this.kind === "range"
        ? await query(this.page.base, "query_range", { query: text, start: window.start, end: window.end, width, source }, mine.signal)
        : await query(this.page.base, "query", { query: text, time: this.page.window.end ?? undefined, source }, mine.signal);
      if (this.running !== mine) return;
      this.result.show(answer, text, this.kind === "range" ? window : null);
      say(`Query ${this.letter}: ${this.result.summary()}`);
      this.kept(text, this.result.summary());
      if (!answer.samples.length) void this.near(text, mine.signal);
    } catch (error) {
      if (cancelled(error) || this.running !== mine) return;
      const problem = error as Problem;
      this.result.failed(problem);
      if (problem.at) this.editor.mark(problem.at.line, problem.at.column, problem.message);
      this.kept(text, `failed: ${problem.message.slice(0, 120)}`);
    } finally {
      if (this.running === mine) {
        this.running = null;
        this.state(false);
      }
    }
  }

  private kept(text: string, note: string): void {
    remember({ query: text, kind: this.kind, range: this.page.window.range, at: when.now(), note });
    this.page.asked();
  }

  /** Nothing came: perhaps no metric has that name. */
  private async near(text: string, signal: AbortSignal): Promise<void> {
    const name = metrics(explain(text))[0];
    if (!name) return;
    try {
      const answer = await ask(this.page.base, "suggest", { what: "metric", q: name, limit: 5, source: this.page.source() }, signal);
      const items = ((await answer.json()) as { items: { value: string }[] }).items.map((one) => one.value);
      if (items.includes(name)) return;
      const use = (other: string) => h("button", { type: "button", class: "plain tone mono", "data-tone": "accent", click: () => {
        this.editor.set(this.editor.text().replaceAll(name, other));
        void this.run();
      } }, other);
      this.result.hint(`No metric is called ${name.slice(0, 120)} on this source now.`, ...(items.length ? [" Near it: ", ...items.slice(0, 3).flatMap((one, i) => [i ? ", " : "", use(one)]), "."] : []));
    } catch {
      // The empty answer stands by itself.
    }
  }

  async format(): Promise<void> {
    const text = this.text();
    if (!text) return;
    try {
      const answer = await ask("/api/v1/prom", "explain", { query: text }, AbortSignal.timeout(10_000));
      this.editor.set(((await answer.json()) as { formatted: string }).formatted);
      say("Formatted");
    } catch (error) {
      const problem = error as Problem;
      if (problem.at) this.editor.mark(problem.at.line, problem.at.column, problem.message);
      else toast(problem.message || "It could not be formatted.", "bad");
    }
  }

  /** Type and help of the metrics in it, as far as they were seen. */
  async learn(): Promise<boolean> {
    const missing = metrics(explain(this.text())).filter((name) => !known.has(name)).slice(0, 4);
    for (const name of missing) {
      known.set(name, { type: "", help: "" });
      try {
        const base = name.replace(/_(bucket|sum|count)$/, "");
        const answer = await ask(this.page.base, "metadata", { metric: base, source: this.page.source() }, AbortSignal.timeout(10_000));
        const one = Object.values(((await answer.json()) as { data: Record<string, { type: string; help: string }[]> }).data)[0]?.[0];
        if (one) known.set(name, { type: base === name ? one.type : "", help: one.help });
      } catch {
        // Words are a help, not a need.
      }
    }
    return missing.length > 0;
  }
}
