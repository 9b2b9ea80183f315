// A line chart of uPlot in our colours: gaps stay gaps, a drag zooms, arrows move the cursor.

import uPlot from "uplot";
import { plain } from "./dom";
import type { Line } from "./series";
import { steps, type Unit, write } from "./units";
import * as when from "./when";

const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [5, 2], [], [7, 3], []];
const FONT = '11px system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif';

let colours: Record<string, string> = {};
const drawn = new Set<Chart>();

/** Colours are read from the style sheet, and again when the theme changes. */
function colour(name: string): string {
  if (!colours[name]) {
    const probe = document.createElement("i");
    probe.hidden = true;
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    colours[name] = getComputedStyle(probe).color;
    probe.remove();
  }
  return colours[name] ?? "gray";
}

function themed(): void {
  colours = {};
  for (const chart of drawn) chart.redraw();
}
new MutationObserver(themed).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themed);

/** Which of the eight series colours a line has. */
export const slot = (index: number, line: Line): number => (line.folds > 1 ? 8 : (index % 7) + 1);

/** Its dashes: when the colours come round again, others than before. */
export const dashes = (index: number, line: Line): number[] => (line.folds > 1 ? [] : (DASHES[(index + 3 * Math.floor(index / 7)) % 7] ?? []));

export interface Hooks {
  /** Name of the cursor that all charts of the page share. */
  sync: string;
  height?: number;
  zoom: (start: number, end: number) => void;
  /** Index of the instant under the cursor; null when it left. */
  cursor: (index: number | null) => void;
}

interface Shown {
  times: number[];
  lines: Line[];
  unit: Unit;
  stacked: boolean;
  label: string;
}

export class Chart {
  readonly host: HTMLElement;
  private plot: uPlot | null = null;
  private shown: Shown | null = null;
  private at: number | null = null;
  private readonly watch: ResizeObserver;

  constructor(host: HTMLElement, private readonly hooks: Hooks) {
    this.host = host;
    host.tabIndex = 0;
    host.setAttribute("role", "application");
    host.setAttribute("aria-roledescription", "chart");
    host.addEventListener("keydown", (e) => this.key(e));
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(host);
    drawn.add(this);
  }

  destroy(): void {
    this.watch.disconnect();
    drawn.delete(this);
    this.plot?.destroy();
    this.plot = null;
  }

  redraw(): void {
    this.plot?.redraw(false);
  }

  set(shown: Shown): void {
    this.plot?.destroy();
    this.shown = shown;
    this.at = null;
    this.host.setAttribute("aria-label", `${shown.label} Arrow keys move the cursor, plus and minus zoom; the table below has the values.`);
    this.plot = new uPlot(this.options(shown), data(shown), this.host);
    this.plot.root.setAttribute("aria-hidden", "true");
  }

  /** Hides or shows the line of that place. */
  show(index: number, on: boolean): void {
    this.plot?.setSeries(index + 1, { show: on });
  }

  /** Brings one line out; null: all alike. */
  focus(index: number | null): void {
    this.plot?.setSeries(index === null ? null : index + 1, { focus: true });
  }

  private width(): number {
    return Math.max(240, this.host.clientWidth);
  }

  private fit(): void {
    const width = this.width();
    if (this.plot && this.plot.width !== width) this.plot.setSize({ width, height: this.height() });
  }

  private height(): number {
    if (document.fullscreenElement?.contains(this.host)) return Math.max(240, Math.round(innerHeight * 0.6));
    return this.hooks.height ?? 300;
  }

  private options(shown: Shown): uPlot.Options {
    const axis = { stroke: () => colour("ink-3"), font: FONT, ticks: { show: false } };
    return {
      width: this.width(),
      height: this.height(),
      legend: { show: false },
      padding: [12, 24, 0, 0],
      focus: { alpha: 0.25 },
      cursor: {
        sync: { key: this.hooks.sync, setSeries: false },
        drag: { x: true, y: false, setScale: false, dist: 6 },
        points: { size: 8, width: 2, stroke: (_u, i) => this.stroke(i), fill: () => colour("surface") },
      },
      scales: { x: { time: true, range: [shown.times[0] ?? 0, shown.times.at(-1) ?? 1] }, y: { range: (_u, low, high) => span(low, high) } },
      axes: [
        { ...axis, grid: { show: false }, ticks: { show: true, stroke: () => colour("line-2"), width: 1, size: 4 }, space: 64, size: 36, values: (_u, splits, _a, _s, step) => stamps(splits, step) },
        { ...axis, grid: { stroke: () => colour("line"), width: 1 }, size: (_u, values) => 14 + 6.2 * Math.max(3, ...(values ?? []).map((v) => v.length)), incrs: steps(shown.unit), space: 44, values: (_u, splits) => splits.map((v) => write(v, shown.unit)) },
      ],
      series: [{}, ...shown.lines.map((line, i) => this.series(line, i, shown))],
      hooks: {
        setCursor: [(u) => this.moved(u.cursor.idx ?? null)],
        setSelect: [(u) => this.selected(u)],
      },
    };
  }

