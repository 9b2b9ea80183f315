// One session: its screen, its connection, its place among the tabs, and what is said about it beside the screen.

import { type Screen, screen } from "./screen";
import { type Hello, type Place, type Size, type State, Wire } from "./wire";

export interface Preferences { size: number; light: boolean; reader: boolean }

/** What tabs share. */
export interface Page {
  address: string;
  tabs: HTMLElement;
  screens: HTMLElement;
  notes: HTMLElement;
  preferences: Preferences;
  link(url: URL): void;
  paste(text: string, then: () => void): void;
  leave(): void;
  find(): void;
  choose(tab: Tab): void;
  again(tab: Tab): void;
  changed(tab: Tab): void;
}

const WORDS: Record<State["is"], string> = {
  connecting: "connecting", live: "", away: "no connection", ended: "ended", cut: "cut", lost: "lost", refused: "refused",
};
let numbers = 0;

export class Tab {
  readonly button: HTMLButtonElement;
  readonly panel: HTMLElement;
  readonly close: HTMLButtonElement;
  readonly item: HTMLElement;
  screen!: Screen;
  wire!: Wire;
  state: State = { is: "connecting" };
  known: Hello | undefined;
  /** Bytes that came, for anyone who looks. */
  bytes = 0;
  /** Who looks on. */
  watchers: string[] = [];
  private idle = false;
  private note: HTMLElement | undefined;
  private clock: number | undefined;

  constructor(readonly page: Page, readonly place: Place, readonly words: string) {
    const number = ++numbers;
    this.item = document.createElement("span");
    this.item.className = "term-tab";
    this.item.setAttribute("role", "presentation");
    this.button = document.createElement("button");
    Object.assign(this.button, { type: "button", id: `term-tab-${number}` });
    this.button.setAttribute("role", "tab");
    this.button.setAttribute("aria-controls", `term-${number}`);
    this.button.addEventListener("click", () => page.choose(this));
    this.close = document.createElement("button");
    Object.assign(this.close, { type: "button", className: "tool", textContent: "×", title: "Close this tab" });
    // For the pointer; by keyboard it is Delete on the tab, for a list of tabs holds nothing but tabs.
    this.close.tabIndex = -1;
    this.close.setAttribute("aria-hidden", "true");
    this.button.setAttribute("aria-keyshortcuts", "Delete");
    this.item.append(this.button, this.close);
    page.tabs.append(this.item);
    this.panel = document.createElement("div");
    Object.assign(this.panel, { id: `term-${number}`, className: "term-screen" });
    this.panel.setAttribute("role", "tabpanel");
    this.panel.setAttribute("aria-labelledby", this.button.id);
    page.screens.append(this.panel);
    this.name();
  }

