// How values are written in their unit.

/** Powers of the base units; a hint for what has none. */
export interface Unit {
  s: number;
  b: number;
  hint?: "ratio" | "percent" | "cores" | "celsius";
}

/** A unit by the name that the server gives it. */
export function named(name: string): Unit {
  if (name === "cores" || name === "ratio" || name === "percent" || name === "celsius") return { s: 0, b: 0, hint: name };
  if (/seconds?$/.test(name)) return { s: 1, b: 0 };
  const per = /(\/s|per second)$/.test(name) ? -1 : 0;
  return { s: per, b: /^bytes/.test(name) ? 1 : 0 };
}

/** For people: "seconds", "bytes per second", or nothing. */
export function words(unit: Unit): string {
  if (unit.hint === "ratio") return "ratio";
  if (unit.hint === "percent") return "per cent";
  if (unit.hint === "celsius") return "°C";
  if (unit.hint === "cores" && unit.s === 0) return "cores";
  const top = unit.b === 1 ? "bytes" : unit.s === 1 ? "seconds" : "";
  if (unit.s === -1) return top ? `${top} per second` : "per second";
  return top;
}

/** Distances between the lines of an axis that read well in the unit. */
export function steps(unit: Unit): number[] {
  const out: number[] = [];
  if (unit.b === 1) {
    for (let i = 0; i < 60; i += 1) out.push(2 ** i);
    return out;
  }
  const decimal = (from: number, to: number) => {
    for (let power = from; power < to; power += 1) for (const n of [1, 2, 5]) out.push(Number(`${n}e${power}`));
  };
  if (unit.s === 1) {
    decimal(-12, 1);
    out.push(10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200);
    for (const n of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000]) out.push(n * 86_400);
    return out;
  }
  decimal(-18, 18);
  return out;
}

function digits(v: number): string {
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return v.toExponential(2);
  if (size >= 1000) return v.toLocaleString("en", { maximumFractionDigits: size >= 10_000 ? 0 : 1 });
  return String(Number(v.toPrecision(3)));
}

function scaled(v: number, steps: [number, string][]): string {
  const size = Math.abs(v);
  const step = steps.find(([from]) => size >= from) ?? steps.at(-1);
  return step ? `${digits(v / step[0])} ${step[1]}` : digits(v);
}

const TIME: [number, string][] = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const BYTES: [number, string][] = [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"], [1, "B"]];
const PLAIN: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1, ""]];

/** A value with its unit. */
export function write(v: number | null, unit: Unit): string {
  if (v === null) return "–";
  if (Number.isNaN(v)) return "NaN";
  if (!Number.isFinite(v)) return v > 0 ? "+Inf" : "-Inf";
  const per = unit.s === -1 ? "/s" : "";
  if (unit.hint === "ratio") return `${digits(v * 100)} %`;
  if (unit.hint === "percent") return `${digits(v)} %`;
  if (unit.hint === "celsius") return `${digits(v)} °C`;
  if (unit.hint === "cores" && unit.s === 0) return digits(v);
  if (v === 0) return "0";
  if (unit.b === 1) return scaled(v, BYTES) + per;
  if (unit.s === 1 && unit.b === 0) return scaled(v, TIME);
  return `${scaled(v, PLAIN).trim()}${per && ` ${per}`}`;
}
