// A page that follows its cluster: `[data-live]` names what sends the parts that change. The answer is a stream of
// server-sent events, read with fetch so that a session that ended is told from a network that broke. Where streams do
// not come through, the page asks now and then.

import htmx from "htmx.org";
import { attended } from "./poll";
import { say, toast } from "./say";
import * as session from "./session";
import * as time from "./time";

type Told = { name: string; id: string; data: string };
type Standing = { state: "live" | "stale" | "loading"; as_of: number | null; why: string };

const POLL = 10_000;
/** The server gives a sign of life every 15 s. */
const SILENCE = 40_000;

let bar: HTMLElement | null = null;
let stop: AbortController | null = null;
let timer = 0;
let paused = false;
let polls = false;
let failures = 0;
let heard: Standing | null = null;
/** The query with which the stream was asked for. */
let asked = "";

const part = (selector: string) => bar?.querySelector<HTMLElement>(selector) ?? null;

/** What the line says, with the cluster's last word as the instant. */
function show(words: string, tone: string, why = ""): void {
  const text = part("[data-live-words]");
  const live = part(".live");
  const age = part("[data-live-age]");
  const reason = part("[data-live-why]");
  if (!bar || !text || !live || !age || !reason) return;
  if (text.textContent !== words) text.textContent = words;
  live.dataset.tone = tone;
  bar.dataset.state = paused ? "paused" : (heard?.state ?? "loading");
  reason.textContent = why;
  reason.hidden = !why;
  age.hidden = !heard?.as_of;
  if (!heard?.as_of) return;
  let at = age.querySelector("time");
  if (!at) {
    at = document.createElement("time");
    at.dataset.told = "past";
    age.replaceChildren(at);
  }
  at.dateTime = new Date(heard.as_of * 1000).toISOString().replace(".000", "");
  at.title = at.dateTime.replace("T", " ").replace("Z", " UTC");
  at.textContent = `${time.span(time.now() - heard.as_of)} ago`;
}

function tell(): void {
  if (paused) show("Paused, as of", "mute");
  else if (heard?.state === "stale") show("Last known state", "warn", heard.why);
  else if (heard?.state === "loading") show(heard.as_of ? "Last seen" : "Loading from the cluster", "mute");
  else if (heard && !heard.as_of) show(polls ? "Polls every 10 s" : "Live", "ok");
  else if (heard) show(polls ? "Polls every 10 s, updated" : "Live, updated", "ok");
}

/** What a reader has done to an element and must find again. */
type Kept = { focus: string; from: number | null; to: number | null; open: Set<string>; typed: Map<string, [string, boolean]>; scrolled: Map<string, [number, number]> };

/** A path to an element that stays the same when its parent is written anew. */
function way(el: Element, root: Element): string {
  if (el.id) return `#${CSS.escape(el.id)}`;
  const named = el.getAttribute("name") ?? el.getAttribute("href") ?? el.getAttribute("data-keep-as");
  if (named !== null) return `${el.tagName}|${named}`;
  const steps: string[] = [];
  for (let at: Element | null = el; at && at !== root; at = at.parentElement) {
    if (at.id) return `#${CSS.escape(at.id)}>${steps.join(">")}`;
    const row = at.getAttribute("data-row");
    steps.unshift(row ? `=${row}` : `${at.tagName}:${[...(at.parentElement?.children ?? [])].indexOf(at)}`);
  }
  return steps.join(">");
}

function all(root: Element, selector: string): HTMLElement[] {
  const found = [...root.querySelectorAll<HTMLElement>(selector)];
  return root.matches(selector) ? [root as HTMLElement, ...found] : found;
}

