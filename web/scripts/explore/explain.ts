// What a query does, as a tree in words.

import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";
import { h, shown } from "./dom";
import { duration, spoken } from "./when";

interface Step {
  /** Function, operator or metric. */
  what: string;
  /** In words. */
  does: string;
  /** Metric name: written as such. */
  metric?: boolean;
  /** The part of the query. */
  text: string;
  parts: Step[];
}

const FUNCTIONS: Record<string, string> = {
  rate: "per second, averaged over the range; resets of counters are handled",
  irate: "per second, between the last two samples only",
  increase: "how much it grew over the range; resets are handled",
  delta: "last minus first of the range, for gauges",
  idelta: "the last two samples' difference",
  deriv: "slope per second by linear regression",
  predict_linear: "where it will be, if it goes on like this",
  histogram_quantile: "the value below which that share of observations lies, from buckets",
  histogram_count: "number of observations of a histogram",
  histogram_sum: "sum of observations of a histogram",
  histogram_avg: "mean of observations of a histogram",
  histogram_fraction: "share of observations between two bounds",
  avg_over_time: "mean of each series over the range",
  min_over_time: "least of each series over the range",
  max_over_time: "greatest of each series over the range",
  sum_over_time: "sum of each series over the range",
  count_over_time: "number of samples of each series in the range",
  quantile_over_time: "quantile of each series over the range",
  stddev_over_time: "standard deviation over the range",
  stdvar_over_time: "variance over the range",
  last_over_time: "the newest sample of the range",
  present_over_time: "1 where there was any sample in the range",
  absent_over_time: "1 when nothing was there in the whole range",
  absent: "1 when nothing is there",
  changes: "how often the value changed in the range",
  resets: "how often a counter fell back in the range",
  label_replace: "writes a label from parts of another",
  label_join: "writes a label from several others",
  clamp: "bounded from below and above",
  clamp_min: "at least the given value",
  clamp_max: "at most the given value",
  sort: "in ascending order, in instant queries",
  sort_desc: "in descending order, in instant queries",
  time: "the instant of evaluation, seconds since 1970",
  timestamp: "the instant of each sample",
  vector: "a number as a series without labels",
  scalar: "the one series as a number",
  round: "rounded",
  floor: "rounded down",
  ceil: "rounded up",
  abs: "without the sign",
  sqrt: "square root",
  exp: "e to the power of it",
  ln: "natural logarithm",
  log2: "logarithm to base 2",
  log10: "logarithm to base 10",
  sgn: "the sign alone: -1, 0 or 1",
  holt_winters: "smoothed by trend",
  hour: "hour of the day, UTC",
  minute: "minute of the hour, UTC",
  day_of_week: "day of the week, UTC; 0 is Sunday",
  day_of_month: "day of the month, UTC",
  days_in_month: "length of the month",
  month: "month, UTC",
  year: "year, UTC",
};

const AGGREGATES: Record<string, string> = {
  sum: "adds up",
  min: "keeps the least",
  max: "keeps the greatest",
  avg: "takes the mean",
  count: "counts series",
  group: "makes one series of value 1",
  stddev: "takes the standard deviation",
  stdvar: "takes the variance",
  count_values: "counts series by value",
  topk: "keeps the largest",
  bottomk: "keeps the smallest",
  quantile: "takes a quantile",
  limitk: "keeps any few",
  limit_ratio: "keeps any share",
};

const OPERATORS: Record<string, string> = {
  Add: "adds", Sub: "subtracts", Mul: "multiplies", Div: "divides", Mod: "takes the remainder", Pow: "raises to the power", Atan2: "takes the angle",
  And: "keeps what is also on the right", Or: "adds what is only on the right", Unless: "drops what is on the right",
  Eql: "keeps equal ones", Neq: "keeps different ones", Gtr: "keeps greater ones", Gte: "keeps greater or equal ones", Lss: "keeps smaller ones", Lte: "keeps smaller or equal ones",
};

const EXPRESSION = /^(AggregateExpr|BinaryExpr|FunctionCall|MatrixSelector|OffsetExpr|ParenExpr|StepInvariantExpr|SubqueryExpr|UnaryExpr|VectorSelector|NumberDurationLiteral|StringLiteral)$/;

function expressions(node: SyntaxNode | null): SyntaxNode[] {
  const out: SyntaxNode[] = [];
  for (let at = node?.firstChild ?? null; at; at = at.nextSibling) if (EXPRESSION.test(at.name)) out.push(at);
  return out;
}

class Reader {
  constructor(private readonly query: string) {}

  private text = (node: SyntaxNode | null | undefined): string => (node ? this.query.slice(node.from, node.to) : "");

  private long = (node: SyntaxNode | null | undefined): string => {
    const given = this.text(node);
    return duration(given) ? spoken(duration(given)) : given;
  };

