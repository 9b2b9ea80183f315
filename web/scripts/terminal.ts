// The page of a terminal: tabs, tools, search, preferences.

import { type Page, type Preferences, Tab } from "./terminal/tab";
import type { Place } from "./terminal/wire";

const KEPT = "aro.terminal";
const SIZES = [9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 28];

function preferences(): Preferences {
  const usual: Preferences = { size: 13, light: false, reader: false };
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "{}") as Partial<Preferences>;
    const size = SIZES.includes(kept.size ?? 0) ? (kept.size as number) : usual.size;
    return { size, light: kept.light === true, reader: kept.reader === true };
  } catch {
    return usual;
  }
}

function placeOf(data: DOMStringMap): Place {
  if (data.watch) return { watch: { id: data.watch } };
  if (data.machine) return { machine: { name: data.machine } };
  return { pod: { namespace: data.namespace ?? "", name: data.pod ?? "", container: data.container ?? "" } };
}

class Terminals implements Page {
  readonly address: string;
  readonly tabs: HTMLElement;
  readonly screens: HTMLElement;
  readonly notes: HTMLElement;
  readonly preferences = preferences();
  readonly all: Tab[] = [];
  chosen!: Tab;
  private readonly searching: HTMLFormElement;
  private readonly sought: HTMLInputElement;

  constructor(private readonly root: HTMLElement) {
    const part = <T extends HTMLElement>(name: string) => root.querySelector<T>(`[data-term-${name}]`) as T;
    this.address = root.dataset.terminal ?? "";
    this.tabs = part("tabs");
    this.screens = part("screens");
    this.notes = part("notes");
    this.searching = part<HTMLFormElement>("search");
    this.sought = this.searching.querySelector("input") as HTMLInputElement;
    this.listen();
    this.prefer();
    this.add(placeOf(root.dataset), root.dataset.words ?? "");
  }

  add(place: Place, words: string): void {
    const tab = new Tab(this, place, words);
    this.all.push(tab);
    tab.close.addEventListener("click", () => this.remove(tab));
    this.show(tab);
    tab.begin();
    tab.screen.terminal.focus();
    tab.screen.search.onDidChangeResults(({ resultIndex, resultCount }) => {
      const words = resultCount === 0 ? "No match" : `${resultIndex + 1} of ${resultCount}`;
      this.found(this.sought.value ? words : "");
    });
  }

  choose(tab: Tab): void {
    this.show(tab);
    tab.screen.terminal.focus();
  }

  again(tab: Tab): void {
    tab.screen.terminal.write("\r\n\x1b[0m");
    tab.open();
    tab.screen.terminal.focus();
  }

  leave(): void {
    this.chosen.button.focus();
  }

  changed(tab: Tab): void {
    if (tab !== this.chosen || !tab.screen) return;
    const { cols, rows } = tab.size;
    this.text("cells", `${cols} × ${rows}`);
    this.text("place", tab.words);
    const recorded = document.querySelector<HTMLElement>("[data-term-recorded]");
    const recording = tab.known?.recording;
    const over = tab.wire?.over ?? false;
    if (recorded) recorded.hidden = !recording || over;
    const kept = document.querySelector<HTMLAnchorElement>("[data-term-recording]");
    if (kept) {
      kept.hidden = !recording || !over;
      kept.href = `/recordings/${encodeURIComponent(recording ?? "")}`;
    }
    const watched = document.querySelector<HTMLElement>("[data-term-watched]");
    if (watched) {
      // One's own name says nothing to anyone who looks on alone.
      const names = tab.watchers;
      const words = tab.watches ? `${names.length} look${names.length === 1 ? "s" : ""} on` : `${names.join(", ")} look${names.length === 1 ? "s" : ""} on`;
      watched.hidden = names.length === 0 || (tab.wire?.over ?? false);
      watched.title = names.join(", ");
      const at = watched.querySelector("span");
      if (at && at.textContent !== words) at.textContent = words;
    }
    const end = this.root.querySelector<HTMLButtonElement>('[data-term="end"]');
    if (end) end.disabled = tab.wire?.over ?? false;
  }

  find(): void {
    const open = this.searching.hidden;
    this.searching.hidden = !open;
    this.root.querySelector('[data-term="search"][aria-expanded]')?.setAttribute("aria-expanded", String(open));
    if (open) {
      this.sought.value = this.chosen.screen.terminal.getSelection().split("\n")[0] ?? "";
      this.sought.focus();
      this.sought.select();
    } else {
      this.chosen.screen.search.clearDecorations();
      this.chosen.screen.terminal.focus();
    }
  }

  link(url: URL): void {
    const host = url.host;
    this.ask("link", { host, address: url.href }, () => window.open(url.href, "_blank", "noopener,noreferrer"));
  }

  paste(text: string, then: () => void): void {
    const shown = text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
    this.ask("paste", { lines: text.trimEnd().split("\n").length.toLocaleString("en"), text: shown }, then);
  }

  private show(tab: Tab): void {
    this.chosen = tab;
    for (const each of this.all) each.show(each === tab);
    this.changed(tab);
  }

  private remove(tab: Tab): void {
    if (this.all.length === 1) {
      tab.end();
      return;
    }
    const at = this.all.indexOf(tab);
    this.all.splice(at, 1);
    tab.remove();
    const next = this.all[Math.min(at, this.all.length - 1)];
    if (tab === this.chosen && next) this.choose(next);
  }