function keep(root: HTMLElement): Kept {
  const kept: Kept = { focus: "", from: null, to: null, open: new Set(), typed: new Map(), scrolled: new Map() };
  const active = document.activeElement;
  if (active && root.contains(active)) {
    kept.focus = way(active, root);
    if (active instanceof HTMLInputElement || active instanceof HTMLTextAreaElement) [kept.from, kept.to] = [active.selectionStart, active.selectionEnd];
  }
  for (const el of all(root, "details")) if ((el as HTMLDetailsElement).open) kept.open.add(way(el, root));
  for (const el of all(root, "input, textarea, select") as HTMLInputElement[]) {
    if (el.type !== "hidden" && (el.value !== el.defaultValue || el.checked !== el.defaultChecked)) kept.typed.set(way(el, root) + `|${el.type === "radio" ? el.value : ""}`, [el.value, el.checked]);
  }
  for (const el of all(root, "*")) if (el.scrollTop || el.scrollLeft) kept.scrolled.set(way(el, root), [el.scrollLeft, el.scrollTop]);
  return kept;
}

function restore(root: HTMLElement, kept: Kept): void {
  const find = (selector: string, wanted: string) => all(root, selector).find((el) => way(el, root) === wanted);
  for (const el of all(root, "details") as HTMLDetailsElement[]) if (kept.open.has(way(el, root))) el.open = true;
  for (const el of all(root, "input, textarea, select") as HTMLInputElement[]) {
    const typed = kept.typed.get(way(el, root) + `|${el.type === "radio" ? el.value : ""}`);
    if (typed) [el.value, el.checked] = typed;
  }
  for (const [where, [left, top]] of kept.scrolled) find("*", where)?.scrollTo({ left, top, behavior: "instant" });
  const focus = kept.focus && find("*", kept.focus);
  if (!focus) return;
  focus.focus({ preventScroll: true });
  if (kept.from !== null && (focus instanceof HTMLInputElement || focus instanceof HTMLTextAreaElement)) focus.setSelectionRange(kept.from, kept.to);
}

/** A part of the page as it is now. Selected text and an open dialog inside are not taken away. */
function swap(id: string, html: string): void {
  const old = document.getElementById(id);
  const made = document.createElement("template");
  made.innerHTML = html;
  const fresh = made.content.firstElementChild as HTMLElement | null;
  if (!old || !fresh || old.querySelector("dialog:modal")) return;
  const picked = getSelection();
  if (picked && !picked.isCollapsed && old.contains(picked.anchorNode)) {
    // Anyone who copies finishes first.
    waiting.set(id, html);
    return;
  }
  waiting.delete(id);
  const kept = keep(old);
  old.replaceWith(fresh);
  htmx.process(fresh);
  restore(fresh, kept);
}

const waiting = new Map<string, string>();

function picked(): void {
  if (waiting.size === 0 || !getSelection()?.isCollapsed) return;
  for (const [id, html] of waiting) swap(id, html);
  time.tick(true);
}

/** One event; true: the stream is over for good. */
function take(told: Told): boolean {
  if (told.name === "fragment") swap(told.id, told.data);
  else if (told.name === "state") {
    const before = heard?.state;
    heard = JSON.parse(told.data) as Standing;
    if (before === "live" && heard.state === "stale") say(`The cluster does not answer any more. ${heard.why}`);
    if (before === "stale" && heard.state === "live") say("Live again");
    tell();
  } else if (told.name === "end") return end((JSON.parse(told.data) as { reason: string }).reason);
  return false;
}

function end(reason: string): boolean {
  if (reason === "session") session.ended();
  else if (reason === "access") halt("Your groups do not let you look any more.");
  else if (reason === "otherwise") {
    // The cluster can be asked now, or no longer: other panels stand on its page. Anyone who is in a dialog finishes first.
    if (document.querySelector("dialog:modal")) return false;
    location.reload();
  } else if (reason === "gone") halt("This cluster is not in the list any more.");
  else return false;
  return true;
}

function halt(why: string): void {
  show("Last known state", "warn", why);
  toast(why, "warn");
}