  private stroke(series: number): string {
    const line = this.shown?.lines[series - 1];
    return line ? colour(`c${slot(series - 1, line)}`) : "gray";
  }

  private series(line: Line, index: number, shown: Shown): uPlot.Series {
    const dash = dashes(index, line);
    return {
      label: plain(line.name, 120),
      stroke: () => colour(`c${slot(index, line)}`),
      width: 1.75,
      ...(dash.length && !shown.stacked ? { dash } : {}),
      ...(shown.stacked ? { fill: () => colour(`c${slot(index, line)}`).replace(/^rgb\(/, "rgba(").replace(/\)$/, ", .35)") } : {}),
      spanGaps: false,
      // A sample alone between two gaps has no line: it gets a point.
      points: { size: 4, show: () => false, filter: (u, s, on) => (on ? null : lonely(u.data[s] ?? [])) },
    };
  }

  private moved(index: number | null): void {
    if (this.at === index) return;
    this.at = index;
    this.hooks.cursor(index);
  }

  private selected(u: uPlot): void {
    const { left, width } = u.select;
    if (width < 6) return;
    const [start, end] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.hooks.zoom(start, end);
  }

  private key(e: KeyboardEvent): void {
    const shown = this.shown;
    const plot = this.plot;
    if (!shown || !plot || e.ctrlKey || e.metaKey || e.altKey) return;
    const last = shown.times.length - 1;
    const [start, end] = [shown.times[0] ?? 0, shown.times[last] ?? 0];
    const here = this.at ?? last;
    const move = (to: number) => {
      const index = Math.max(0, Math.min(last, to));
      plot.setCursor({ left: plot.valToPos(shown.times[index] ?? 0, "x"), top: plot.over.clientHeight / 2 });
    };
    const zoom = (by: number) => {
      const middle = this.at === null ? (start + end) / 2 : (shown.times[this.at] ?? 0);
      const half = Math.max(5, ((end - start) * by) / 2);
      this.hooks.zoom(middle - half, middle + half);
    };
    const pan = (by: number) => this.hooks.zoom(start + (end - start) * by, end + (end - start) * by);
    const keys: Record<string, () => void> = {
      ArrowLeft: () => (e.shiftKey ? pan(-0.5) : move(here - 1)),
      ArrowRight: () => (e.shiftKey ? pan(0.5) : move(here + 1)),
      PageUp: () => move(here - Math.ceil(last / 10)),
      PageDown: () => move(here + Math.ceil(last / 10)),
      Home: () => move(0),
      End: () => move(last),
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      Escape: () => plot.setCursor({ left: -10, top: -10 }),
    };
    const act = keys[e.key];
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  }
}

/** From zero, unless that would hide what moves: a nearly flat line must not look like a storm. */
function span(low: number | null, high: number | null): uPlot.Range.MinMax {
  if (low === null || high === null) return [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  const flat = high - low < size * 0.05;
  if (size === 0) return [0, 1];
  if (low >= 0 && (flat || low <= high / 2)) return [0, high * 1.12];
  if (high <= 0 && flat) return [low * 1.12, 0];
  return uPlot.rangeNum(low, high, 0.12, true);
}

function data(shown: Shown): uPlot.AlignedData {
  if (!shown.stacked) return [shown.times, ...shown.lines.map((l) => l.values)];
  // From the last to the first, so that each lies on those after it and is painted before them.
  const under = new Array<number>(shown.times.length).fill(0);
  const stacks = shown.lines.map(() => [] as (number | null)[]);
  for (let s = shown.lines.length - 1; s >= 0; s -= 1) {
    const values = shown.lines[s]?.values ?? [];
    stacks[s] = values.map((v, i) => (v === null ? null : (under[i] = (under[i] ?? 0) + v)));
  }
  return [shown.times, ...stacks];
}

function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const out: number[] = [];
  for (let i = 0; i < values.length; i += 1) {
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) out.push(i);
  }
  return out;
}

/** Times of an axis: the date stands at its first one and where the day changes. */
function stamps(splits: number[], step: number): string[] {
  let before = "";
  return splits.map((at) => {
    const today = when.day(at);
    const changed = today !== before;
    before = today;
    if (step >= 86_400) return `${today}\n${changed ? when.parts(at).y : ""}`;
    return changed ? `${when.clock(at, step < 60)}\n${today}` : when.clock(at, step < 60);
  });
}