  /** Once its panel is shown: only then can a screen be measured. */
  begin(): void {
    const { page } = this;
    const { size, light, reader } = page.preferences;
    this.screen = screen(this.panel, { fontSize: size, light, reader, readOnly: this.watches, onLink: (url) => page.link(url) });
    const { terminal } = this.screen;
    terminal.textarea?.setAttribute("aria-label", `Terminal, ${this.words}`);
    terminal.textarea?.setAttribute("aria-describedby", "term-leave");
    const utf8 = new TextEncoder();
    terminal.onData((text) => {
      this.wire.type(utf8.encode(text));
      this.stays();
    });
    terminal.onBinary((text) => this.wire.type(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    terminal.onResize((to) => this.wire?.resize({ cols: to.cols, rows: to.rows }));
    terminal.attachCustomKeyEventHandler((event) => this.key(event));
    this.panel.addEventListener("paste", (event) => this.pasted(event), { capture: true });
    new ResizeObserver(() => this.fit()).observe(this.panel);
    this.fit();
    this.open();
  }

  /** A new session on the same screen. */
  open(): void {
    const { cols, rows } = this.screen.terminal;
    this.set({ is: "connecting" });
    this.wire = new Wire(this.page.address, this.place, { cols, rows }, {
      state: (state) => this.set(state),
      hello: (hello) => {
        this.known = hello;
        this.page.changed(this);
      },
      back: (away) => {
        const seconds = Math.max(1, Math.round(away / 1_000));
        this.say("back", `The network was away for ${seconds} s. Same session, nothing lost.`);
      },
      bytes: (bytes, shown) => {
        this.bytes += bytes.length;
        this.screen.terminal.write(bytes, shown);
      },
      size: ({ cols, rows }) => {
        this.screen.terminal.resize(cols, rows);
        this.page.changed(this);
      },
      watched: (by) => {
        this.watchers = by;
        this.page.changed(this);
      },
      idle: (words, until) => this.idles(words, until),
    });
  }

  /** Somebody else types here. */
  get watches(): boolean {
    return "watch" in this.place;
  }

  get size(): Size {
    const { cols, rows } = this.screen.terminal;
    return { cols, rows };
  }

  fit(): void {
    if (this.panel.hidden || this.panel.clientWidth === 0) return;
    // A screen that somebody else types at has the size of theirs.
    if (!this.watches) this.screen.fit.fit();
    this.page.changed(this);
  }

  show(on: boolean): void {
    this.panel.hidden = !on;
    this.button.setAttribute("aria-selected", String(on));
    this.button.tabIndex = on ? 0 : -1;
    this.item.classList.toggle("chosen", on);
    if (on && this.note) this.page.notes.replaceChildren(this.note);
    else if (on) this.page.notes.replaceChildren();
    if (on && this.screen) this.fit();
  }

  end(): void {
    this.wire.leave();
  }

  remove(): void {
    clearInterval(this.clock);
    this.wire.leave();
    this.screen.terminal.dispose();
    this.item.remove();
    this.panel.remove();
  }

  private name(): void {
    const state = WORDS[this.state.is];
    this.button.textContent = state ? `${this.words}, ${state}` : this.words;
    this.item.dataset.is = this.state.is;
  }

  private set(state: State): void {
    this.state = state;
    this.idle = false;
    clearInterval(this.clock);
    this.name();
    switch (state.is) {
      case "connecting":
        this.say("connecting", this.watches ? `Connecting to ${this.words} to watch…` : `Opening a shell in ${this.words}…`);
        break;
      case "live":
        this.say();
        break;
      case "away": {
        const until = state.until;
        const words = () => {
          const left = Math.max(0, Math.ceil((until - Date.now()) / 1_000));
          return `The network is away. The session waits ${left} s more; what is typed is kept.`;
        };
        this.say("away", words(), "Try now", () => this.wire.now());
        this.clock = setInterval(() => this.tell(words()), 1_000);
        break;
      }
      case "refused":
        this.refused(state);
        break;
      default:
        this.say(state.is, state.words, this.watches ? "Watch again" : "New session", () => this.page.again(this));
    }
    if (this.screen) this.screen.terminal.options.disableStdin = this.watches || (this.wire?.over ?? false);
    this.page.changed(this);
  }

  /** Nothing was typed for long: the end is near, unless the person says that they are there. */
  private idles(words: string, until: number): void {
    clearInterval(this.clock);
    const text = () => {
      const left = Math.max(0, Math.ceil((until - Date.now()) / 1_000));
      return `${words} The session ends in ${left < 120 ? `${left} s` : `${Math.ceil(left / 60)} min`} unless you type.`;
    };
    this.say("idle", text(), "Stay", () => {
      this.wire.here();
      this.stays();
      this.screen.terminal.focus();
    });
    this.idle = true;
    this.clock = setInterval(() => this.tell(text()), 1_000);
  }

  /** The person is there. */
  private stays(): void {
    if (!this.idle) return;
    this.idle = false;
    clearInterval(this.clock);
    this.say();
  }

  private refused(state: State & { is: "refused" }): void {
    if (state.code === "grant_needed") this.say("refused", state.words, "Say why", () => location.reload());
    else this.say("refused", state.words, "Try again", () => this.page.again(this));
  }

  /** A note beside the screen, where no output can draw; none without a name. */
  private say(name?: string, words = "", again?: string, press?: () => void): void {
    this.note = undefined;
    const template = name && document.querySelector<HTMLTemplateElement>(`template[data-term-note="${name}"]`);
    if (template) {
      const note = (template.content.cloneNode(true) as DocumentFragment).firstElementChild as HTMLElement;
      note.dataset.testid = `term-${name}`;
      const button = note.querySelector<HTMLButtonElement>("[data-again]");
      if (button && again && press) {
        button.hidden = false;
        button.textContent = again;
        button.addEventListener("click", press);
      }
      note.querySelector("[data-dismiss]")?.addEventListener("click", () => {
        note.remove();
        this.note = undefined;
        this.screen.terminal.focus();
      });
      this.note = note;
      this.tell(words);
    }
    if (!this.panel.hidden) this.page.notes.replaceChildren(...(this.note ? [this.note] : []));
  }

  private tell(words: string): void {
    const at = this.note?.querySelector("[data-words]");
    if (at && at.textContent !== words) at.textContent = words;
  }

  private key(event: KeyboardEvent): boolean {
    if (event.type !== "keydown") return true;
    const { page } = this;
    const chord = event.ctrlKey && event.shiftKey && !event.altKey;
    const key = event.key.toLowerCase();
    if ((chord && key === "escape") || (event.altKey && event.shiftKey && !event.ctrlKey && event.code === "KeyL")) {
      event.preventDefault();
      page.leave();
      return false;
    }
    if (chord && key === "f") {
      event.preventDefault();
      page.find();
      return false;
    }
    if (chord && key === "c") {
      event.preventDefault();
      void this.copy();
      return false;
    }
    // The browser pastes by itself, and tells us.
    return !(chord && key === "v");
  }

  /** Copies what is selected; whether there was something. */
  async copy(): Promise<boolean> {
    const text = this.screen.terminal.getSelection();
    if (!text) return false;
    await navigator.clipboard.writeText(text);
    return true;
  }

  private pasted(event: ClipboardEvent): void {
    event.preventDefault();
    event.stopImmediatePropagation();
    const text = clean(event.clipboardData?.getData("text/plain") ?? "");
    if (!text) return;
    const { terminal } = this.screen;
    const paste = () => {
      terminal.paste(text);
      terminal.focus();
    };
    if (text.trimEnd().includes("\n") && !terminal.modes.bracketedPasteMode) this.page.paste(text, paste);
    else paste();
  }
}

/** Without control characters: pasted text cannot end the brackets around it, nor press keys. */
function clean(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
