// One query on many clusters: answers as they come, failures beside them.

import { say, toast } from "../say";
import { cancelled, type Answer, type Problem, type Sample, samples, send } from "./api";
import { safe } from "./csv";
import { blank, h, icon, notice, num, plain, save, shown, svg } from "./dom";
import { Editor } from "./editor";
import { guess } from "./guess";
import { step } from "./panel";
import { Result } from "./result";
import { notation, value } from "./series";
import { events } from "./stream";
import { Suggester } from "./suggest";
import { words, write } from "./units";
import { labels } from "./values";
import * as when from "./when";

interface Answered {
  cluster: string;
  path: string;
  took_ms: number;
  series: number;
  partial: boolean;
  warnings?: string[];
  data?: { resultType: Answer["type"]; result: unknown };
}

interface Fault {
  cluster: string;
  path: string;
  took_ms: number;
  error: { what: string; why?: string; side: string; code: string; action?: string };
}

interface Row {
  cluster: string;
  path: string;
  took: number;
  sample: Sample;
  value: number;
}

/** Samples that a page holds, at most. */
const MOST = 50_000;
const PAGE = 50;

export class Fleet {
  private readonly editor: Editor;
  private readonly out: HTMLElement;
  private readonly runs: HTMLButtonElement;
  private readonly stops: HTMLButtonElement;
  private running: AbortController | null = null;
  private result: Result | null = null;
  private answers: Answered[] = [];
  private faults: Fault[] = [];
  private together: { data: NonNullable<Answered["data"]>; missing: number } | null = null;
  private planned = 0;
  private done = false;
  private broken = "";
  private dropped = 0;
  private held = 0;
  private started = 0;
  private window = { start: 0, end: 0, step: 0 };
  private asked = "";
  private kind: "range" | "instant" = "instant";
  private limit = PAGE;
  private timer = 0;

