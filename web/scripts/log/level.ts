// The level of a log line, where it names one. The same rules as in src/log_level.rs.

const RANKS: Record<string, number> = { debug: 1, info: 2, warn: 3, error: 4 };
const WORDS: Record<string, string> = {
  trace: "debug", debug: "debug", dbg: "debug",
  info: "info", notice: "info", information: "info",
  warn: "warn", warning: "warn",
  error: "error", err: "error", fatal: "error", panic: "error", critical: "error", alert: "error", emergency: "error", dpanic: "error",
};
const KLOG: Record<string, string> = { I: "info", W: "warn", E: "error", F: "error" };
const TIME = /^\d{4}-\d\d-\d\dT[^ ]{9,}Z /;
const KEY = /(?<![A-Za-z0-9_])(?:"(?:level|severity)": ?"|(?:level|lvl|severity)="?)([A-Za-z]+)/g;

export function level(text: string): string {
  const line = text.slice(0, 2048);
  const klog = /^([IWEF])\d{4} /.exec(line.replace(TIME, ""))?.[1];
  if (klog) return KLOG[klog] ?? "";
  for (const found of line.matchAll(KEY)) {
    const known = WORDS[(found[1] ?? "").toLowerCase()];
    if (known) return known;
  }
  return "";
}

/** Whether a line of that level is among those that are wanted; `least` is empty for all. */
export const among = (of: string, least: string): boolean => least === "" || (RANKS[of] ?? 0) >= (RANKS[least] ?? 0);
