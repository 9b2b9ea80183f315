// The browser's end of a terminal's connection (docs/guides/terminal.md, "On the wire"). Bytes are numbered both ways; a
// connection that broke is opened again and goes on at the byte where it ended, so that nothing is lost or doubled.

const PROTOCOL = "aro.terminal.v1";
/** Frames of input. */
const PIECE = 8 * 1024;
/** What is on the screen is told at the latest after so many bytes, or so many milliseconds. */
const TELL_BYTES = 32 * 1024;
const TELL_AFTER = 100;
/** Without a word from the server for so long, the connection is dead. */
const SILENCE = 40_000;
const RETRY = [300, 700, 1_500, 3_000, 5_000];

export interface Size { cols: number; rows: number }
export type Place = { pod: { namespace: string; name: string; container: string } } | { machine: { name: string } } | { watch: { id: string } };

export interface Hello { id: string; token: string; grant: string; until: number; grace: number; window: number; ahead: number; recording: string | null; watch: boolean }

/** How a session is; `words` are for the person. */
export type State =
  | { is: "connecting" }
  | { is: "live" }
  | { is: "away"; since: number; until: number }
  | { is: "ended"; code: number | null; words: string }
  | { is: "cut" | "lost"; words: string }
  | { is: "refused"; code: string; words: string };

export interface Told {
  state(state: State): void;
  hello(hello: Hello): void;
  /** Back after so many milliseconds. */
  back(away: number): void;
  /** Bytes for the screen; `shown` when they are on it. */
  bytes(bytes: Uint8Array, shown: () => void): void;
  /** Somebody else's screen has this size. */
  size(size: Size): void;
  /** These look on. */
  watched(by: string[]): void;
  /** The session ends at that time unless something is typed. */
  idle(words: string, until: number): void;
}

type Frame = { t: string; [key: string]: unknown };

export class Wire {
  private socket: WebSocket | undefined;
  private state: State = { is: "connecting" };
  private known: Hello | undefined;
  /** Output: bytes that came, that are on the screen, that the server knows of. */
  private came = 0;
  private shown = 0;
  private told = 0;
  private telling: number | undefined;
  /** Input that the far side has not taken; the number of its first byte, and of the first that was not sent. */
  private typed: Uint8Array[] = [];
  private taken = 0;
  private sent = 0;
  private end = 0;
  private tries = 0;
  private again: number | undefined;
  private quiet: number | undefined;

  constructor(
    private readonly address: string,
    private readonly place: Place,
    private size: Size,
    private readonly on: Told,
  ) {
    addEventListener("online", this.now);
    this.connect();
  }

  /** Somebody else types. */
  get watches(): boolean {
    return "watch" in this.place;
  }

  /** The person is there, though nothing is typed. */
  here(): void {
    this.say({ t: "here" });
  }

  /** What the person typed. */
  type(bytes: Uint8Array): void {
    if (this.over || this.watches || bytes.length === 0) return;
    this.typed.push(bytes);
    this.end += bytes.length;
    this.pour();
  }

  resize(size: Size): void {
    if (size.cols === this.size.cols && size.rows === this.size.rows) return;
    this.size = size;
    if (this.state.is === "live" && !this.watches) this.say({ t: "size", size });
  }

  /** The person leaves. */
  leave(): void {
    if (this.over) return;
    this.say({ t: "bye" });
    this.finish({ is: "ended", code: null, words: this.watches ? "You stopped watching." : "You left this session." });
  }

  /** Tries at once. */
  readonly now = (): void => {
    if (this.state.is === "away" && !this.socket) this.connect();
  };

  get over(): boolean {
    return this.state.is !== "connecting" && this.state.is !== "live" && this.state.is !== "away";
  }

  /** Breaks the connection as a network would: for tests. */
  drop(): void {
    this.socket?.close();
  }

