// The log of a container, followed: a bounded number of lines in the page, however much the container writes. The log
// scrolls with the page.
// Reading waits for drawing, and for anyone who scrolled up; what waits, waits in the cluster.

import { colours } from "./log/colours";
import { among, level } from "./log/level";

/** Lines in the page. */
const MOST = 10_000;
/** Longest line; what is longer is broken. */
const LONGEST = 32 * 1024;

class Log {
  private readonly text: HTMLElement;
  private readonly state: HTMLElement | null;
  private readonly form: HTMLFormElement;
  private readonly find: HTMLInputElement | null;
  private readonly only: HTMLInputElement | null;
  private readonly end: HTMLButtonElement | null;
  private readonly least: HTMLSelectElement | null;
  private reading: AbortController | undefined;
  private rest = "";
  private seen = 0;
  private wake: (() => void) | undefined;
  /** Level of the last line: a line without one belongs to it. */
  private level = "";

  constructor(private readonly root: HTMLElement, text: HTMLElement, form: HTMLFormElement) {
    this.text = text;
    this.form = form;
    this.state = root.querySelector("[data-log-state]");
    this.find = form.querySelector("[data-log-find]");
    this.only = form.querySelector("[data-log-only]");
    this.end = root.querySelector("[data-log-end]");
    this.least = form.querySelector("[data-log-level]");
    this.seen = text.childElementCount;
    this.listen();
    this.mark();
    this.toEnd();
    if (this.follows()) void this.follow();
  }

  private follows(): boolean {
    return this.form.querySelector<HTMLInputElement>("[data-log-follow]")?.checked ?? false;
  }

  private listen(): void {
    this.form.addEventListener("change", (e) => {
      const at = e.target as HTMLInputElement;
      if (at.dataset.logWrap !== undefined) this.text.toggleAttribute("data-wrap", at.checked);
      else if (at.dataset.logOnly !== undefined || at === this.find) this.mark();
      // All lines are there only while the log is followed.
      else if (at.dataset.logLevel !== undefined && this.reading) this.mark();
      else if (at.dataset.logFollow !== undefined) this.turn(at.checked);
      else this.form.requestSubmit();
    });
    this.find?.addEventListener("input", () => this.mark());
    this.find?.addEventListener("keydown", (e) => {
      if (e.key !== "Enter") return;
      e.preventDefault();
      this.go(e.shiftKey ? -1 : 1);
    });
    this.form.querySelector("[data-log-next]")?.addEventListener("click", () => this.go(1));
    this.form.querySelector("[data-log-before]")?.addEventListener("click", () => this.go(-1));
    this.end?.addEventListener("click", () => this.toEnd());
    const scrolled = (): void => {
      if (this.root.isConnected) return this.scrolled();
      // The page was swapped away: nobody reads any more.
      document.removeEventListener("scroll", scrolled);
      this.reading?.abort();
      this.wake?.();
    };
    document.addEventListener("scroll", scrolled, { passive: true });
  }

  private turn(on: boolean): void {
    const url = new URL(location.href);
    if (on) url.searchParams.set("follow", "1");
    else url.searchParams.delete("follow");
    history.replaceState(history.state, "", url);
    if (on) void this.follow();
    else {
      this.reading?.abort();
      this.reading = undefined;
      this.wake?.();
      this.say("Following stopped");
    }
  }