  step(node: SyntaxNode): Step {
    const text = this.text(node);
    const parts = (from: SyntaxNode | null) => expressions(from).filter((e) => !/Literal$/.test(e.name)).map((e) => this.step(e));
    const numbers = (from: SyntaxNode | null) => expressions(from).filter((e) => /Literal$/.test(e.name)).map((e) => this.text(e));
    switch (node.name) {
      case "AggregateExpr": {
        const op = this.text(node.getChild("AggregateOp"));
        const body = node.getChild("FunctionCallBody");
        const given = numbers(body)[0];
        const by = this.text(node.getChild("AggregateModifier")).replace(/\s+/g, " ").replace(/[()]/g, "").trim();
        const does = [AGGREGATES[op] ?? "brings series together", given ?? "", by || (/^(topk|bottomk|limitk)$/.test(op) ? "" : "over everything")];
        return { what: op, does: does.filter(Boolean).join(" "), text, parts: parts(body) };
      }
      case "FunctionCall": {
        const name = this.text(node.getChild("FunctionIdentifier"));
        const body = node.getChild("FunctionCallBody");
        const given = numbers(body).join(", ");
        return { what: name, does: [given && `(${given})`, FUNCTIONS[name] ?? ""].filter(Boolean).join(" "), text, parts: parts(body) };
      }
      case "BinaryExpr": {
        const sides = expressions(node);
        const op = sides[0]?.nextSibling;
        const match = this.text(node.getChild("MatchingModifierClause")).replace(/\s+/g, " ");
        const scalar = sides.find((s) => /Literal$/.test(s.name));
        const does = [OPERATORS[op?.name ?? ""] ?? "", scalar ? `with ${this.text(scalar)}` : match || "series with the same labels", this.text(node.getChild("BoolModifier")) && "as 0 or 1"];
        return { what: this.text(op), does: does.filter(Boolean).join(", "), text, parts: parts(node) };
      }
      case "MatrixSelector": {
        return { what: "range", does: `samples of the last ${this.long(node.getChild("DurationExpr"))}`, text, parts: parts(node) };
      }
      case "SubqueryExpr": {
        const [over, every] = node.getChildren("DurationExpr").map(this.long);
        return { what: "subquery", does: `evaluated over the last ${over ?? ""}${every ? `, every ${every}` : ""}`, text, parts: parts(node) };
      }
      case "OffsetExpr":
        return { what: "offset", does: `looked at ${this.long(node.getChild("OffsetDurationExpr"))} earlier`, text, parts: parts(node) };
      case "StepInvariantExpr":
        return { what: "@", does: "looked at one fixed instant", text, parts: parts(node) };
      case "UnaryExpr":
        return { what: text.startsWith("-") ? "-" : "+", does: text.startsWith("-") ? "with the other sign" : "", text, parts: parts(node) };
      case "ParenExpr": {
        const inside = expressions(node)[0];
        return inside ? this.step(inside) : { what: "()", does: "", text, parts: [] };
      }
      case "VectorSelector": {
        const matchers = this.text(node.getChild("LabelMatchers"));
        const name = this.text(node.getChild("Identifier"));
        return { what: name || "series", does: matchers.length > 2 ? `where ${matchers.slice(1, -1).trim()}` : name ? "" : "of any name", metric: true, text, parts: [] };
      }
      default:
        return { what: text, does: "", text, parts: [] };
    }
  }
}

/** The steps of a query, or null while it does not parse. */
export function explain(query: string): Step | null {
  const tree = parser.parse(query);
  let broken = false;
  tree.iterate({ enter: (node) => ((broken ||= node.type.isError), !broken) });
  const top = expressions(tree.topNode)[0];
  return broken || !top ? null : new Reader(query).step(top);
}

/** All metric names of a query. */
export function metrics(step: Step | null): string[] {
  if (!step) return [];
  return [...new Set([...(step.metric && step.what !== "series" ? [step.what] : []), ...step.parts.flatMap(metrics)])];
}

function item(step: Step, known: Map<string, string>): HTMLElement {
  const li = h("li", {});
  if (step.metric) {
    li.append(h("span", { class: "mono small" }, shown(step.what, 200)));
    const words = [step.does, known.get(step.what) ?? ""].filter(Boolean);
    if (words.length) li.append(h("br"), h("span", { class: "mute" }, shown(words.join("; "), 300)));
  } else {
    li.append(h("b", {}, h("span", { class: /^[a-z_0-9]+$/.test(step.what) ? "c-f" : "" }, shown(step.what, 60))), " ", h("span", {}, shown(step.does, 200)));
  }
  if (step.parts.length) li.append(h("ul", {}, ...step.parts.map((p) => item(p, known))));
  return li;
}

/** The tree; `known` has words for metrics ("counter, total requests"). */
export function tree(step: Step, known: Map<string, string>): HTMLElement {
  return h("ul", {}, item(step, known));
}

/** Mistakes that parse. */
export function advice(step: Step | null, types: Map<string, string>): string[] {
  const out: string[] = [];
  const walk = (at: Step, above: string[]) => {
    if (at.metric) {
      const type = types.get(at.what);
      const fn = above.find((a) => /^(rate|irate|increase)$/.test(a));
      if (type === "gauge" && fn) out.push(`${fn} is for counters; ${at.what} is a gauge. Use deriv or delta.`);
      if (type === "counter" && !above.some((a) => /^(rate|irate|increase|resets|changes|absent|absent_over_time|count|count_over_time|timestamp|last_over_time)$/.test(a))) out.push(`${at.what} is a counter: it only grows. Use rate to see how fast.`);
    }
    if (/^(rate|irate|increase)$/.test(at.what) && at.parts[0]?.parts[0]?.what && /^(sum|avg|min|max)$/.test(at.parts[0].parts[0].what)) out.push("A rate of a sum misses resets. Take the sum of rates.");
    for (const p of at.parts) walk(p, [...above, at.what]);
  };
  if (step) walk(step, []);
  return [...new Set(out)];
}