  private connect(): void {
    clearTimeout(this.again);
    const url = new URL(this.address, location.href);
    url.protocol = "wss:";
    const socket = new WebSocket(url, PROTOCOL);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      const { known, size, place } = this;
      if ("watch" in place) this.say({ t: "watch", id: place.watch.id });
      else this.say(known ? { t: "resume", id: known.id, token: known.token, seen: this.came, size } : { t: "open", place, size });
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      if (socket !== this.socket) return;
      this.listen();
      if (typeof event.data === "string") this.hear(JSON.parse(event.data) as Frame);
      else this.show(new Uint8Array(event.data));
    };
    socket.onclose = () => {
      if (socket === this.socket) this.closed();
    };
    this.listen();
  }

  /** Waits for the next word of the server. */
  private listen(): void {
    clearTimeout(this.quiet);
    const socket = this.socket;
    this.quiet = setTimeout(() => {
      socket?.close();
      if (socket && socket === this.socket) this.closed();
    }, SILENCE);
  }

  private show(bytes: Uint8Array): void {
    this.came += bytes.length;
    this.on.bytes(bytes, () => {
      this.shown += bytes.length;
      if (this.shown - this.told >= TELL_BYTES) this.tell();
      else this.telling ??= setTimeout(() => this.tell(), TELL_AFTER);
    });
  }

  private tell(): void {
    clearTimeout(this.telling);
    this.telling = undefined;
    if (this.state.is !== "live" || this.shown === this.told) return;
    this.told = this.shown;
    this.say({ t: "ack", n: this.shown });
  }

  private hear(frame: Frame): void {
    switch (frame.t) {
      case "hello":
        this.known = frame as unknown as Hello;
        this.tries = 0;
        this.to({ is: "live" });
        this.on.hello(this.known);
        // With this the server knows that the page knows its session.
        this.say({ t: "size", size: this.size });
        this.pour();
        break;
      case "resumed": {
        const since = this.state.is === "away" ? this.state.since : Date.now();
        this.tries = 0;
        this.sent = frame.came as number;
        this.to({ is: "live" });
        this.on.back(Date.now() - since);
        this.tell();
        this.pour();
        break;
      }
      case "watching":
        this.tries = 0;
        this.to({ is: "live" });
        this.on.size(frame.size as Size);
        break;
      case "size":
        this.on.size(frame.size as Size);
        break;
      case "watched":
        this.on.watched(frame.by as string[]);
        break;
      case "idle":
        this.on.idle(frame.words as string, Date.now() + (frame.left as number) * 1_000);
        break;
      case "took":
        this.took(frame.n as number);
        this.pour();
        break;
      case "exit":
        this.say({ t: "bye" });
        this.finish({ is: "ended", code: frame.code as number | null, words: frame.words as string });
        break;
      case "cut":
        this.finish({ is: "cut", words: frame.words as string });
        break;
      case "refused":
        this.finish({ is: "refused", code: frame.code as string, words: [frame.words, frame.action].filter(Boolean).join(" ") });
        break;
      case "lost":
        this.finish({ is: "lost", words: frame.words as string });
        break;
    }
  }

  /** The far side has these: they are never needed again. */
  private took(upto: number): void {
    while (this.typed.length > 0 && this.taken + (this.typed[0]?.length ?? 0) <= upto) this.taken += this.typed.shift()?.length ?? 0;
    const first = this.typed[0];
    if (first && upto > this.taken) {
      this.typed[0] = first.subarray(upto - this.taken);
      this.taken = upto;
    }
  }

  /** Sends what was typed, no further ahead than the server takes. */
  private pour(): void {
    const most = this.taken + (this.known?.ahead ?? 0);
    while (this.state.is === "live" && this.sent < this.end && this.sent < most) {
      const bytes = this.from(this.sent, Math.min(PIECE, most - this.sent));
      this.socket?.send(bytes);
      this.sent += bytes.length;
    }
  }

  private from(start: number, most: number): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(Math.min(most, this.end - start));
    let at = this.taken;
    let filled = 0;
    for (const piece of this.typed) {
      const skip = Math.max(0, start - at);
      if (skip < piece.length && filled < out.length) {
        const part = piece.subarray(skip, skip + out.length - filled);
        out.set(part, filled);
        filled += part.length;
      }
      at += piece.length;
      if (filled === out.length) break;
    }
    return out;
  }

  private closed(): void {
    this.socket = undefined;
    clearTimeout(this.quiet);
    if (this.over) return;
    if (this.watches && this.state.is === "live") {
      this.finish({ is: "lost", words: "The connection broke off. The terminal itself may go on." });
      return;
    }
    if (!this.known) {
      const words = "The connection could not be opened. Your session of the portal may have ended: load the page again.";
      this.finish({ is: "refused", code: "no_connection", words });
      return;
    }
    if (this.state.is !== "away") this.to({ is: "away", since: Date.now(), until: Date.now() + this.known.grace * 1_000 });
    if (this.state.is === "away" && Date.now() > this.state.until) {
      this.finish({ is: "lost", words: `The network was away for more than ${this.known.grace} s, so the session was ended.` });
      return;
    }
    const wait = RETRY[Math.min(this.tries++, RETRY.length - 1)] ?? 1_000;
    this.again = setTimeout(this.now, wait);
  }

  private finish(state: State): void {
    clearTimeout(this.again);
    clearTimeout(this.quiet);
    clearTimeout(this.telling);
    removeEventListener("online", this.now);
    this.to(state);
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
    this.typed = [];
  }

  private to(state: State): void {
    this.state = state;
    this.on.state(state);
  }

  private say(frame: Frame): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }
}
