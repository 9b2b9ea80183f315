// What came back: graph and values, a table, nothing, or what went wrong.

import type { Answer, Problem } from "./api";
import { Chart } from "./chart";
import { safe } from "./csv";
import { blank, choice, h, icon, notice, num, plain, save, shown, tool } from "./dom";
import { fold, grid, type Grid, LINES, type Line, MOST, notation, reduced, value } from "./series";
import { guess } from "./guess";
import { type Unit, write } from "./units";
import { labels, Values } from "./values";
import * as when from "./when";

export type View = "graph" | "stacked" | "table";

export interface Hooks {
  letter: string;
  zoom: (start: number, end: number) => void;
  stop: () => void;
  again: () => void;
  view: (view: View) => void;
}

/** More series than anybody reads. */
const CROWD = 1000;
const PAGE = 500;

const VIEWS: [string, string][] = [["graph", "Graph"], ["stacked", "Stacked"], ["table", "Table"]];

export class Result {
  readonly host = h("div", { class: "result", "data-testid": "result", tabindex: "-1" });
  private chart: Chart | null = null;
  private timers: number[] = [];
  private answer: Answer | null = null;
  private query = "";
  private grid: Grid | null = null;
  private unit: Unit = { s: 0, b: 0 };
  private all = false;
  private rows = PAGE;
  private place = 0;
  view: View = "graph";

  constructor(private readonly hooks: Hooks) {}

  destroy(): void {
    this.rest();
    this.chart?.destroy();
    this.chart = null;
  }

  /** Names the answer that is shown: for history and the live region. */
  summary(): string {
    const n = this.answer?.samples.length ?? 0;
    return n === 1 ? "1 series" : `${num(n)} series`;
  }

  private rest(): void {
    for (const one of this.timers) clearTimeout(one);
    this.timers = [];
    this.host.removeAttribute("aria-busy");
    this.host.querySelector("[data-waiting]")?.remove();
  }

  /** A question runs. What was there stays, until it takes long. */
  busy(): void {
    this.rest();
    this.host.setAttribute("aria-busy", "true");
    const started = performance.now();
    if (!this.answer) {
      this.timers.push(window.setTimeout(() => {
        const bones = [1, 3, 2, 3].map((w) => h("span", { class: "bone", "data-w": w }));
        this.host.replaceChildren(h("div", { class: "panel-body", "data-bones": true }, ...bones));
      }, 200));
    }
    const words = h("span");
    const box = h("div", { class: "notice", "data-tone": "busy", "data-waiting": true }, icon("busy"), h("div", {}, h("b", {}, "The cluster has not answered yet. "), words),
      h("button", { class: "btn", type: "button", "data-size": "s", click: () => this.hooks.stop() }, "Stop"));
    const count = () => {
      words.textContent = `It runs for ${Math.round((performance.now() - started) / 1000)} s. We wait 30 s.`;
      if (!box.isConnected) this.host.prepend(box);
      this.timers.push(window.setTimeout(count, 1000));
    };
    this.timers.push(window.setTimeout(count, 5000));
  }

  /** The person stopped it, or typed on. */
  stopped(): void {
    this.rest();
    if (!this.answer) this.host.replaceChildren(blank("stop", "mute", "Stopped", "The question was taken back from Prometheus too."));
  }

  idle(): void {
    this.rest();
    this.answer = null;
    this.host.replaceChildren();
  }

  failed(error: Problem): void {
    this.rest();
    this.chart?.destroy();
    this.chart = null;
    this.answer = null;
    if (error.at) {
      const where = error.at.line > 1 ? `line ${error.at.line}, column ${error.at.column}` : `column ${error.at.column}`;
      this.host.replaceChildren(notice("bad", `Prometheus cannot read it at ${where}.`, error.message));
      return;
    }
    const side = { you: "your side", us: "our side", cluster: "cluster side" }[error.side] ?? "our side";
    const tone = error.side === "you" ? "warn" : "bad";
    const shape = error.side === "cluster" ? "away" : error.side === "you" ? "degraded" : "failed";
    const again = h("button", { class: "btn", type: "button", "data-size": "s", click: () => this.hooks.again() }, "Try again");
    this.host.replaceChildren(h("div", { class: "blank", "data-tone": tone, "data-testid": "failure", role: "alert" }, icon(shape), h("p", {}, h("b", {}, shown(error.message, 600))),
      error.action ? h("p", {}, shown(error.action, 400)) : null, error.side === "you" ? null : h("p", { class: "row" }, again),
      h("p", { class: "hint" }, [error.status ? String(error.status) : "", side, error.request].filter(Boolean).join(" · "))));
  }

