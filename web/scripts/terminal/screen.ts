// A screen: xterm.js under our policy, with what programs may not do switched off. Used by terminals and by the player.

import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";

import { DARK, LIGHT } from "./colours";
import { underPolicy } from "./policy";

export interface ScreenOptions {
  fontSize?: number;
  light?: boolean;
  reader?: boolean;
  /** Lines above the screen that are kept. */
  scrollback?: number;
  /** Nobody types here. */
  readOnly?: boolean;
  cols?: number;
  rows?: number;
  /** What is shown was not written for a terminal: a line feed begins a line. */
  plain?: boolean;
  /** Somebody pressed an address that is http or https. */
  onLink?: (url: URL) => void;
}

export interface Screen {
  terminal: Terminal;
  fit: FitAddon;
  search: SearchAddon;
  light(on: boolean): void;
}

/** Titles, working folders, hyperlinks, notifications, clipboard: a program has no say in them. */
const SWALLOWED = [0, 1, 2, 7, 8, 9, 52, 99, 777, 1337];

/** A screen inside an element that is in the document. */
export function screen(host: HTMLElement, options: ScreenOptions = {}): Screen {
  underPolicy();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const terminal = new Terminal({
    allowProposedApi: true,
    cols: options.cols ?? 80,
    rows: options.rows ?? 24,
    convertEol: options.plain ?? false,
    cursorBlink: false,
    cursorInactiveStyle: "outline",
    disableStdin: options.readOnly ?? false,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono").trim() || "ui-monospace, monospace",
    fontSize: options.fontSize ?? 13,
    lineHeight: 1.25,
    minimumContrastRatio: 4.5,
    screenReaderMode: options.reader ?? false,
    scrollback: options.scrollback ?? 10_000,
    smoothScrollDuration: still ? 0 : 60,
    theme: options.light ? LIGHT : DARK,
  });
  for (const code of SWALLOWED) terminal.parser.registerOscHandler(code, () => true);
  const fit = new FitAddon();
  const search = new SearchAddon({ highlightLimit: 1_000 });
  terminal.loadAddon(fit);
  terminal.loadAddon(search);
  if (options.onLink) {
    const open = options.onLink;
    terminal.loadAddon(
      new WebLinksAddon((event, text) => {
        event.preventDefault();
        const url = URL.canParse(text) ? new URL(text) : undefined;
        if (url && (url.protocol === "https:" || url.protocol === "http:")) open(url);
      }),
    );
  }
  terminal.open(host);
  return {
    terminal,
    fit,
    search,
    light: (on) => (terminal.options.theme = on ? LIGHT : DARK),
  };
}
