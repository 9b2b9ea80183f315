// What was asked before: in this browser, and on the server under a name.

import { call } from "./api";

export interface Asked {
  query: string;
  kind: "range" | "instant";
  /** Seconds. */
  range: number;
  /** Seconds since 1970. */
  at: number;
  /** How it went: "33 series", "stopped: …". */
  note: string;
}

const KEY = "aro.explore.history";
const MOST = 100;

export function history(): Asked[] {
  try {
    const all = JSON.parse(localStorage.getItem(KEY) ?? "[]") as unknown;
    return Array.isArray(all) ? (all as Asked[]).filter((one) => typeof one?.query === "string" && typeof one.at === "number") : [];
  } catch {
    return [];
  }
}

export function remember(asked: Asked): void {
  try {
    const rest = history().filter((one) => one.query !== asked.query);
    localStorage.setItem(KEY, JSON.stringify([asked, ...rest].slice(0, MOST)));
  } catch {
    // Storage is barred or full.
  }
}

export function forget(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Storage is barred.
  }
}

export interface Saved {
  id: string;
  name: string;
  query: string;
  /** Seconds back; absent: an instant query. */
  range_secs?: number;
  shared: boolean;
  owner: string;
  mine: boolean;
}

export const saved = async (): Promise<Saved[]> => (await call<{ items: Saved[] }>("GET", "/api/v1/queries")).items;

export const save = (one: { name: string; query: string; cluster?: string; range_secs?: number; shared: boolean }): Promise<Saved> => call<Saved>("POST", "/api/v1/queries", undefined, one);

export const drop = (id: string): Promise<void> => call<void>("DELETE", `/api/v1/queries/${encodeURIComponent(id)}`);