  show(answer: Answer, query: string, window: { start: number; end: number; width?: number } | null): void {
    this.rest();
    this.answer = answer;
    this.query = query;
    this.unit = guess(query);
    this.grid = window && answer.type === "matrix" ? grid(answer, window.start, window.end, window.width) : null;
    this.place = window && this.grid ? reduced(answer, window.start, window.end, window.width ?? 0) : 0;
    this.all = false;
    this.rows = PAGE;
    this.draw();
  }

  /** As before, with other axes: zone, view, width. */
  draw(): void {
    const answer = this.answer;
    if (!answer) return;
    const focused = this.host.contains(document.activeElement);
    this.chart?.destroy();
    this.chart = null;
    const parts: (Node | null)[] = [this.notices(answer), this.foot(answer)];
    if (!answer.samples.length) parts.push(this.nothing());
    else if (this.grid) parts.push(...this.graph(this.grid));
    else parts.push(this.table(answer));
    this.host.replaceChildren(...parts.filter((p): p is Node => p !== null));
    if (focused) this.host.focus({ preventScroll: true });
  }

  private notices(answer: Answer): Node | null {
    const out: Node[] = [];
    if (answer.samples.length >= CROWD) {
      out.push(notice("warn", `${num(answer.samples.length)} series are too many to read.`, `The ${LINES} largest are drawn, the others folded. Ask for fewer: sum by (…), topk(10, …), or more labels.`));
    }
    for (const text of answer.warnings.slice(0, 5)) out.push(notice("warn", "With the answer came:", text));
    return out.length ? h("div", { class: "stack tight notices" }, ...out) : null;
  }

  private foot(answer: Answer): Node {
    const points = answer.samples.reduce((n, one) => n + one.values.length, 0);
    const n = answer.samples.length;
    const facts = h("span", { class: "row", "data-testid": "facts" }, h("span", {}, h("b", {}, num(n)), n === 1 ? " series" : " series"), h("span", {}, h("b", {}, num(points)), points === 1 ? " sample" : " samples"),
      answer.step ? h("span", {}, "step ", h("b", {}, when.spoken(answer.step)), this.place ? `, least and most of each ${when.spoken(Math.max(1, Math.round(this.place)))}` : "") : null, h("span", {}, h("b", {}, write(answer.took / 1000, { s: 1, b: 0 }))),
      answer.source ? h("span", {}, "from ", h("span", { class: "mono" }, shown(answer.source, 80)), answer.why ? h("span", { class: "tone", "data-tone": "warn" }, ", for ", shown(answer.why, 160)) : null) : null);
    const views = this.grid && n ? choice("Show as", VIEWS, this.view, (v) => {
      this.view = v as View;
      this.hooks.view(this.view);
      this.draw();
      this.host.querySelector<HTMLElement>(`button[value=${v}]`)?.focus();
    }) : null;
    const files = h("details", { class: "menu" }, h("summary", { class: "tool", "aria-label": "Download", title: "Download" }, icon("download")),
      h("div", { class: "menu-list" }, h("button", { type: "button", click: () => this.csv() }, icon("table"), "CSV"), h("button", { type: "button", click: () => this.json() }, icon("braces"), "JSON")));
    const wide = this.grid && n ? tool("expand", "Full screen", () => void this.full()) : null;
    return h("div", { class: "panel-foot first" }, facts, h("span", { class: "push row" }, views, n ? files : null, wide));
  }

  private async full(): Promise<void> {
    if (document.fullscreenElement) await document.exitFullscreen();
    else await this.host.closest(".panel")?.requestFullscreen().catch(() => undefined);
    this.draw();
  }

  private nothing(): Node {
    return h("div", { class: "blank", "data-tone": "mute", "data-testid": "empty" }, icon("search"), h("p", {}, h("b", {}, "No series")), h("p", { "data-hint": true }, "Prometheus answered, and nothing matches at this time. Widen the range, or take labels away."));
  }

  /** Adds words to an empty answer: what the name is close to. */
  hint(...words: (string | Node)[]): void {
    this.host.querySelector("[data-hint]")?.replaceChildren(...words);
  }

