// The values as a table: legend, reading of the cursor and accessible form of the chart in one.

import { h, num, plain, shown, svg } from "./dom";
import { common, type Line, notation } from "./series";
import { dashes, slot } from "./chart";
import { type Unit, write } from "./units";
import * as when from "./when";

type Column = "min" | "mean" | "max" | "last";
const COLUMNS: [Column, string][] = [["min", "Min"], ["mean", "Mean"], ["max", "Max"], ["last", "Last"]];

export interface Hooks {
  /** All series are wanted instead of the fold. */
  unfold: () => void;
  toggle: (index: number, on: boolean) => void;
  focus: (index: number | null) => void;
}

/** Labels in the colours of code; those in `without` are left out. */
export function labels(all: Record<string, string>, without: Record<string, string> = {}): HTMLElement {
  const out = h("span", { class: "mono" });
  const metric = all["__name__"];
  if (metric !== undefined && !("__name__" in without)) out.append(shown(metric, 200));
  const rest = Object.keys(all).filter((k) => k !== "__name__" && !(k in without)).sort();
  rest.forEach((k, i) => {
    out.append(i || (metric && !("__name__" in without)) ? ", " : "", h("span", { class: "c-k" }, shown(k, 100)), "=", h("span", { class: "c-s" }, '"', shown(all[k] ?? "", 120), '"'));
  });
  if (!out.childNodes.length) out.append(notation(all) === "{}" ? "{}" : shown(notation(all)));
  return out;
}

export class Values {
  readonly host: HTMLElement;
  private cells: HTMLElement[] = [];
  private head: HTMLElement | null = null;
  private lines: Line[] = [];
  private times: number[] = [];
  private unit: Unit = { s: 0, b: 0 };
  private sort: Column = "max";
  private pinned: number | null = null;

  constructor(of: string, private readonly hooks: Hooks) {
    this.host = h("div", { class: "scroll", role: "region", "aria-label": `Values of ${of}`, tabindex: "0", "data-testid": "values" });
  }

  set(times: number[], lines: Line[], unit: Unit): void {
    this.times = times;
    this.lines = lines;
    this.unit = unit;
    this.draw();
  }

  /** Values at an instant; null: the last one. */
  at(index: number | null): void {
    const i = index ?? this.times.length - 1;
    const time = this.times[i];
    if (time === undefined || !this.head) return;
    this.head.textContent = `At ${when.clock(time, (this.times[1] ?? 0) - (this.times[0] ?? 0) < 60)}`;
    this.lines.forEach((line, n) => {
      const cell = this.cells[n];
      if (!cell) return;
      const v = line.values[i];
      cell.replaceChildren(v === null || v === undefined ? h("span", { class: "mute" }, "no sample") : h("b", {}, write(v, this.unit)));
    });
  }

  private draw(): void {
    const order = this.lines.map((_, i) => i).sort((a, b) => this.rank(b) - this.rank(a));
    const same = common(this.lines.filter((l) => l.folds === 1));
    this.cells = [];
    this.head = h("th", { role: "columnheader", scope: "col", class: "num" }, "At the end");
    const heads = COLUMNS.map(([column, words]) => {
      const sorted = column === this.sort;
      const press = () => {
        this.sort = column;
        this.draw();
        this.host.querySelector<HTMLElement>(`[data-column=${column}]`)?.focus();
      };
      return h("th", { role: "columnheader", scope: "col", class: `num${column === "min" || column === "mean" ? " p3" : ""}`, "aria-sort": sorted ? "descending" : undefined }, h("button", { type: "button", class: "plain", "data-column": column, click: press }, words));
    });
    const rows = order.map((i) => this.row(i, same));
    const table = h("table", { class: "table cards", role: "table" }, h("caption", { class: "sr" }, "Series and their values; the first column of numbers is at the cursor"),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col" }, "Series"), this.head, ...heads)),
      h("tbody", { role: "rowgroup" }, ...rows));
    const fixed = Object.keys(same).length ? h("p", { class: "hint common" }, "In all series: ", labels(same)) : null;
    this.host.replaceChildren(table, ...(fixed ? [fixed] : []));
    this.at(null);
  }

  private rank(i: number): number {
    const line = this.lines[i];
    if (!line || line.folds > 1) return -Infinity;
    return line[this.sort] ?? -Number.MAX_VALUE;
  }

  private row(i: number, same: Record<string, string>): HTMLElement {
    const line = this.lines[i] as Line;
    const cell = h("td", { role: "cell", class: "num", "data-label": "At cursor" });
    this.cells[i] = cell;
    const path = svg("path", { class: "series", "data-s": slot(i, line), d: "M0 6H24" });
    path.style.strokeDasharray = dashes(i, line).join(" ") || "none";
    const key = svg("svg", { class: "key", viewBox: "0 0 24 12", "aria-hidden": "true" }, path);
    const folded = line.folds > 1;
    const press = (e: Event) => {
      const button = e.currentTarget as HTMLButtonElement;
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      this.hooks.toggle(i, on);
    };
    const swatch = h("button", { type: "button", class: "swatch", "aria-pressed": "true", "aria-label": `Draw ${plain(line.name, 160)}`, title: "Draw this line", click: press }, key);
    const name = folded
      ? h("span", {}, `${num(line.folds)} others, folded into their mean `, h("button", { type: "button", class: "plain tone", "data-tone": "accent", click: () => this.hooks.unfold() }, "Show"))
      : labels(line.labels, same);
    const rest = COLUMNS.map(([column, words]) => h("td", { role: "cell", class: `num${column === "min" || column === "mean" ? " p3" : ""}`, "data-label": words }, write(line[column], this.unit)));
    const focus = (on: number | null) => () => this.hooks.focus(on);
    return h("tr", { role: "row", "data-testid": folded ? "others-row" : "series-row", mouseenter: focus(i), mouseleave: focus(null) },
      h("th", { role: "rowheader", scope: "row" }, h("span", { class: "keyed" }, swatch, name)), cell, ...rest);
  }
}
