// The statistics of a cluster: twelve charts with one range and one cursor. No editor, so a small script.

import { cancelled, type Problem, send } from "./explore/api";
import { Chart } from "./explore/chart";
import { blank, choice, h, icon, shown, tool } from "./explore/dom";
import { fold, grid, LINES, type Line, MOST } from "./explore/series";
import { named } from "./explore/units";
import { Values } from "./explore/values";
import * as when from "./explore/when";
import { say } from "./say";

interface Point {
  timestamp: string;
  value: number | null;
}

interface Named {
  metricname: string;
  metricvalue: Point[];
}

const EVERY = 60;

/** `{code="200", verb="GET"}` as labels. */
function labelled(name: string): Record<string, string> {
  const out: Record<string, string> = {};
  const metric = /^[a-zA-Z_:][\w:]*/.exec(name)?.[0];
  if (metric) out["__name__"] = metric;
  for (const [, key, value] of name.matchAll(/([a-zA-Z_]\w*)=("(?:[^"\\]|\\.)*")/g)) {
    try {
      out[key ?? ""] = JSON.parse(value ?? '""') as string;
    } catch {
      out[key ?? ""] = value ?? "";
    }
  }
  return out;
}

class Statistic {
  private chart: Chart | null = null;
  private running: AbortController | null = null;
  private all = false;
  private seen = false;
  private asked = "";
  private data: { times: number[]; lines: Line[] } | null = null;

  constructor(readonly section: HTMLElement, private readonly board: Board) {
    new IntersectionObserver((entries) => {
      this.seen = entries.some((one) => one.isIntersecting);
      if (this.seen) this.wanted();
    }, { rootMargin: "200px" }).observe(section);
  }

  private get body(): HTMLElement {
    return this.section.querySelector<HTMLElement>("[data-body]") ?? this.section;
  }

  /** Asks when it is in sight and shows another range than it should. */
  wanted(force = false): void {
    const key = this.board.key();
    if (!this.seen || (this.asked === key && !force)) return;
    this.asked = key;
    void this.load();
  }

  private async load(): Promise<void> {
    this.running?.abort();
    const mine = new AbortController();
    this.running = mine;
    const bones = setTimeout(() => {
      if (!this.data) this.body.replaceChildren(h("div", { class: "panel-body", "aria-busy": "true" }, ...[1, 3, 2, 3].map((w) => h("span", { class: "bone", "data-w": w }))));
    }, 200);
    const { range } = this.board.window;
    const end = when.endOf(this.board.window);
    const width = String(this.section.clientWidth || 700);
    const fields = new URLSearchParams({ duration: `${Math.round(range)}s`, endtime: new Date(end * 1000).toISOString().replace(".000", ""), width });
    try {
      const answer = await send("GET", `${this.board.base}/${this.section.dataset["chart"] ?? ""}?${fields.toString()}`, mine.signal);
      const found = (await answer.json()) as Named[];
      if (this.running !== mine) return;
      this.show(found, end - range, end);
    } catch (error) {
      if (cancelled(error) || this.running !== mine) return;
      this.failed(error as Problem);
    } finally {
      clearTimeout(bones);
    }
  }

  private failed(error: Problem): void {
    this.asked = "";
    this.data = null;
    this.chart?.destroy();
    this.chart = null;
    const side = { you: "your side", us: "our side", cluster: "cluster side" }[error.side] ?? "our side";
    this.body.replaceChildren(h("div", { class: "blank", "data-tone": error.side === "you" ? "warn" : "bad", role: "alert", "data-testid": "failure" }, icon(error.side === "cluster" ? "away" : "failed"), h("p", {}, h("b", {}, shown(error.message, 400))), error.action ? h("p", {}, shown(error.action)) : null,
      h("p", { class: "row" }, h("button", { class: "btn", type: "button", "data-size": "s", click: () => this.wanted(true) }, "Try again")), h("p", { class: "hint" }, [error.status || "", side, error.request].filter(Boolean).join(" · "))));
  }

  private show(found: Named[], start: number, end: number): void {
    const all = found.map((one) => ({ labels: labelled(one.metricname), values: (one.metricvalue ?? []).map((p): [number, string] => [Date.parse(p.timestamp) / 1000, p.value === null ? "NaN" : String(p.value)]) }));
    let step = Infinity;
    for (const one of all) for (let i = 1; i < one.values.length; i += 1) step = Math.min(step, (one.values[i]?.[0] ?? 0) - (one.values[i - 1]?.[0] ?? 0));
    if (!Number.isFinite(step) || step <= 0) step = Math.max(1, Math.round((end - start) / 100));
    this.data = grid({ type: "matrix", samples: all, warnings: [], source: "", step, took: 0 }, start, end);
    this.draw();
  }

  draw(): void {
    const data = this.data;
    if (!data) return;
    this.chart?.destroy();
    this.chart = null;
    if (!data.lines.some((l) => l.last !== null)) {
      this.body.replaceChildren(blank("search", "mute", "No data in this range", "Prometheus answered; it has no samples for this. Widen the range, or open the query."));
      return;
    }
    const { top, others } = fold(data.lines, this.all ? MOST : LINES);
    const lines = others ? [...top, others] : top;
    const unit = named(this.section.dataset["unit"] ?? "");
    // With the name of its group: two groups have a chart of memory.
    const names = (this.section.getAttribute("aria-labelledby") ?? "").split(" ");
    const title = names.map((id) => document.getElementById(id)?.textContent ?? "").join(": ");
    const values = new Values(title, {
      unfold: () => {
        this.all = true;
        this.draw();
      },
      toggle: (i, on) => this.chart?.show(i, on),
      focus: (i) => this.chart?.focus(i),
    });
    values.set(data.times, lines, unit);
    const plot = h("div", { class: "plot", "data-testid": "chart" });
    this.chart = new Chart(plot, { sync: "statistics", height: 200, zoom: (a, b) => this.board.zoom(a, b), cursor: (i) => values.at(i) });
    const table = h("details", { class: "values" }, h("summary", { class: "panel-foot" }, `Values of ${lines.length === 1 ? "1 line" : `${lines.length} lines`}`), values.host);
    table.open = lines.length <= 3;
    this.body.replaceChildren(h("div", { class: "panel-body" }, h("figure", { class: "chart" }, plot)), table);
    const [first, last] = [data.times[0] ?? 0, data.times.at(-1) ?? 0];
    this.chart.set({ times: data.times, lines, unit, stacked: false, label: `${title}: ${lines.length} lines from ${when.full(first)} to ${when.full(last)} ${when.zone()}.` });
  }
}

