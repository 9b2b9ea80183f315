// Series on one grid of instants: gaps where a sample is missing, the small ones folded into one.

import type { Answer, Sample } from "./api";

/** Lines that are drawn one by one; what is smaller is folded. The last colour is for the fold. */
export const LINES = 7;
/** Lines that are drawn when all are asked for, and rows that are shown at once. */
export const MOST = 200;

export interface Line {
  /** In Prometheus' notation. */
  name: string;
  labels: Record<string, string>;
  /** One for each instant of the grid; null where there is none. */
  values: (number | null)[];
  min: number | null;
  mean: number | null;
  max: number | null;
  last: number | null;
  /** Of how many series this is the mean. */
  folds: number;
}

export interface Grid {
  /** Seconds since 1970. */
  times: number[];
  lines: Line[];
}

export function notation(labels: Record<string, string>): string {
  const { __name__: metric = "", ...rest } = labels;
  const pairs = Object.keys(rest).sort().map((k) => `${/^[a-zA-Z_]\w*$/.test(k) ? k : JSON.stringify(k)}=${JSON.stringify(rest[k])}`);
  if (metric && !/^[a-zA-Z_:][\w:]*$/.test(metric)) return `{${[JSON.stringify(metric), ...pairs].join(", ")}}`;
  return pairs.length || !metric ? `${metric}{${pairs.join(", ")}}` : metric;
}

export function value(text: string): number {
  if (text === "+Inf" || text === "Inf") return Infinity;
  return text === "-Inf" ? -Infinity : Number(text);
}

function summed(name: string, labels: Record<string, string>, values: (number | null)[], folds = 1): Line {
  let [min, max, sum, count]: [number | null, number | null, number, number] = [null, null, 0, 0];
  let last: number | null = null;
  for (const v of values) {
    if (v === null) continue;
    min = min === null || v < min ? v : min;
    max = max === null || v > max ? v : max;
    sum += v;
    count += 1;
    last = v;
  }
  return { name, labels, values, min, mean: count ? sum / count : null, max, last, folds };
}

/** Seconds that one place of the drawing stands for, when the server kept only least and most of each. */
export function reduced(answer: Answer, start: number, end: number, width: number): number {
  const points = Math.floor((end - start) / (answer.step || 1)) + 1;
  return width && points > 2 * width ? Math.max(0.001, (end - start) / width) : 0;
}

/** Two instants for each place: its least and its most, in the order in which they were. */
function peaks(answer: Answer, start: number, length: number, width: number): Grid {
  const times = Array.from({ length: 2 * (width + 1) }, (_, i) => start + length * (Math.floor(i / 2) + (i % 2 ? 0.75 : 0.25)));
  const lines = answer.samples.map((one) => {
    const values: (number | null)[] = new Array<number | null>(times.length).fill(null);
    const seen = new Map<number, { least: [number, number]; most: [number, number] }>();
    for (const [at, text] of one.values) {
      const v = value(text);
      const place = Math.floor((at - start) / length);
      if (!Number.isFinite(v) || place < 0 || place > width) continue;
      const here = seen.get(place);
      if (!here) seen.set(place, { least: [at, v], most: [at, v] });
      else if (v < here.least[1]) here.least = [at, v];
      else if (v > here.most[1]) here.most = [at, v];
    }
    for (const [place, { least, most }] of seen) {
      const [first, second] = least[0] <= most[0] ? [least, most] : [most, least];
      values[2 * place] = first[1];
      values[2 * place + 1] = second[1];
    }
    return summed(notation(one.labels), one.labels, values);
  });
  return { times, lines };
}

/** Puts the samples of a range on its grid. What no number can stand for is a gap. `width` is what the
    server was told: beyond two points for each, it keeps least and most of each. */
export function grid(answer: Answer, start: number, end: number, width = 0): Grid {
  const length = reduced(answer, start, end, width);
  if (length) return peaks(answer, start, length, width);
  const step = answer.step || 1;
  let from = start;
  for (const one of answer.samples) {
    const first = one.values[0]?.[0];
    // The server may have moved the start to a multiple of its step.
    if (first !== undefined) from = Math.min(from, first);
  }
  const first = answer.samples.find((one) => one.values.length)?.values[0]?.[0];
  if (first !== undefined) from = first - Math.floor((first - from) / step + 1e-6) * step;
  const count = Math.min(20_000, Math.max(1, Math.floor((end - from) / step + 1e-6) + 1));
  const times = Array.from({ length: count }, (_, i) => from + i * step);
  return { times, lines: answer.samples.map((one) => line(one, from, step, count)) };
}

function line(one: Sample, from: number, step: number, count: number): Line {
  const values: (number | null)[] = new Array<number | null>(count).fill(null);
  for (const [at, text] of one.values) {
    const i = Math.round((at - from) / step);
    const v = value(text);
    if (i >= 0 && i < count && Number.isFinite(v)) values[i] = v;
  }
  return summed(notation(one.labels), one.labels, values);
}

export const size = (l: Line): number => Math.max(Math.abs(l.max ?? 0), Math.abs(l.min ?? 0));

/** The largest ones, and the mean of the others as one more. */
export function fold(lines: Line[], keep: number): { top: Line[]; others: Line | null } {
  const sorted = [...lines].sort((a, b) => size(b) - size(a) || (a.name < b.name ? -1 : 1));
  if (sorted.length <= keep + 1) return { top: sorted, others: null };
  const rest = sorted.slice(keep);
  const length = rest[0]?.values.length ?? 0;
  const values: (number | null)[] = [];
  for (let i = 0; i < length; i += 1) {
    let [sum, count] = [0, 0];
    for (const one of rest) {
      const v = one.values[i];
      if (v === null || v === undefined) continue;
      sum += v;
      count += 1;
    }
    values.push(count ? sum / count : null);
  }
  return { top: sorted.slice(0, keep), others: summed(`${rest.length} others, folded`, {}, values, rest.length) };
}

/** Labels that are the same in all lines say nothing in a list of them. */
export function common(lines: { labels: Record<string, string> }[]): Record<string, string> {
  const [first, ...rest] = lines;
  if (!first || !rest.length) return {};
  const same = Object.entries(first.labels).filter(([k, v]) => rest.every((one) => one.labels[k] === v));
  return Object.fromEntries(same);
}
