// An asciicast v3 as it comes: bounded, and nothing of it trusted.

export interface CastEvent {
  at: number;
  text?: string;
  size?: [number, number];
}

export interface Line {
  at: number;
  /** When its last character was shown. */
  until: number;
  text: string;
}

export interface Cast {
  cols: number;
  rows: number;
  /** The session had no terminal. */
  plain: boolean;
  events: CastEvent[];
  marks: { at: number; text: string }[];
  lines: Line[];
  /** Milliseconds. */
  length: number;
  /** All of it is here. */
  complete: boolean;
}

/** Characters that are kept in the page. */
const MOST = 64 * 1024 * 1024;
const EVENTS = 2_000_000;

const within = (value: unknown, most: number, usual: number) => {
  const number = Math.floor(Number(value));
  return number >= 1 && number <= most ? number : usual;
};

/** Without what would steer a page or a terminal. */
export const shown = (text: string) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").slice(0, 200);

const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[()*+#%].|.)|[\x00-\x08\x0b-\x1f\x7f]/gs;

class Reader {
  readonly cast: Cast = { cols: 80, rows: 24, plain: false, events: [], marks: [], lines: [], length: 0, complete: true };
  private headed = false;
  private line: Line = { at: 0, until: 0, text: "" };

  take(line: string): void {
    if (line === "" || line.startsWith("#")) return;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      return;
    }
    if (!this.headed && !Array.isArray(value)) {
      this.headed = true;
      const term = (value as { term?: { cols?: unknown; rows?: unknown; type?: unknown } } | null)?.term;
      this.cast.cols = within(term?.cols, 500, 80);
      this.cast.rows = within(term?.rows, 300, 24);
      this.cast.plain = typeof term?.type !== "string";
    } else if (Array.isArray(value)) this.event(value);
  }

  private event([after, code, data]: unknown[]): void {
    if (typeof after !== "number" || typeof data !== "string" || !(after >= 0 && after < 1e7)) return;
    const cast = this.cast;
    const at = (cast.length += after * 1_000);
    if (code === "o" || code === "e") {
      cast.events.push({ at, text: code === "e" ? data.replace(/(?<!\r)\n/g, "\r\n") : data });
      this.text(at, data);
    } else if (code === "r") {
      const size = /^(\d{1,4})x(\d{1,4})$/.exec(data);
      if (size) cast.events.push({ at, size: [within(size[1], 500, 80), within(size[2], 300, 24)] });
    } else if (code === "m") cast.marks.push({ at, text: data });
  }

  private text(at: number, data: string): void {
    for (const piece of data.replace(ESCAPES, "").split(/(\n)/)) {
      if (piece === "\n" || this.line.text.length > 2_000) this.end();
      if (piece === "\n" || piece === "") continue;
      if (this.line.text === "") this.line.at = at;
      this.line.text += piece;
      this.line.until = at;
    }
  }

  end(): void {
    if (this.line.text !== "") this.cast.lines.push(this.line);
    this.line = { at: 0, until: 0, text: "" };
  }
}

/** Reads a recording; throws words for people. */
export async function load(address: string): Promise<Cast> {
  const answer = await fetch(address, { headers: { accept: "application/x-asciicast" } });
  if (!answer.ok || !answer.body) {
    const told = (await answer.json().catch(() => undefined)) as { error?: { message?: string }; message?: string } | undefined;
    throw new Error(told?.message ?? told?.error?.message ?? "The recording cannot be read now.");
  }
  const reader = new Reader();
  const bytes = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let read = 0;
  for (;;) {
    const { done, value } = await bytes.read();
    if (done) break;
    read += value.length;
    rest += value;
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) reader.take(line);
    if (read > MOST || reader.cast.events.length > EVENTS) {
      reader.cast.complete = false;
      await bytes.cancel();
      break;
    }
  }
  reader.take(rest);
  reader.end();
  return reader.cast;
}
