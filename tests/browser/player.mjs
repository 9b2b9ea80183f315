// Somebody looks for a recorded session and plays it: jump, find, speed, download; wide and narrow, in both schemes,
// looked at by axe. What the session tried to do to anyone who watches is looked for.
import { readFileSync, writeFileSync } from "node:fs";
import { becomes, hears, input, signIn, story, violations } from "./lib.mjs";

await story(async (page, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
  const [found, overflow, titles] = [[], [], []];
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    dialog.dismiss().catch(() => {});
  });
  const look = async (name) => {
    titles.push(await page.title());
    for (const [width, colorScheme] of [[1400, "light"], [1400, "dark"], [390, "light"], [390, "dark"]]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) overflow.push(`${name} ${width} ${colorScheme}: ${wide}`);
      found.push(...(await violations(page)));
      if (process.env.PICTURES) {
        writeFileSync(`${process.env.PICTURES}/${name}-${width}-${colorScheme}.png`, await page.screenshot({ fullPage: true }));
      }
    }
    await page.setViewportSize({ width: 1400, height: 900 });
    await page.emulateMedia({ colorScheme: "light" });
  };
  // Whatever does not come is told with what is there instead.
  const must = async (what, test, arg) => {
    if (await becomes(page, test, arg)) return;
    const state = await page.locator("[data-player-state]").innerText();
    const rows = await page.locator(".xterm-rows").innerText().catch(() => "no screen");
    throw new Error(`${what}: ${state}\n${rows}`);
  };
  const shows = (text) =>
    must(`the screen shows "${text}"`, (words) => document.querySelector(".xterm-rows")?.textContent?.includes(words), text);
  const screen = () => page.locator(".xterm-rows").innerText();

  await signIn(page, "/recordings?q=of+eight");
  await page.getByTestId("recording-hit").first().waitFor();
  const controls = await page.evaluate(() => [...document.querySelector("#list").innerText].some((c) => c !== "\n" && c !== "\t" && c < " "));
  await look("recordings");

  await page.getByTestId("recording-row").locator("th a").first().click();
  await page.waitForURL((url) => url.pathname === `/recordings/${input.id}`);
  await hears(page);
  await must("the recording is loaded", () => document.querySelector("[data-player-state]")?.textContent === "");
  await page.getByTestId("player-find").fill("LINE 8");
  await page.getByTestId("player-find").press("Enter");
  await must("the line is found", () => document.querySelector("[data-player-state]")?.textContent?.startsWith("1 of 1"));
  await shows("8 of eight");
  const begin = await screen();
  await look("player");

  await page.getByTestId("player-speed").selectOption("16");
  await page.getByTestId("player-toggle").click();
  await shows("the last line");
  const end = await screen();
  await must("it stops at its end", () => document.querySelector("[data-player-toggle]")?.getAttribute("aria-label") === "Play");
  titles.push(await page.title());
  await page.getByTestId("player-screen").focus();
  await page.keyboard.press("ArrowLeft");
  await must("it jumps back", () => document.querySelector("[data-player-time]")?.textContent?.startsWith("0:00"));
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByTestId("recording-download").click()]);
  const cast = readFileSync(await download.path(), "utf8");
  const links = await page.locator("[data-player-screen] a").count();
  const clipboard = await page.evaluate(() => navigator.clipboard.readText().catch(() => ""));

  // From the access to its recordings.
  await page.goto(`${input.url}/access/${input.grant}`);
  await page.getByTestId("recordings-of").click();
  await page.getByTestId("of-grant").waitFor();
  const ofGrant = await page.getByTestId("recording-row").count();
  return {
    violations: found,
    overflow,
    titles,
    dialogs,
    controls,
    begin,
    end,
    links,
    clipboard,
    download: download.suggestedFilename(),
    whole: cast.startsWith('{"') && cast.includes('"the last line') && cast.trimEnd().endsWith('"x","0"]'),
    ofGrant,
  };
});
