// The player of recordings: an asciicast on a screen that takes no keys and lets no sequence out of it.

import { type Cast, load, shown } from "./player/cast";
import { type Screen, screen } from "./terminal/screen";

/** Longest pause that is played, where pauses are shortened. */
const PAUSE = 1_500;
/** Events that are written at once when jumping. */
const SLICE = 2_000;

function clock(millis: number): string {
  const s = Math.floor(millis / 1_000);
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(s / 3_600);
  return hours ? `${hours}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

class Player {
  private readonly screen: Screen;
  private readonly part: <T extends HTMLElement>(name: string) => T;
  private next = 0;
  private at = 0;
  private playing = false;
  private from = 0;
  private turn = 0;

  constructor(
    private readonly root: HTMLElement,
    private readonly cast: Cast,
  ) {
    this.part = (name) => root.querySelector(`[data-player-${name}]`) as never;
    const host = this.part("screen");
    const { cols, rows, plain } = cast;
    this.screen = screen(host, { readOnly: true, cols, rows, plain, scrollback: 5_000 });
    this.part<HTMLInputElement>("seek").max = String(cast.length);
    this.listen();
    this.marks();
    void this.jump(Math.min(Number(root.dataset.start) || 0, cast.length));
    this.say(cast.complete ? "" : "Only the begin of this long recording is shown; the download has all of it.");
  }

  private listen(): void {
    this.part("toggle").addEventListener("click", () => (this.playing ? this.pause() : void this.play()));
    this.part("back").addEventListener("click", () => void this.jump(this.at - 5_000));
    this.part("on").addEventListener("click", () => void this.jump(this.at + 5_000));
    const seek = this.part<HTMLInputElement>("seek");
    seek.addEventListener("input", () => void this.jump(Number(seek.value)));
    this.part("speed").addEventListener("change", () => this.rebase());
    this.part("find").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.find();
    });
    this.part("screen").addEventListener("keydown", (event) => this.key(event), { capture: true });
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " ") this.playing ? this.pause() : void this.play();
    else if (event.key === "ArrowLeft") void this.jump(this.at - 5_000);
    else if (event.key === "ArrowRight") void this.jump(this.at + 5_000);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private get speed(): number {
    return Number(this.part<HTMLSelectElement>("speed").value) || 1;
  }

  private rebase(): void {
    this.from = performance.now() - this.at / this.speed;
  }

  private async play(): Promise<void> {
    if (this.next >= this.cast.events.length) await this.jump(0);
    this.playing = true;
    this.label();
    this.rebase();
    const turn = ++this.turn;
    while (this.playing && turn === this.turn) {
      const now = (performance.now() - this.from) * this.speed;
      const due = this.due(now);
      if (due > this.next) await this.write(due);
      if (turn !== this.turn) return;
      this.at = Math.min(Math.max(this.at, now), this.cast.length);
      if (this.next >= this.cast.events.length) {
        this.at = this.cast.length;
        this.pause();
        break;
      }
      const wait = (this.cast.events[this.next]?.at ?? 0) - this.at;
      if (wait > PAUSE && this.part<HTMLInputElement>("idle").checked) {
        this.at += wait - PAUSE;
        this.rebase();
      }
      this.show();
      await new Promise((done) => setTimeout(done, 30));
    }
  }

  private pause(): void {
    this.playing = false;
    this.turn += 1;
    this.label();
    this.show();
  }

  private label(): void {
    const toggle = this.part("toggle");
    const words = this.playing ? "Pause" : "Play";
    toggle.setAttribute("aria-label", words);
    const text = toggle.querySelector("span");
    if (text) text.textContent = words;
  }

  /** The first event after an instant. */
  private due(at: number): number {
    let [low, high] = [0, this.cast.events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.cast.events[middle]?.at ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private async jump(to: number): Promise<void> {
    const turn = ++this.turn;
    const at = Math.min(Math.max(to, 0), this.cast.length);
    const due = this.due(at);
    if (due < this.next) {
      this.screen.terminal.reset();
      this.screen.terminal.resize(this.cast.cols, this.cast.rows);
      this.next = 0;
    }
    while (this.next < due && turn === this.turn) await this.write(Math.min(due, this.next + SLICE));
    if (turn !== this.turn) return;
    this.at = at;
    this.show();
    if (this.playing) void this.play();
  }

  private async write(until: number): Promise<void> {
    const terminal = this.screen.terminal;
    for (; this.next < until; this.next += 1) {
      const event = this.cast.events[this.next];
      if (event?.size) terminal.resize(...event.size);
      else if (event?.text) terminal.write(event.text);
    }
    // Until it is drawn: a gigabyte must not pile up in the screen's queue.
    await new Promise<void>((done) => terminal.write("", done));
  }

  private async find(): Promise<void> {
    const sought = this.part("find").querySelector("input")?.value.trim().toLowerCase() ?? "";
    if (!sought) return;
    const hits = this.cast.lines.filter((line) => line.text.toLowerCase().includes(sought));
    const hit = hits.find((line) => line.at > this.at) ?? hits[0];
    if (!hit) return this.say("Not found.");
    this.say(`${hits.indexOf(hit) + 1} of ${hits.length}: ${shown(hit.text)}`);
    await this.jump(hit.until);
    this.at = hit.until;
  }

  private marks(): void {
    const list = this.part("marks");
    for (const mark of this.cast.marks.slice(0, 200)) {
      const item = list.appendChild(document.createElement("li"));
      const button = item.appendChild(document.createElement("button"));
      button.type = "button";
      button.className = "btn";
      button.dataset.size = "s";
      button.textContent = `${clock(mark.at)} ${shown(mark.text)}`;
      button.addEventListener("click", () => void this.jump(mark.at));
    }
    list.hidden = this.cast.marks.length === 0;
  }

  private show(): void {
    this.part<HTMLInputElement>("seek").value = String(Math.round(this.at));
    this.part("time").textContent = `${clock(this.at)} / ${clock(this.cast.length)}`;
  }

  private say(words: string): void {
    this.part("state").textContent = words;
  }
}

for (const root of document.querySelectorAll<HTMLElement>("[data-player]")) {
  const state = root.querySelector("[data-player-state]");
  load(root.dataset.player ?? "").then(
    (cast) => new Player(root, cast),
    (error: unknown) => {
      if (state) state.textContent = error instanceof Error ? error.message : "The recording cannot be read.";
    },
  );
}
