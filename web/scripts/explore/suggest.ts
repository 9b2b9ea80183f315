// Completion from our server: it searches, we only ever hold a short list.

import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { newCompleteStrategy } from "@prometheus-io/codemirror-promql";
import { ask, cancelled } from "./api";

interface Suggestion {
  value: string;
  type?: string;
  help?: string;
}

interface Found {
  items: Suggestion[];
  more: boolean;
  /** False while the server still reads the names of the cluster. */
  complete?: boolean;
}

/** Rows of one list. */
const LIMIT = 100;

/** Words for metrics that were seen: type and help. */
export const known = new Map<string, { type: string; help: string }>();

export class Suggester {
  private running = new AbortController();
  /** What stands before the cursor and is being completed. */
  private typed = "";
  /** The last list was cut: another letter needs another search. */
  private cut = false;
  private readonly inner;

  constructor(private readonly base: () => string, private readonly source: () => string) {
    this.inner = newCompleteStrategy({
      remote: {
        metricNames: (name?: string) => this.find("metric", { q: name ?? "" }),
        labelNames: (metric?: string) => this.find("label", { metric, q: this.typed }),
        labelValues: (label: string, metric?: string) => this.find("value", { label, metric, q: this.typed }),
        metricMetadata: async () => Object.fromEntries([...known].map(([name, one]) => [name, [one]])),
        series: async () => [],
        flags: async () => ({}),
      },
    });
  }

  async promQL(context: CompletionContext): Promise<CompletionResult | null> {
    this.running.abort();
    this.running = new AbortController();
    const mine = this.running;
    context.addEventListener("abort", () => mine.abort(), { onDocChange: true });
    const before = context.state.sliceDoc(Math.max(0, context.pos - 300), context.pos);
    this.typed = (/"([^"]*)$/.exec(before) && (before.match(/"/g)?.length ?? 0) % 2 === 1 ? /"([^"]*)$/ : /([a-zA-Z0-9_:]*)$/).exec(before)?.[1] ?? "";
    this.cut = false;
    try {
      const result = await this.inner.promQL(context);
      if (!result || mine.signal.aborted) return null;
      // Filtering what was cut would hide names: ask again with each letter.
      return this.cut ? { from: result.from, ...(result.to === undefined ? {} : { to: result.to }), options: result.options } : result;
    } catch (error) {
      if (cancelled(error)) return null;
      // Functions and operators need no server.
      return newCompleteStrategy().promQL(context);
    }
  }

  private async find(what: string, fields: Record<string, string | undefined>): Promise<string[]> {
    if (!this.base()) throw new Error("no cluster to ask");
    const signal = this.running.signal;
    let found: Found = { items: [], more: false };
    for (let tries = 0; tries < 8; tries += 1) {
      const answer = await ask(this.base(), "suggest", { what, ...fields, limit: LIMIT, source: this.source() }, signal);
      found = (await answer.json()) as Found;
      if (found.items.length || found.complete !== false) break;
      // Names come in a moment; typing on ends the wait.
      await new Promise((done) => setTimeout(done, 300));
      if (signal.aborted) throw new DOMException("typed on", "AbortError");
    }
    this.cut ||= found.more || found.complete === false;
    for (const one of found.items) if (what === "metric") known.set(one.value, { type: one.type ?? "", help: one.help ?? "" });
    return found.items.map((one) => one.value);
  }
}