  constructor(private readonly form: HTMLFormElement) {
    const field = form.querySelector<HTMLTextAreaElement>("textarea[name=query]");
    const foot = form.querySelector<HTMLElement>(".editor-foot");
    const row = form.querySelector<HTMLElement>("[data-run]");
    const out = document.querySelector<HTMLElement>("[data-fleet]");
    if (!field || !foot || !row || !out) throw new Error("a page without its parts");
    this.out = out;
    const verdict = h("span", { class: "tone verdict-line", role: "status" });
    const unit = h("span");
    const told = (text: string) => (unit.textContent = words(guess(text)) && `Unit: ${words(guess(text))}, from the names`);
    foot.replaceChildren(verdict, unit, h("span", { class: "hide-narrow" }, h("kbd", {}, "Ctrl Enter"), " run"));
    this.editor = new Editor(field.value, new Suggester(() => "", () => ""), {
      label: "PromQL query for the fleet",
      run: () => void this.run(),
      format: () => undefined,
      changed: (text) => {
        field.value = text;
        told(text);
        this.cancel();
      },
      verdict: (v) => {
        verdict.dataset["tone"] = v.tone;
        verdict.replaceChildren(icon(v.tone === "ok" ? "check" : v.tone === "bad" ? "failed" : "info"), ` ${v.text}`);
      },
    });
    told(field.value);
    field.hidden = true;
    field.before(this.editor.host);
    this.runs = h("button", { class: "btn", type: "submit", "data-kind": "primary", title: "Run (Ctrl Enter)", "data-testid": "run" }, icon("play"), h("span", {}, "Run"));
    this.stops = h("button", { class: "btn", type: "button", hidden: true, "data-testid": "stop", click: () => this.cancel() && say("Stopped") }, icon("stop"), h("span", {}, "Stop"));
    row.replaceChildren(this.stops, this.runs);
    const operator = form.querySelector<HTMLSelectElement>("select[name=aggregate]");
    const fields = () => {
      for (const [name, of] of [["k", ["topk"]], ["by", ["sum", "min", "max", "avg", "count", "topk"]]] as const) {
        const label = form.querySelector(`input[name=${name}]`)?.closest("label");
        if (label) label.hidden = !(of as readonly string[]).includes(operator?.value ?? "");
      }
    };
    operator?.addEventListener("change", fields);
    fields();
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      void this.run();
    });
    if (field.value.trim() && new URLSearchParams(location.search).has("query")) void this.run();
  }

  private read(name: string): string {
    return String(new FormData(this.form).get(name) ?? "").trim();
  }

  private cancel(): boolean {
    if (!this.running) return false;
    this.running.abort();
    this.running = null;
    this.broken = "stopped";
    this.state(false);
    this.draw();
    return true;
  }

  private state(busy: boolean): void {
    this.stops.hidden = !busy;
    const label = this.runs.querySelector("span");
    if (label) label.textContent = busy ? "Running…" : "Run";
  }

  private question(): Record<string, unknown> {
    this.kind = this.read("kind") === "range" ? "range" : "instant";
    const range = when.duration(this.read("range")) || 3600;
    const end = when.now();
    const every = step(range, 200);
    this.window = { start: Math.ceil((end - range) / every) * every, end: Math.floor(end / every) * every, step: every };
    const aggregate = this.read("aggregate");
    const by = this.read("by").split(/[\s,]+/).filter(Boolean);
    return {
      query: this.asked,
      clusters: this.read("clusters"),
      ...(this.kind === "range" ? this.window : { time: end }),
      aggregate,
      ...(by.length ? { by } : {}),
      ...(aggregate === "topk" ? { k: Number(this.read("k")) || 10 } : {}),
    };
  }

  async run(): Promise<void> {
    this.cancel();
    this.asked = this.editor.text().trim();
    if (!this.asked) return toast("There is nothing to run yet.", "warn");
    const body = this.question();
    this.address();
    Object.assign(this, { answers: [], faults: [], together: null, planned: 0, done: false, broken: "", dropped: 0, held: 0, limit: PAGE, started: performance.now() });
    this.result?.destroy();
    this.result = null;
    const mine = new AbortController();
    this.running = mine;
    this.state(true);
    this.draw();
    try {
      const answer = await send("POST", "/api/v1/fleet/query", mine.signal, body);
      for await (const event of events(answer)) {
        if (this.running !== mine) return;
        this.take(event.name, event.data);
      }
      if (this.running !== mine) return;
      if (!this.done) this.broken = "The answer broke off before its end.";
    } catch (error) {
      if (cancelled(error) || this.running !== mine) return;
      const problem = error as Problem;
      if (problem.at) this.editor.mark(problem.at.line, problem.at.column, problem.message);
      this.broken = [problem.message, problem.action].filter(Boolean).join(". ");
    }
    this.running = null;
    this.state(false);
    this.draw();
    say(this.broken || `${this.answers.length} of ${this.planned} clusters answered, ${this.faults.length} failed`);
  }

  private address(): void {
    const out = new URLSearchParams();
    for (const [name, value] of new FormData(this.form)) if (typeof value === "string" && value && name !== "run") out.set(name, value);
    out.set("query", this.asked);
    history.replaceState(null, "", `${location.pathname}?${out.toString()}`);
  }

  private take(name: string, data: unknown): void {
    if (name === "plan") this.planned = (data as { clusters: number }).clusters;
    else if (name === "answer") {
      const one = data as Answered;
      const size = one.data ? samples(one.data).reduce((n, s) => n + s.values.length, 0) : 0;
      if (this.held + size > MOST) {
        this.dropped += 1;
        delete one.data;
      } else this.held += size;
      this.answers.push(one);
    } else if (name === "fault") this.faults.push(data as Fault);
    else if (name === "aggregate") this.together = data as { data: NonNullable<Answered["data"]>; missing: number };
    else if (name === "end") this.done = true;
    if (!this.timer) {
      this.timer = window.setTimeout(() => {
        this.timer = 0;
        this.draw();
      }, 250);
    }
  }

  private progress(): Node {
    const waiting = Math.max(0, this.planned - this.answers.length - this.faults.length);
    const all = Math.max(1, this.planned);
    const bar = (n: number) => Math.round((n / all) * 1000);
    const meter = svg("svg", { class: "meter", viewBox: "0 0 1000 6", preserveAspectRatio: "none", role: "img", "aria-label": `${this.answers.length} answered, ${this.faults.length} failed, ${waiting} waiting` },
      svg("rect", { "data-tone": "accent", width: bar(this.answers.length), height: 6 }), svg("rect", { "data-tone": "bad", x: bar(this.answers.length), width: bar(this.faults.length), height: 6 }));
    const took = ((performance.now() - this.started) / 1000).toFixed(1);
    return h("div", { class: "panel-body stack tight" }, h("div", { class: "row", "data-testid": "progress" }, h("span", {}, h("b", {}, num(this.answers.length)), ` of ${num(this.planned)} answered`),
      this.faults.length ? h("span", { class: "tone", "data-tone": "bad" }, icon("away"), " ", h("b", {}, num(this.faults.length)), " failed") : null,
      waiting && this.running ? h("span", { class: "mute" }, h("b", {}, num(waiting)), " waiting") : null, h("span", { class: "mute push" }, this.running ? `${took} s` : this.done ? `done in ${took} s` : "")), meter);
  }

  private draw(): void {
    const parts: Node[] = [];
    const focused = this.out.contains(document.activeElement);
    if (this.broken && !this.planned) {
      parts.push(this.broken === "stopped" ? blank("stop", "mute", "Stopped", "The questions were taken back from the clusters too.") : notice("bad", "It could not be asked.", this.broken));
      return this.put(parts, focused);
    }
    parts.push(this.progress());
    if (this.broken) parts.push(notice("warn", this.broken === "stopped" ? "Stopped." : "Incomplete.", this.broken === "stopped" ? "What had come until then is below." : this.broken));
    const missing = this.faults.length + (this.running ? 0 : Math.max(0, this.planned - this.answers.length - this.faults.length));
    if (missing && !this.running) parts.push(notice("warn", "Partial answer.", `${num(missing)} of ${num(this.planned)} clusters ${missing === 1 ? "is" : "are"} missing; sums and rankings may change.`));
    const partial = this.answers.filter((one) => one.partial).length;
    if (partial) parts.push(notice("warn", "Cut.", `${num(partial)} ${partial === 1 ? "cluster" : "clusters"} had more series than one answer holds.`));
    if (this.dropped) parts.push(notice("warn", "Too much to hold.", `The values of ${num(this.dropped)} clusters are not kept by this page. Aggregate, or choose fewer clusters.`));
    if (this.planned === 0 && this.done) parts.push(blank("search", "mute", "No cluster matches", "Widen the search; an empty one means every cluster."));
    if (this.together) parts.push(this.graphOrTable({ type: this.together.data.resultType, samples: samples(this.together.data), warnings: [], source: "", step: this.window.step, took: performance.now() - this.started }));
    else if (this.answers.length) parts.push(this.kind === "range" ? this.graphOrTable(this.merged()) : this.table());
    if (this.faults.length) parts.push(this.failures());
    this.put(parts, focused);
  }

  private put(parts: Node[], focused: boolean): void {
    this.out.replaceChildren(...parts);
    if (focused) this.out.focus({ preventScroll: true });
  }

  private merged(): Answer {
    const all = this.answers.flatMap((one) => (one.data ? samples(one.data).map((s) => ({ ...s, labels: { ...s.labels, cluster: s.labels["cluster"] ?? one.cluster } })) : []));
    return { type: "matrix", samples: all, warnings: [], source: "", step: this.window.step, took: performance.now() - this.started };
  }

  /** Drawn as on the explorer; while answers come, at the pace of `draw`. */
  private graphOrTable(answer: Answer): Node {
    this.result ??= new Result({ letter: "of the fleet", zoom: () => undefined, stop: () => undefined, again: () => void this.run(), view: () => undefined });
    this.result.show(answer, this.asked, this.kind === "range" ? this.window : null);
    return this.result.host;
  }

  private rows(): Row[] {
    return this.answers.flatMap((one) => (one.data ? samples(one.data).map((sample) => ({ cluster: one.cluster, path: one.path, took: one.took_ms, sample, value: value(sample.values.at(-1)?.[1] ?? "NaN") })) : []));
  }

  private table(): Node {
    const rank = (v: number) => (Number.isNaN(v) ? -Infinity : v);
    const rows = this.rows().sort((a, b) => rank(b.value) - rank(a.value) || (a.cluster < b.cluster ? -1 : 1));
    const most = Math.max(...rows.map((r) => (Number.isFinite(r.value) ? Math.abs(r.value) : 0)), Number.MIN_VALUE);
    const unit = guess(this.asked);
    const body = rows.slice(0, this.limit).map((r) => {
      const { cluster: _, ...rest } = r.sample.labels;
      const width = Math.round((Math.abs(Number.isFinite(r.value) ? r.value : 0) / most) * 100);
      return h("tr", { role: "row", "data-testid": "answer-row" }, h("th", { role: "rowheader", scope: "row" }, h("a", { href: r.path }, shown(r.cluster)), Object.keys(rest).length ? h("span", { class: "sub" }, labels(rest)) : null),
        h("td", { role: "cell", class: "full" }, h("span", { class: "metered" }, svg("svg", { class: "meter", "data-tone": "accent", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width, height: 6 })), h("b", { class: "num" }, write(r.value, unit)))),
        h("td", { role: "cell", class: "num", "data-label": "Took" }, write(r.took / 1000, { s: 1, b: 0 })));
    });
    const silent = this.answers.filter((one) => one.series === 0).length;
    const foot = h("div", { class: "panel-foot" }, h("span", {}, h("b", {}, num(rows.length)), " series", silent ? `, none from ${num(silent)} clusters` : ""),
      h("span", { class: "push row" }, rows.length > this.limit ? h("button", { class: "btn", type: "button", "data-size": "s", click: () => ((this.limit += PAGE), this.draw()) }, "Show more") : null,
        h("button", { class: "btn", type: "button", "data-size": "s", click: () => this.csv() }, icon("download"), "CSV"), h("button", { class: "btn", type: "button", "data-size": "s", click: () => this.json() }, icon("download"), "JSON")));
    if (!rows.length) return h("div", {}, blank("search", "mute", "No series", `${num(this.answers.length)} ${this.answers.length === 1 ? "cluster" : "clusters"} answered, and nothing matches.`));
    return h("div", { class: "scroll", role: "region", "aria-label": "Values", tabindex: "0" }, h("table", { class: "table cards", role: "table" }, h("caption", { class: "sr" }, "Answers by cluster, largest first"),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col" }, "Cluster"), h("th", { role: "columnheader", scope: "col", "aria-sort": "descending" }, "Value"), h("th", { role: "columnheader", scope: "col", class: "num" }, "Took"))),
      h("tbody", { role: "rowgroup" }, ...body)), foot);
  }

  private failures(): Node {
    const rows = this.faults.slice(0, 200).map((one) => h("li", { "data-tone": "bad", "data-testid": "fault-row" }, icon("away"), h("div", { class: "body" }, h("a", { href: one.path }, shown(one.cluster)), h("p", { class: "quote" }, shown([...new Set([one.error.what, one.error.why].filter(Boolean))].join(": ")), one.error.action ? ` ${plain(one.error.action)}` : "")),
      h("span", { class: "aside" }, write(one.took_ms / 1000, { s: 1, b: 0 }))));
    return h("details", { class: "failures", open: this.faults.length <= 5 }, h("summary", { class: "panel-foot" }, `${num(this.faults.length)} ${this.faults.length === 1 ? "cluster" : "clusters"} failed`), h("ul", { class: "items" }, ...rows));
  }

  private csv(): void {
    const cell = (text: string) => `"${safe(text).replaceAll('"', '""')}"`;
    const lines = this.rows().flatMap((r) => r.sample.values.map(([at, v]) => [cell(r.cluster), cell(notation(r.sample.labels)), new Date(at * 1000).toISOString(), v].join(",")));
    const failed = this.faults.map((f) => [cell(f.cluster), cell(`failed: ${f.error.what}`), "", ""].join(","));
    save(`fleet-${when.full(when.now()).replace(/\D/g, "")}.csv`, "text/csv", [["cluster,series,time,value", ...lines, ...failed].join("\r\n"), "\r\n"]);
  }

  private json(): void {
    save(`fleet-${when.full(when.now()).replace(/\D/g, "")}.json`, "application/json", [JSON.stringify({ query: this.asked, answers: this.answers, faults: this.faults }, null, 1)]);
  }
}