  /** Reads until the log ends, the access does, or nobody wants it any more. */
  private async follow(): Promise<void> {
    this.reading?.abort();
    const control = (this.reading = new AbortController());
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(this.form)) if (name !== "q" && name !== "level" && value !== "") query.set(name, String(value));
    query.set("follow", "1");
    this.say("Following…");
    try {
      const answer = await fetch(`${this.root.dataset.log}?${query}`, { headers: { Accept: "text/plain" }, signal: control.signal });
      if (!answer.ok || !answer.body) {
        this.say(await sentence(answer));
        return;
      }
      this.text.replaceChildren();
      this.rest = "";
      this.seen = 0;
      this.level = "";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (!this.root.isConnected) control.abort();
        this.take(value);
        await this.room(control.signal);
      }
      if (this.rest) this.take("\n");
      this.say(`The log has ended, ${this.count()}`);
    } catch {
      if (!control.signal.aborted) await this.broke();
    } finally {
      if (this.reading === control) this.reading = undefined;
    }
  }

  /** Why it broke off: the access may have ended. */
  private async broke(): Promise<void> {
    try {
      const answer = await fetch(`${this.root.dataset.log}?tail=0`, { headers: { Accept: "text/plain" } });
      this.say(answer.ok ? "The log broke off. Switch Follow off and on to go on." : await sentence(answer));
    } catch {
      this.say("The log broke off: we could not be reached. Switch Follow off and on to try again.");
    }
    const follow = this.form.querySelector<HTMLInputElement>("[data-log-follow]");
    if (follow) follow.checked = false;
  }

  private take(chunk: string): void {
    const lines = (this.rest + chunk).split("\n");
    this.rest = lines.pop() ?? "";
    if (this.rest.length > LONGEST) {
      lines.push(this.rest);
      this.rest = "";
    }
    this.seen += lines.length;
    const kept = lines.slice(-MOST);
    const part = document.createDocumentFragment();
    for (const line of kept) {
      const el = document.createElement("span");
      el.className = "line";
      this.level = level(line) || this.level;
      if (this.level) el.dataset.level = this.level;
      colours(line.slice(0, LONGEST), el);
      el.append("\n");
      this.paint(el);
      part.append(el);
    }
    const stuck = this.atEnd();
    this.text.append(part);
    for (let over = this.text.childElementCount - MOST; over > 0; over--) this.text.firstElementChild?.remove();
    if (stuck) this.toEnd();
    this.say(`Following, ${this.count()}`);
  }

  private count(): string {
    const shown = this.text.childElementCount.toLocaleString("en");
    return this.seen > MOST ? `the last ${shown} of ${this.seen.toLocaleString("en")} lines` : `${shown} lines`;
  }

  /** Until it was drawn, and until nobody reads above the end of a full page. */
  private async room(signal: AbortSignal): Promise<void> {
    await new Promise<void>((done) => {
      const timer = setTimeout(done, 200);
      requestAnimationFrame(() => {
        clearTimeout(timer);
        setTimeout(done, 0);
      });
    });
    while (!this.atEnd() && !signal.aborted && this.root.isConnected) {
      this.say("New lines wait while you read above");
      if (this.end) this.end.hidden = false;
      await new Promise<void>((done) => (this.wake = done));
    }
    if (signal.aborted) throw new DOMException("stopped", "AbortError");
  }

  private atEnd(): boolean {
    const box = document.scrollingElement ?? document.documentElement;
    return box.scrollHeight - box.scrollTop - box.clientHeight < 64;
  }

  private scrolled(): void {
    const at = this.atEnd();
    if (this.end) this.end.hidden = at;
    if (at) this.wake?.();
  }

  private toEnd(): void {
    const box = document.scrollingElement ?? document.documentElement;
    box.scrollTop = box.scrollHeight;
    this.scrolled();
  }

  private wanted(): string {
    return this.find?.value.trim().toLowerCase() ?? "";
  }

  private paint(line: HTMLElement): void {
    const wanted = this.wanted();
    const hit = wanted !== "" && (line.textContent ?? "").toLowerCase().includes(wanted);
    line.classList.toggle("hit", hit);
    const quiet = !among(line.dataset.level ?? "", this.least?.value ?? "");
    line.hidden = quiet || (wanted !== "" && !hit && (this.only?.checked ?? false));
  }

  private mark(): void {
    for (const line of this.text.children) this.paint(line as HTMLElement);
    const hits = this.text.getElementsByClassName("hit").length;
    if (this.wanted()) this.say(hits === 1 ? "1 line matches" : `${hits.toLocaleString("en")} lines match`);
  }

  private go(step: 1 | -1): void {
    const hits = [...this.text.querySelectorAll(".hit:not([hidden])")];
    if (hits.length === 0) return;
    const now = this.text.querySelector(".now");
    const at = now ? hits.indexOf(now) : -1;
    const next = at < 0 ? (step > 0 ? 0 : hits.length - 1) : (at + step + hits.length) % hits.length;
    now?.classList.remove("now");
    hits[next]?.classList.add("now");
    hits[next]?.scrollIntoView({ block: "center" });
    this.say(`Match ${(next + 1).toLocaleString("en")} of ${hits.length.toLocaleString("en")}`);
  }

  private say(words: string): void {
    if (this.state && this.state.textContent !== words) this.state.textContent = words;
  }
}

async function sentence(answer: Response): Promise<string> {
  if (answer.status === 401) return "Your session has ended. Sign in again to go on.";
  try {
    const told = (await answer.json()) as { message?: string; action?: string };
    return [told.message, told.action].filter(Boolean).join(" ");
  } catch {
    return `The log was refused (${answer.status}).`;
  }
}

function begin(): void {
  const root = document.querySelector<HTMLElement>("[data-log]:not([data-begun])");
  const text = root?.querySelector<HTMLElement>("[data-log-text]");
  const form = root?.querySelector<HTMLFormElement>("[data-log-form]");
  if (!root || !text || !form) return;
  root.dataset.begun = "";
  new Log(root, text, form);
}

begin();
document.body.addEventListener("htmx:afterSettle", begin);
