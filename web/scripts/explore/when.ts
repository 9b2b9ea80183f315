// Ranges and instants. Instants are seconds since 1970; a range without an end moves with now.

export interface Window {
  /** Length in seconds. */
  range: number;
  /** Its end; null: now. */
  end: number | null;
}

const UNITS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, y: 31_536_000 };

/** "1h30m" in seconds; 0 for what is none. */
export function duration(text: string): number {
  let rest = text.trim().toLowerCase();
  if (/^\d+$/.test(rest)) rest += "s";
  let out = 0;
  while (rest) {
    const part = /^(\d+(?:\.\d+)?)\s*(ms|[smhdwy])\s*/.exec(rest);
    if (!part) return 0;
    out += Number(part[1]) * (UNITS[part[2] ?? ""] ?? 0);
    rest = rest.slice(part[0].length);
  }
  return out;
}

/** Seconds as "1h30m", short enough for an address. */
export function name(seconds: number): string {
  const whole = Math.max(1, Math.round(seconds));
  for (const unit of ["w", "d", "h", "m"]) {
    const size = UNITS[unit] ?? 1;
    if (whole % size === 0) return `${whole / size}${unit}`;
  }
  return `${whole}s`;
}

/** Seconds in words: "2 h", "1 h 30 min". */
export function spoken(seconds: number): string {
  const steps: [number, string][] = [[604_800, "w"], [86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const out: string[] = [];
  let rest = Math.round(seconds);
  for (const [size, word] of steps) {
    if (rest >= size && out.length < 2) {
      out.push(`${Math.floor(rest / size)} ${word}`);
      rest %= size;
    }
  }
  return out.join(" ") || `${seconds} s`;
}

let local = false;
try {
  local = localStorage.getItem("aro.zone") === "local";
} catch {
  // Storage is barred: UTC it is.
}

export const isLocal = (): boolean => local;

export function setLocal(on: boolean): void {
  local = on;
  try {
    localStorage.setItem("aro.zone", on ? "local" : "utc");
  } catch {
    // For this page only.
  }
}

export const zone = (): string => (local ? Intl.DateTimeFormat().resolvedOptions().timeZone || "local time" : "UTC");

const two = (n: number): string => String(n).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export interface Parts {
  y: number;
  mo: number;
  d: number;
  h: number;
  mi: number;
  s: number;
}

export function parts(at: number): Parts {
  const date = new Date(at * 1000);
  return local
    ? { y: date.getFullYear(), mo: date.getMonth(), d: date.getDate(), h: date.getHours(), mi: date.getMinutes(), s: date.getSeconds() }
    : { y: date.getUTCFullYear(), mo: date.getUTCMonth(), d: date.getUTCDate(), h: date.getUTCHours(), mi: date.getUTCMinutes(), s: date.getUTCSeconds() };
}

export const clock = (at: number, seconds = false): string => {
  const p = parts(at);
  return `${two(p.h)}:${two(p.mi)}${seconds ? `:${two(p.s)}` : ""}`;
};

export const day = (at: number): string => {
  const p = parts(at);
  return `${p.d} ${MONTHS[p.mo] ?? ""}`;
};

export const date = (at: number): string => `${day(at)} ${parts(at).y}`;

/** "2026-11-21 03:12:00". */
export function full(at: number): string {
  const p = parts(at);
  return `${p.y}-${two(p.mo + 1)}-${two(p.d)} ${two(p.h)}:${two(p.mi)}:${two(p.s)}`;
}

/** What a person typed as an instant, in the chosen zone; null for what is none. */
export function parse(text: string): number | null {
  const given = text.trim();
  if (/^\d{9,11}(\.\d+)?$/.test(given)) return Number(given);
  if (/[zZ]$|[+-]\d\d:?\d\d$/.test(given)) {
    const at = Date.parse(given.replace(" ", "T"));
    return Number.isNaN(at) ? null : at / 1000;
  }
  const found = /^(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d))?)?$/.exec(given);
  if (!found) return null;
  const n = found.slice(1).map((one) => Number(one ?? 0)) as [number, number, number, number, number, number];
  const at = local ? new Date(n[0], n[1] - 1, n[2], n[3], n[4], n[5]).getTime() : Date.UTC(n[0], n[1] - 1, n[2], n[3], n[4], n[5]);
  return Number.isNaN(at) ? null : at / 1000;
}

/** The server's clock, as the page said it, running on. */
const ahead = (() => {
  const said = Number(document.querySelector<HTMLMetaElement>('meta[name="server-time"]')?.content ?? 0);
  return said ? said - Date.now() / 1000 : 0;
})();
export const now = (): number => Math.floor(Date.now() / 1000 + (Math.abs(ahead) > 30 ? ahead : 0));

export const startOf = (window: Window): number => endOf(window) - window.range;
export const endOf = (window: Window): number => window.end ?? now();