class Board {
  readonly base: string;
  window: when.Window = { range: 3600, end: null };
  private charts: Statistic[] = [];
  private version = 0;
  private timer = 0;
  private readonly span = h("span", { class: "nowrap mute", "data-testid": "window" });

  constructor(private readonly form: HTMLFormElement) {
    this.base = form.dataset["api"] ?? "";
    this.read();
    const move = form.querySelector<HTMLElement>("[data-move]");
    const live = h("button", { class: "btn", type: "button", "aria-pressed": "false", click: () => {
      clearInterval(this.timer);
      const on = live.getAttribute("aria-pressed") !== "true";
      live.setAttribute("aria-pressed", String(on));
      this.timer = on ? window.setInterval(() => !document.hidden && this.again(), EVERY * 1000) : 0;
      if (on) this.move({ range: this.window.range, end: null });
    } }, icon("refresh"), "Every minute");
    const shift = (by: number) => () => this.move({ range: this.window.range, end: when.endOf(this.window) + this.window.range * by });
    move?.replaceChildren(tool("left", "Earlier", shift(-0.5)), this.span, tool("right", "Later", shift(0.5)),
      h("button", { class: "btn", type: "button", "data-size": "s", click: () => this.zoom(when.endOf(this.window) - this.window.range * 1.5, when.endOf(this.window) + this.window.range * 0.5) }, "Zoom out"),
      choice("Time zone", [["utc", "UTC"], ["local", "Local"]], when.isLocal() ? "local" : "utc", (zone) => {
        when.setLocal(zone === "local");
        this.told();
        for (const one of this.charts) one.draw();
      }), live, tool("refresh", "Again", () => (this.again(), say("Asked again"))));
    form.addEventListener("submit", (e) => (e.preventDefault(), this.again()));
    form.addEventListener("change", (e) => {
      const field = e.target as HTMLInputElement;
      if (field.name === "range") this.move({ range: when.duration(field.value) || 3600, end: this.window.end });
      else if (field.name === "end") {
        const end = field.value.trim() ? when.parse(field.value) : null;
        if (field.value.trim() && end === null) return field.setAttribute("aria-invalid", "true");
        field.removeAttribute("aria-invalid");
        this.move({ range: this.window.range, end });
      }
    });
    addEventListener("popstate", () => {
      this.read();
      this.again();
    });
    this.charts = [...document.querySelectorAll<HTMLElement>("[data-chart]")].map((one) => new Statistic(one, this));
    this.told();
  }

  key(): string {
    return `${this.window.range} ${this.window.end ?? "now"} ${this.version}`;
  }

  private read(): void {
    const given = new URLSearchParams(location.search);
    this.window = { range: when.duration(given.get("range") ?? "") || 3600, end: given.get("end") ? when.parse(given.get("end") ?? "") : null };
  }

  private again(): void {
    this.version += 1;
    this.told();
    for (const one of this.charts) one.wanted();
  }

  zoom(start: number, end: number): void {
    const range = Math.max(60, Math.round(end - start));
    const to = Math.round(start) + range;
    this.move(to >= when.now() - 1 ? { range, end: null } : { range, end: to });
  }

  private move(window: when.Window): void {
    this.window = window.end !== null && window.end >= when.now() ? { range: window.range, end: null } : window;
    const out = new URLSearchParams({ range: when.name(this.window.range) });
    if (this.window.end !== null) out.set("end", String(Math.round(this.window.end)));
    history.pushState(null, "", `${location.pathname}?${out.toString()}`);
    this.again();
  }

  private told(): void {
    let preset = false;
    for (const one of this.form.querySelectorAll<HTMLInputElement>("input[name=range]")) {
      one.checked = when.duration(one.value) === this.window.range;
      preset ||= one.checked;
    }
    const [start, end] = [when.startOf(this.window), when.endOf(this.window)];
    const days = when.day(start) === when.day(end) ? "" : `${when.day(start)} `;
    this.span.textContent = `${preset ? "" : `${when.spoken(this.window.range)}, `}${days}${when.clock(start)} to ${this.window.end === null ? "now" : `${days && `${when.day(end)} `}${when.clock(end)}`} ${when.zone()}`;
    for (const link of document.querySelectorAll<HTMLAnchorElement>("a[data-query]")) {
      const url = new URL(link.href);
      url.searchParams.set("range", when.name(this.window.range));
      if (this.window.end === null) url.searchParams.delete("end");
      else url.searchParams.set("end", String(Math.round(this.window.end)));
      link.href = url.pathname + url.search;
    }
    const field = this.form.querySelector<HTMLInputElement>("input[name=end]");
    if (field) field.value = this.window.end === null ? "" : when.full(this.window.end);
  }
}

const form = document.querySelector<HTMLFormElement>("form#statistics");
if (form) new Board(form);
