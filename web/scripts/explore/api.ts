// Questions to our server. Each can be cancelled: the server then drops its own question to Prometheus.

import * as session from "../session";

/** Why there is no answer, in the words of the server. */
export class Problem extends Error {
  code = "";
  side = "us";
  action = "";
  status = 0;
  request = "";
  /** Where a syntax error is: line and column from 1, as Prometheus counts. */
  at: { line: number; column: number } | null = null;
}

export interface Sample {
  labels: Record<string, string>;
  /** Seconds since 1970 and the value as Prometheus writes it. */
  values: [number, string][];
}

export interface Answer {
  type: "matrix" | "vector" | "scalar" | "string";
  samples: Sample[];
  warnings: string[];
  source: string;
  /** Why it is not the first choice. */
  why?: string;
  /** Seconds; 0 for an instant. */
  step: number;
  took: number;
}

export const csrf = (): string => {
  try {
    return (JSON.parse(document.body.getAttribute("hx-headers") ?? "{}") as Record<string, string>)["X-CSRF-Token"] ?? "";
  } catch {
    return "";
  }
};

/** The line, the column and the words of a parse error. Prometheus 2 puts them into its sentence. */
function place(text: string): { line: number; column: number; words: string } | null {
  const found = /(\d+):(\d+): (parse error: [\s\S]*)/.exec(text);
  return found ? { line: Number(found[1]), column: Number(found[2]), words: found[3] ?? "" } : null;
}

async function problem(answer: Response): Promise<Problem> {
  let body: Record<string, unknown> = {};
  try {
    body = (await answer.json()) as Record<string, unknown>;
  } catch {
    // Not ours: a load balancer, or an answer that was cut.
  }
  const text = String(body["error"] ?? body["message"] ?? `The answer was ${answer.status}`);
  const error = new Problem(text);
  error.status = answer.status;
  error.code = String(body["code"] ?? body["errorType"] ?? "");
  error.side = String(body["side"] ?? (answer.status < 500 ? "you" : "us"));
  error.action = String(body["action"] ?? "");
  error.request = String(body["request_id"] ?? answer.headers.get("x-request-id") ?? "");
  const at = place(text);
  const said = body["position"] as { line: number; column: number } | undefined;
  if (at || said) {
    error.at = said ?? at;
    error.message = at?.words ?? text;
    error.side = "you";
  }
  if (answer.status === 401) session.ended();
  return error;
}

/** JSON from an address of ours. */
export async function call<T>(method: string, path: string, signal?: AbortSignal, body?: unknown): Promise<T> {
  const answer = await send(method, path, signal, body);
  if (answer.status === 204) return undefined as T;
  return (await answer.json()) as T;
}

/** A response that is ok, or a `Problem`. */
export async function send(method: string, path: string, signal?: AbortSignal, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = csrf();
  let payload: BodyInit | undefined;
  if (body instanceof URLSearchParams) payload = body;
  else if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    payload = JSON.stringify(body);
  }
  const init: RequestInit = { method, headers, credentials: "same-origin", redirect: "error" };
  if (signal) init.signal = signal;
  if (payload !== undefined) init.body = payload;
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    const away = new Problem("We could not be reached");
    away.action = "Check your network, then run it again.";
    throw away;
  }
  if (!answer.ok) throw await problem(answer);
  return answer;
}

export const cancelled = (error: unknown): boolean => (error as Error | null)?.name === "AbortError";

/** Longest address that every proxy on the way takes; longer questions go as forms. */
const LONGEST = 6000;

export type Fields = Record<string, string | number | undefined>;

export function ask(base: string, what: string, fields: Fields, signal: AbortSignal): Promise<Response> {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined && value !== "") given.set(name, String(value));
  const text = given.toString();
  return text.length < LONGEST ? send("GET", `${base}/${what}?${text}`, signal) : send("POST", `${base}/${what}`, signal, given);
}

interface Envelope {
  status: string;
  data: { resultType: Answer["type"]; result: unknown };
  warnings?: string[];
  infos?: string[];
}

interface Row {
  metric: Record<string, string>;
  value?: [number, string];
  values?: [number, string][];
  histogram?: [number, { count: string }];
  histograms?: [number, { count: string }][];
}

/** Series of Prometheus' envelope. A native histogram is told by its count. */
export function samples(data: Envelope["data"]): Sample[] {
  if (data.resultType === "scalar" || data.resultType === "string") {
    return [{ labels: {}, values: [data.result as [number, string]] }];
  }
  return (data.result as Row[]).map((row) => {
    const counts = row.histograms ?? (row.histogram ? [row.histogram] : []);
    const values = row.values ?? (row.value ? [row.value] : counts.map(([at, one]): [number, string] => [at, one.count]));
    return { labels: row.metric, values };
  });
}

export async function query(base: string, what: "query" | "query_range", fields: Fields, signal: AbortSignal): Promise<Answer> {
  const started = performance.now();
  const answer = await ask(base, what, fields, signal);
  let body: Envelope;
  try {
    body = (await answer.json()) as Envelope;
  } catch (error) {
    if (cancelled(error)) throw error;
    const cut = new Problem("The answer was cut off");
    cut.side = "cluster";
    cut.action = "Run it again, or ask for less.";
    throw cut;
  }
  return {
    type: body.data.resultType,
    samples: samples(body.data),
    warnings: [...(body.warnings ?? []), ...(body.infos ?? [])],
    source: answer.headers.get("x-aro-source") ?? "",
    why: answer.headers.get("x-aro-source-why") ?? "",
    step: Number(answer.headers.get("x-aro-step") ?? fields["step"] ?? 0) || 0,
    took: performance.now() - started,
  };
}