  private listen(): void {
    this.root.addEventListener("click", (event) => {
      const at = (event.target as Element).closest<HTMLElement>("[data-term], [data-term-new] button");
      if (!at) return;
      if (at.dataset.term) this.act(at.dataset.term, at);
      else this.add(placeOf(at.dataset), at.dataset.words ?? "");
      at.closest("details")?.removeAttribute("open");
    });
    this.tabs.addEventListener("keydown", (event) => this.along(event));
    this.searching.addEventListener("submit", (event) => {
      event.preventDefault();
      this.seek("next");
    });
    this.sought.addEventListener("input", () => this.seek("next", true));
    this.sought.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.find();
      else if (event.key === "Enter" && event.shiftKey) this.seek("before");
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    addEventListener("beforeunload", (event) => {
      if (this.all.some((tab) => !tab.watches && (tab.state.is === "live" || tab.state.is === "away"))) event.preventDefault();
    });
    addEventListener("pagehide", () => this.all.forEach((tab) => tab.end()));
  }

  private act(what: string, at: HTMLElement): void {
    const prefer = this.preferences;
    const step = (by: number) => {
      const next = SIZES[SIZES.indexOf(prefer.size) + by];
      if (next) prefer.size = next;
    };
    switch (what) {
      case "search": this.find(); return;
      case "before": this.seek("before"); return;
      case "end": this.chosen.end(); return;
      case "copy": void this.copy(at); return;
      case "full":
        if (document.fullscreenElement) void document.exitFullscreen();
        else void this.root.requestFullscreen();
        return;
      case "bigger": step(1); break;
      case "smaller": step(-1); break;
      case "theme": prefer.light = !prefer.light; break;
      case "reader": prefer.reader = !prefer.reader; break;
    }
    localStorage.setItem(KEPT, JSON.stringify(prefer));
    this.prefer();
    this.chosen.screen.terminal.focus();
  }

  private async copy(at: HTMLElement): Promise<void> {
    const did = await this.chosen.copy().catch(() => false);
    const said = document.getElementById("said");
    if (said) said.textContent = did ? "Copied" : "Nothing is selected";
    at.dataset.done = String(did);
    setTimeout(() => delete at.dataset.done, 2_000);
    this.chosen.screen.terminal.focus();
  }

  private prefer(): void {
    const { size, light, reader } = this.preferences;
    this.root.dataset.light = String(light);
    this.root.querySelector('[data-term="theme"]')?.setAttribute("aria-pressed", String(light));
    this.root.querySelector('[data-term="reader"]')?.setAttribute("aria-pressed", String(reader));
    for (const tab of this.all) {
      tab.screen.terminal.options.fontSize = size;
      tab.screen.terminal.options.screenReaderMode = reader;
      tab.screen.light(light);
      tab.fit();
    }
  }

  private seek(way: "next" | "before", typing = false): void {
    const { search } = this.chosen.screen;
    const colour = this.preferences.light ? "#ffe39a" : "#5a4a10";
    const active = this.preferences.light ? "#ffb84d" : "#a06d00";
    const decorations = { matchBackground: colour, matchOverviewRuler: colour, activeMatchBackground: active, activeMatchColorOverviewRuler: active };
    const options = { decorations, incremental: typing };
    if (!this.sought.value) search.clearDecorations();
    else if (way === "next") search.findNext(this.sought.value, options);
    else search.findPrevious(this.sought.value, options);
    if (!this.sought.value) this.found("");
  }

  /** Arrow keys go along the tabs, as tabs do. */
  private along(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = this.all.findIndex((tab) => tab.button === event.target);
    if (by && at >= 0) {
      const next = this.all[(at + by + this.all.length) % this.all.length];
      if (next) {
        this.show(next);
        next.button.focus();
      }
      event.preventDefault();
    } else if (event.key === "Delete" && at >= 0) {
      const tab = this.all[at];
      if (tab) this.remove(tab);
    }
  }

  private ask(name: string, words: Record<string, string>, then: () => void): void {
    const dialog = document.querySelector<HTMLDialogElement>(`dialog[data-term-${name}]`);
    if (!dialog) return;
    for (const [key, text] of Object.entries(words)) {
      const at = dialog.querySelector(`[data-${key}]`);
      if (at) at.textContent = text;
    }
    const done = new AbortController();
    const close = (yes: boolean) => {
      done.abort();
      dialog.close();
      if (yes) then();
      else this.chosen.screen.terminal.focus();
    };
    const { signal } = done;
    dialog.querySelector("[data-yes]")?.addEventListener("click", () => close(true), { signal });
    dialog.querySelector("[data-no]")?.addEventListener("click", () => close(false), { signal });
    dialog.addEventListener("cancel", () => close(false), { signal });
    dialog.showModal();
  }

  private found(words: string): void {
    this.text("found", words);
  }

  private text(name: string, words: string): void {
    const at = this.root.querySelector(`[data-term-${name}]`);
    if (at && at.textContent !== words) at.textContent = words;
  }
}

const root = document.querySelector<HTMLElement>("[data-terminal]");
if (root) {
  const page = new Terminals(root);
  // For tests and for anyone who looks into a problem: what is on the screen, and a network that breaks.
  Object.assign(root, { terminals: page });
}
