// Keeps the words of <time data-told> current, by the server's clock. Same rule as src/when.rs.

let offset = 0;

export function now(): number {
  return Math.floor(Date.now() / 1000) + offset;
}

export function span(seconds: number): string {
  const s = Math.max(0, seconds);
  const [m, h, d] = [Math.floor(s / 60), Math.floor(s / 3600), Math.floor(s / 86400)];
  const two = (a: number, au: string, b: number, bu: string) => (b === 0 ? `${a} ${au}` : `${a} ${au} ${b} ${bu}`);
  if (s < 60) return `${s} s`;
  if (m < 60) return `${m} min`;
  if (d < 1) return two(h, "h", m % 60, "min");
  if (d < 4) return two(d, "d", h % 24, "h");
  return `${Math.floor((s + 43200) / 86400)} d`;
}

function words(kind: string | undefined, at: number, t: number): string {
  const past = Math.abs(at - t) < 2 ? "just now" : at > t + 5 ? `${span(at - t)} ahead of our clock` : `${span(t - at)} ago`;
  if (kind === "lasting") return span(t - at);
  if (kind === "coming") return at > t ? `in ${span(at - t)}` : `ended ${past}`;
  return past;
}

let turn = 0;

/** Rewrites what is near every second, the rest every 15 s. */
export function tick(all: boolean): void {
  const t = now();
  turn = (turn + 1) % 15;
  for (const el of document.querySelectorAll<HTMLTimeElement>("time[data-told]")) {
    const at = Math.floor(Date.parse(el.dateTime) / 1000);
    if (Number.isNaN(at) || (!all && turn !== 0 && Math.abs(at - t) > 125)) continue;
    const text = words(el.dataset.told, at, t);
    if (el.textContent !== text) el.textContent = text;
  }
  for (const bar of document.querySelectorAll<SVGRectElement>("rect[data-until]")) {
    const [since, until] = [Number(bar.dataset.since), Number(bar.dataset.until)];
    const left = (Math.max(0, until - t) * 1000) / Math.max(1, until - since);
    bar.setAttribute("width", String(Math.min(1000, Math.floor(left))));
  }
}

export function start(): void {
  const server = Number(document.querySelector<HTMLMetaElement>("meta[name=server-time]")?.content);
  const since = Math.floor((performance.now() - (performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming | undefined)?.responseStart!) / 1000);
  if (server > 0) offset = server + (Number.isFinite(since) ? since : 0) - Math.floor(Date.now() / 1000);
  setInterval(() => {
    if (!document.hidden) tick(false);
  }, 1000);
  document.addEventListener("visibilitychange", () => document.hidden || tick(true));
}