  private graph(all: Grid): Node[] {
    const { top, others } = fold(all.lines, this.all ? MOST : LINES);
    const lines: Line[] = others ? [...top, others] : top;
    const values = new Values(`query ${this.hooks.letter}`, {
      unfold: () => {
        this.all = true;
        this.draw();
      },
      toggle: (i, on) => this.chart?.show(i, on),
      focus: (i) => this.chart?.focus(i),
    });
    values.set(all.times, lines, this.unit);
    if (this.view === "table") return [values.host];
    const plot = h("div", { class: "plot", "data-testid": "chart" });
    const first = all.times[0] ?? 0;
    const last = all.times.at(-1) ?? 0;
    const days = when.date(first) === when.date(last) ? when.date(first) : `${when.date(first)} to ${when.date(last)}`;
    const caption = h("figcaption", { class: "hint" }, `${days}, ${when.zone()}`);
    this.chart = new Chart(plot, { sync: "page", zoom: this.hooks.zoom, cursor: (i) => values.at(i) });
    const label = `Graph of query ${this.hooks.letter}: ${lines.length} lines from ${when.full(first)} to ${when.full(last)} ${when.zone()}.`;
    // Its width is known when it stands in the page.
    queueMicrotask(() => this.chart?.set({ times: all.times, lines, unit: this.unit, stacked: this.view === "stacked", label }));
    return [h("div", { class: "panel-body" }, h("figure", { class: "chart" }, plot, caption)), values.host];
  }

  private table(answer: Answer): Node {
    const host = h("div", { class: "scroll", role: "region", "aria-label": `Values of query ${this.hooks.letter}`, tabindex: "0", "data-testid": "values" });
    const sorted = answer.type === "vector" && !/^\s*(sort|sort_desc|topk|bottomk)\b/.test(this.query) ? [...answer.samples].sort((a, b) => value(b.values[0]?.[1] ?? "") - value(a.values[0]?.[1] ?? "")) : answer.samples;
    const rows = sorted.slice(0, this.rows).map((one) => {
      const written = answer.type === "matrix" ? one.values.slice(-20).map(([at, v]) => h("span", { class: "sub" }, `${v} @ ${when.full(at)}`)) : [this.exact(one.values[0]?.[1] ?? "", answer.type)];
      return h("tr", { role: "row", "data-testid": "series-row" }, h("th", { role: "rowheader", scope: "row" }, labels(one.labels)), h("td", { role: "cell", class: "num full", "data-label": "Value" }, ...written));
    });
    const more = sorted.length > this.rows ? h("p", { class: "panel-foot" }, `${num(this.rows)} of ${num(sorted.length)} `, h("button", { class: "btn", type: "button", "data-size": "s", click: () => ((this.rows += PAGE), this.draw()) }, "Show more")) : null;
    host.append(h("table", { class: "table cards", role: "table" }, h("caption", { class: "sr" }, "Series and their values"),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col" }, "Series"), h("th", { role: "columnheader", scope: "col", class: "num" }, "Value"))), h("tbody", { role: "rowgroup" }, ...rows)));
    if (more) host.append(more);
    return host;
  }

  /** A value in its unit, and as Prometheus wrote it. */
  private exact(text: string, type: Answer["type"]): Node {
    if (type === "string") return h("span", {}, shown(text));
    const told = write(value(text), this.unit);
    return h("span", {}, h("b", {}, told), told === text ? null : h("span", { class: "sub mono" }, plain(text, 40)));
  }

  private csv(): void {
    const cell = (text: string) => {
      const guarded = safe(text);
      return /[",\n\r]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
    };
    const out: string[] = [];
    if (this.grid) {
      out.push(["time", ...this.grid.lines.map((l) => l.name)].map(cell).join(","));
      this.grid.times.forEach((at, i) => out.push([new Date(at * 1000).toISOString(), ...(this.grid?.lines.map((l) => String(l.values[i] ?? "")) ?? [])].join(",")));
    } else {
      out.push("series,time,value");
      for (const one of this.answer?.samples ?? []) for (const [at, v] of one.values) out.push([notation(one.labels), new Date(at * 1000).toISOString(), v].map(cell).join(","));
    }
    save(`${this.file()}.csv`, "text/csv", [out.join("\r\n"), "\r\n"]);
  }

  private json(): void {
    const body = { query: this.query, type: this.answer?.type, step: this.answer?.step, source: this.answer?.source, warnings: this.answer?.warnings, result: this.answer?.samples.map((one) => ({ metric: one.labels, values: one.values })) };
    save(`${this.file()}.json`, "application/json", [JSON.stringify(body, null, 1)]);
  }

  private file(): string {
    return `query-${this.hooks.letter.toLowerCase()}-${when.full(when.now()).replace(/\D/g, "")}`;
  }
}