/** Reads events until the stream ends; true: nothing more is wanted. */
async function read(body: ReadableStream<Uint8Array>, signal: AbortController): Promise<boolean> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let silence = 0;
  const alive = () => {
    clearTimeout(silence);
    silence = setTimeout(() => signal.abort(), SILENCE);
  };
  alive();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return false;
      alive();
      text += value;
      let swapped = false;
      for (let at = text.indexOf("\n\n"); at >= 0; at = text.indexOf("\n\n")) {
        const told = event(text.slice(0, at));
        text = text.slice(at + 2);
        failures = 0;
        swapped ||= told?.name === "fragment";
        if (told && take(told)) return true;
      }
      if (swapped) time.tick(true);
    }
  } finally {
    clearTimeout(silence);
    void reader.cancel().catch(() => undefined);
  }
}

function event(block: string): Told | null {
  const told: Told = { name: "", id: "", data: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) told.name = line.slice(7);
    else if (line.startsWith("id: ")) told.id = line.slice(4);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  told.data = data.join("\n");
  return told.name ? told : null;
}

/** The page's own query is asked with: a filter may have changed it since the page was made. */
function address(once: boolean): string {
  const url = new URL(bar?.dataset.live ?? "", location.href);
  asked = url.search = location.search;
  // What the page has was true when it was made; later everything is sent once more.
  if (bar?.dataset.seen) url.searchParams.set("seen", bar.dataset.seen);
  if (once) url.searchParams.set("once", "1");
  return url.href;
}

async function follow(): Promise<void> {
  if (!bar?.dataset.live || paused || stop || document.hidden) return;
  if (!attended()) {
    // Unattended pages stop asking, so that a session can end unused; the next touch goes on.
    again(2_000);
    return;
  }
  const signal = (stop = new AbortController());
  let over = false;
  try {
    const answer = await fetch(address(polls), { headers: { accept: "text/event-stream", "hx-request": "true" }, signal: signal.signal, credentials: "same-origin" });
    if (answer.status === 401) {
      session.ended();
      over = true;
    } else if (answer.status === 429) polls = true;
    else if (answer.status === 404 || answer.status === 403) {
      halt(answer.status === 404 ? "This cluster is not in the list any more." : "Your groups do not let you look any more.");
      over = true;
    } else if (answer.ok && answer.body) over = await read(answer.body, signal);
    else failures += 1;
  } catch {
    if (stop === signal) failures += 1;
  }
  if (stop !== signal) return;
  stop = null;
  delete bar.dataset.seen;
  if (over) return;
  // Streams that never bring anything: something between us collects answers.
  if (failures >= 3) polls = true;
  if (failures > 0) show("Last known state", "warn", "We could not be reached. Trying again.");
  again(polls ? POLL : Math.min(15_000, 250 * 2 ** Math.min(failures, 6)) * (0.5 + Math.random() / 2));
}

function again(wait: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void follow(), wait);
}

function leave(): void {
  const open = stop;
  stop = null;
  clearTimeout(timer);
  open?.abort();
}

function pause(now: boolean): void {
  paused = now;
  const words = part("[data-act=pause] span");
  if (words) words.textContent = now ? "Resume" : "Pause";
  if (now) leave();
  else void follow();
  tell();
}

/** Finds the page's line; called again when the page was exchanged. */
export function find(): void {
  const found = document.querySelector<HTMLElement>("[data-live]");
  if (found === bar) {
    // The same page with another filter: what the stream sends is of the old one.
    if (bar && asked !== location.search && stop) {
      leave();
      delete bar.dataset.seen;
      void follow();
    }
    return;
  }
  leave();
  bar = found;
  [heard, polls, failures] = [null, false, 0];
  waiting.clear();
  const button = part("[data-act=pause]");
  if (button) button.hidden = false;
  void follow();
}

export function start(): void {
  document.body.addEventListener("paused", (e) => pause((e as CustomEvent<boolean>).detail));
  document.addEventListener("selectionchange", picked);
  document.addEventListener("visibilitychange", () => {
    // A tab that nobody sees costs the cluster nothing.
    if (document.hidden) leave();
    else if (bar) again(0);
  });
  window.addEventListener("pagehide", leave);
  window.addEventListener("pageshow", () => bar && again(0));
  find();
}
