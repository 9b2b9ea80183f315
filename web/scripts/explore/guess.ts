// Which unit a query has, guessed from the names in it.

import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";
import type { Unit } from "./units";

const NONE: Unit = { s: 0, b: 0 };

function ofName(name: string): Unit {
  const base = name.replace(/_(total|sum|bucket|created|max|min|avg)$/, "");
  if (/_count$/.test(base) && /_(seconds|bytes)_count$/.test(base)) return NONE;
  if (/_seconds$/.test(base) || /_seconds_(sum|bucket)$/.test(name)) return { s: 1, b: 0, ...(/cpu/.test(name) ? { hint: "cores" as const } : {}) };
  if (/_milliseconds$/.test(base)) return NONE;
  if (/_bytes$/.test(base) || /(^|_)bytes(_|$)/.test(base)) return { s: 0, b: 1 };
  if (/_celsius$/.test(base)) return { s: 0, b: 0, hint: "celsius" };
  if (/_percent$/.test(base)) return { s: 0, b: 0, hint: "percent" };
  if (/_ratio$/.test(base) || /:ratio/.test(base)) return { s: 0, b: 0, hint: "ratio" };
  return NONE;
}

const inner = (node: SyntaxNode, text: string): Unit => {
  const body = node.getChild("FunctionCallBody");
  const last = body?.lastChild;
  // The value is the last argument that is an expression.
  for (let at = last ?? null; at; at = at.prevSibling) {
    if (/Expr$|Selector$|Call$|Literal$/.test(at.name)) return unitOf(at, text);
  }
  return NONE;
};

const perSecond = (unit: Unit): Unit => {
  if (unit.hint === "cores" && unit.s === 1) return { s: 0, b: 0, hint: "cores" };
  return { s: unit.s - 1, b: unit.b };
};

function ofFunction(node: SyntaxNode, text: string): Unit {
  const id = node.getChild("FunctionIdentifier");
  const name = id ? text.slice(id.from, id.to) : "";
  const unit = inner(node, text);
  switch (name) {
    case "rate":
    case "irate":
    case "deriv":
      return perSecond(unit);
    case "histogram_quantile":
      // The rate of a bucket is a number; its bounds have the name's unit.
      return /_seconds/.test(text.slice(node.from, node.to)) ? { s: 1, b: 0 } : /_bytes/.test(text.slice(node.from, node.to)) ? { s: 0, b: 1 } : NONE;
    case "time":
      return { s: 1, b: 0 };
    case "absent":
    case "absent_over_time":
    case "count_over_time":
    case "changes":
    case "resets":
    case "ln":
    case "log2":
    case "log10":
    case "sgn":
      return NONE;
    default:
      return unit;
  }
}

function ofBinary(node: SyntaxNode, text: string): Unit {
  const sides = [node.firstChild, node.lastChild];
  const [left, right] = sides.map((side) => (side ? unitOf(side, text) : NONE)) as [Unit, Unit];
  const isNumber = (side: SyntaxNode | null | undefined) => side?.name === "NumberDurationLiteral";
  const op = node.firstChild?.nextSibling?.name ?? "";
  if (node.getChild("BoolModifier")) return NONE;
  switch (op) {
    case "Div": {
      if (isNumber(sides[1])) return left;
      const out: Unit = { s: left.s - right.s, b: left.b - right.b };
      // A part of its whole.
      if (left.s === right.s && left.b === right.b && !isNumber(sides[0])) out.hint = "ratio";
      return out;
    }
    case "Mul": {
      const times100 = sides.some((side) => isNumber(side) && text.slice(side?.from, side?.to) === "100");
      if (times100 && (left.hint === "ratio" || right.hint === "ratio")) return { s: 0, b: 0, hint: "percent" };
      if (isNumber(sides[0])) return right;
      return isNumber(sides[1]) ? left : { s: left.s + right.s, b: left.b + right.b };
    }
    default:
      return isNumber(sides[0]) ? right : left;
  }
}

function unitOf(node: SyntaxNode, text: string): Unit {
  switch (node.name) {
    case "VectorSelector": {
      const id = node.getChild("Identifier");
      return id ? ofName(text.slice(id.from, id.to)) : NONE;
    }
    case "FunctionCall":
      return ofFunction(node, text);
    case "AggregateExpr": {
      const op = node.getChild("AggregateOp");
      const name = op ? text.slice(op.from, op.to) : "";
      return /^(count|count_values|group)$/.test(name) ? NONE : inner(node, text);
    }
    case "BinaryExpr":
      return ofBinary(node, text);
    case "NumberDurationLiteral":
    case "StringLiteral":
      return NONE;
    default: {
      for (let at = node.firstChild; at; at = at.nextSibling) if (/Expr$|Selector$|Call$/.test(at.name)) return unitOf(at, text);
      return NONE;
    }
  }
}

/** The unit of a query's values. */
export function guess(query: string): Unit {
  try {
    return unitOf(parser.parse(query).topNode, query);
  } catch {
    return NONE;
  }
}
