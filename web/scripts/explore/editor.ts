// The PromQL editor. It lives in a shadow root: its styles are adopted sheets, which the policy of the
// page allows, and no style element or attribute is ever written.

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, completionStatus } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, insertNewlineAndIndent } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, forEachDiagnostic, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags as t } from "@lezer/highlight";
import { PromQLExtension } from "@prometheus-io/codemirror-promql";
import { h } from "./dom";
import type { Suggester } from "./suggest";

export interface Verdict {
  tone: "ok" | "bad" | "mute";
  text: string;
}

export interface Hooks {
  label: string;
  run: () => void;
  format: () => void;
  changed: (text: string) => void;
  verdict: (verdict: Verdict) => void;
}

const theme = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--ink)", fontSize: ".8125rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", maxHeight: "22rem", minHeight: "4.5rem" },
  ".cm-content": { padding: ".5rem 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 .75rem" },
  ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-bg) !important" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--ink-3)", border: "0" },
  ".cm-placeholder": { color: "var(--ink-3)" },
  "&.cm-focused .cm-matchingBracket, .cm-matchingBracket": { backgroundColor: "var(--sunken)", outline: "1px solid var(--edge)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "transparent", color: "var(--bad)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn)" },
  ".cm-lintPoint:after": { borderBottomColor: "var(--bad)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line-2)", borderRadius: ".375rem", boxShadow: "var(--lift)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: ".75rem", maxHeight: "16rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".25rem .625rem", lineHeight: "1.4" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-bg)", color: "var(--ink)", boxShadow: "inset 2px 0 var(--accent)" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700", color: "var(--accent)" },
  ".cm-completionDetail": { color: "var(--ink-3)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionInfo": { fontFamily: "var(--font)", fontSize: ".75rem", padding: ".5rem .625rem", maxWidth: "22rem" },
  ".cm-completionIcon": { display: "none" },
  ".cm-diagnostic": { fontFamily: "var(--font)", fontSize: ".75rem", borderLeft: "3px solid var(--bad)", padding: ".25rem .625rem" },
});

const colours = HighlightStyle.define([
  { tag: [t.function(t.variableName), t.operatorKeyword, t.keyword, t.modifier], color: "var(--busy)" },
  { tag: [t.labelName, t.propertyName], color: "var(--accent)" },
  { tag: t.string, color: "var(--ok)" },
  { tag: t.number, color: "var(--warn)" },
  { tag: [t.comment, t.lineComment], color: "var(--ink-3)" },
  { tag: t.invalid, color: "var(--bad)" },
]);

export class Editor {
  readonly host = h("div", { class: "code-host", "data-testid": "editor" });
  readonly view: EditorView;
  private readonly numbers = new Compartment();
  /** What the server said is wrong with the present text: it counts more than the check in the browser. */
  private said: Diagnostic | null = null;

  constructor(text: string, suggest: Suggester, private readonly hooks: Hooks) {
    const root = this.host.attachShadow({ mode: "open" });
    const promql = new PromQLExtension().setComplete({ completeStrategy: suggest });
    const run = () => (hooks.run(), true);
    const keys = Prec.highest(keymap.of([
      { key: "Mod-Enter", run },
      { key: "Enter", run: (view) => completionStatus(view.state) === "active" && acceptCompletion(view) },
      { key: "Shift-Enter", run: insertNewlineAndIndent },
      { key: "Tab", run: (view) => completionStatus(view.state) === "active" && acceptCompletion(view) },
      { key: "Shift-Alt-f", run: () => (hooks.format(), true) },
    ]));
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          keys, history(), drawSelection(), bracketMatching(), closeBrackets(), syntaxHighlighting(colours), theme,
          autocompletion({ activateOnTypingDelay: 60, maxRenderedOptions: 60, defaultKeymap: false }),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap, ...lintKeymap]),
          promql.asExtension(), EditorView.lineWrapping, this.numbers.of([]),
          placeholder("up, or any other expression"),
          EditorView.contentAttributes.of({ "aria-label": hooks.label, spellcheck: "false", autocapitalize: "off", "data-testid": "query" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) {
              this.said = null;
              this.numbered();
              hooks.changed(this.text());
            }
            if (update.docChanged || update.transactions.some((one) => one.effects.length > 0)) this.judge();
          }),
        ],
      }),
    });
    // Single keys of the page are not meant for who writes here; the page sees only the host.
    this.host.addEventListener("keydown", (e) => e.stopPropagation());
    this.numbered();
    this.judge();
  }

  text(): string {
    return this.view.state.doc.toString();
  }

  set(text: string): void {
    if (text === this.text()) return;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  focus(): void {
    this.view.focus();
  }

  /** Marks what the server said is wrong, and puts the cursor there. */
  mark(line: number, column: number, message: string): void {
    const doc = this.view.state.doc;
    const row = doc.line(Math.min(Math.max(1, line), doc.lines));
    const from = Math.min(row.from + Math.max(0, column - 1), row.to);
    const rest = /^[\w:.]+|^./u.exec(doc.sliceString(from, row.to))?.[0].length ?? 0;
    const diagnostic: Diagnostic = { from, to: Math.min(from + rest, row.to), severity: "error", message };
    this.said = diagnostic;
    this.view.dispatch(setDiagnostics(this.view.state, [diagnostic]));
    this.view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
  }

  private numbered(): void {
    const many = this.view.state.doc.lines > 1;
    const shown = this.numbers.get(this.view.state);
    if (many === (Array.isArray(shown) && shown.length > 0)) return;
    // Not inside an update.
    queueMicrotask(() => this.view.dispatch({ effects: this.numbers.reconfigure(many ? [lineNumbers()] : []) }));
  }

  private judge(): void {
    if (!this.text().trim()) return this.hooks.verdict({ tone: "mute", text: "Nothing to run" });
    let first: { from: number; message: string } | null = null;
    forEachDiagnostic(this.view.state, (one, from) => {
      if (!first || from < first.from) first = { from, message: one.message };
    });
    const said = this.said;
    if (said && (first as { from: number } | null)?.from !== said.from) {
      // The check in the browser came later and has put its own mark.
      queueMicrotask(() => this.said === said && this.view.dispatch(setDiagnostics(this.view.state, [said])));
    }
    const found = said ?? (first as { from: number; message: string } | null);
    if (!found) return this.hooks.verdict({ tone: "ok", text: "Valid" });
    const line = this.view.state.doc.lineAt(found.from);
    const column = found.from - line.from + 1;
    const where = this.view.state.doc.lines > 1 ? `Line ${line.number}, column ${column}` : `Column ${column}`;
    this.hooks.verdict({ tone: "bad", text: `${where}: ${found.message}` });
  }
}
