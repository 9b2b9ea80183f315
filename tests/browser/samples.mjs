// Every sample of the gallery in a real browser: never wider than the window, accessible in every theme, no error of
// its scripts; with `pictures` also a picture of each. Serves the gallery's folder itself.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";
import { input, listen, story, violations } from "./lib.mjs";

const KINDS = { ".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };

const server = createServer(async (request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
  try {
    const body = await readFile(join(input.folder, path));
    response.writeHead(200, { "Content-Type": KINDS[extname(path)] ?? "application/octet-stream" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const base = `http://127.0.0.1:${server.address().port}`;

/** Theme, what the browser is told, and which rules of axe can find something that the first theme does not show. */
const THEMES = {
  light: { media: { colorScheme: "light" }, only: null },
  dark: { media: { colorScheme: "dark" }, only: ["color-contrast"] },
  contrast: { media: { colorScheme: "light" }, theme: "contrast", only: ["color-contrast"] },
  "contrast-dark": { media: { colorScheme: "dark" }, theme: "contrast", only: ["color-contrast"] },
};
const WIDTHS = [1440, 390, 320];

/** Script of a page besides htmx, gzip. The editor and the charts are libraries of pages that are nothing without them. */
const BUDGET = 30 * 1024;
const HTMX = 16_838;
const LIBRARIES = ["explore.js", "charts.js", "terminal.js", "player.js"];

/** Samples that are looked at side by side: each page has a process of its own. */
const AT_ONCE = 2;

await story(async (page, context, errors) => {
  const found = { violations: [], wide: [], heavy: [], errors: [], looked: {} };
  const left = [...input.names];
  const others = Array.from({ length: AT_ONCE - 1 }, () => context.newPage());
  const pages = [page, ...(await Promise.all(others))];
  await Promise.all(
    pages.map(async (one, at) => {
      const own = at === 0 ? errors : listen(one);
      for (let name = left.shift(); name; name = left.shift()) {
        await look(one, name, found);
        // What the page still reports belongs to this sample: nothing comes after it has been left.
        await one.goto("about:blank");
        // No service of ours sends a token with quotes in it; the hostile frame does, and htmx cannot read its headers
        // then. A sample of a terminal has no server behind its socket.
        const counts = name.endsWith("-hostile") ? [] : own.filter((error) => !error.includes("/terminal/socket"));
        found.errors.push(...counts.map((error) => ({ name, error })));
        own.length = 0;
      }
    }),
  );
  server.close();
  return found;
});

/** One sample in every theme and at every width. */
async function look(page, name, found) {
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.setViewportSize({ width: WIDTHS[0], height: 900 });
  await page.goto(`${base}/${name}.html`);
  const bytes = await scripts(page);
  if (bytes > BUDGET) found.heavy.push({ name, bytes });
  for (const [word, theme] of Object.entries(THEMES)) {
    await page.emulateMedia({ ...theme.media, reducedMotion: "reduce" });
    await page.evaluate((value) => (value ? (document.documentElement.dataset.theme = value) : delete document.documentElement.dataset.theme), theme.theme);
    found.violations.push(...(await violations(page, theme.only)).map((one) => ({ ...one, name, theme: word })));
    found.looked[word] = (found.looked[word] ?? 0) + 1;
    if (input.pictures) {
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await page.screenshot({ path: `${input.pictures}/${name}-${word}-${width}.png`, fullPage: width === 1440 });
      }
      await page.setViewportSize({ width: WIDTHS[0], height: 900 });
    }
  }
  await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
  if (input.pictures) await page.screenshot({ path: `${input.pictures}/${name}-forced-1440.png` });
  await page.emulateMedia({ forcedColors: "none", reducedMotion: "reduce" });
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: width === 320 ? 256 : 900 });
    const over = await tooWide(page);
    if (over) found.wide.push({ name, width, over });
  }
}

/** Bytes of the page's scripts besides htmx, as they go over the wire. */
async function scripts(page) {
  const sources = await page.locator("script[src]").evaluateAll((all) => all.map((one) => one.getAttribute("src")));
  let bytes = 0;
  for (const source of sources.filter((one) => !LIBRARIES.some((name) => one.endsWith(name)))) {
    bytes += gzipSync(await readFile(join(input.folder, source)), { level: 9 }).length - (source.endsWith("/app.js") ? HTMX : 0);
  }
  return bytes;
}

/** What reaches out of the window, when the page scrolls sideways. */
async function tooWide(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.scrollingElement.scrollWidth <= width) return null;
    const out = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > width + 1);
    return out.slice(0, 3).map((one) => one.outerHTML.slice(0, 160));
  });
}
