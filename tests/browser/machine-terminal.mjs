// A person at a machine's shell, a second one who looks on; the first signs out, comes back, and is cut.
import { writeFileSync } from "node:fs";
import { dropSignedOut, fillIn, input, nameField, signIn, story, violations } from "./lib.mjs";
import { becomes, focus, picture, run, screen, shows, LIMIT } from "./terminals.mjs";

const ask = (name) => writeFileSync(`${process.env.FOLDER}/${name}`, "");
const cells = (page) => page.locator("[data-term-cells]").textContent();

await story(async (page, context, errors) => {
  await page.setViewportSize({ width: 1280, height: 800 });
  const found = [];
  const address = `${input.resource}/terminal?machine=${input.machine}`;
  await signIn(page, address);
  await page.getByTestId("panel-terminal-ask").waitFor();
  await page.locator("textarea[name=reason]").fill("the machine of the story");
  await page.getByTestId("terminal-open").click();
  await becomes(page, "live");
  await run(page, "PS1='$ '; echo machine-$((6*7))");
  await shows(page, /^machine-42$/m);
  // The machine learns of another size.
  const before = await cells(page);
  await page.setViewportSize({ width: 900, height: 700 });
  await page.waitForFunction((last) => document.querySelector("[data-term-cells]").textContent !== last, before);
  const [cols, rows] = (await cells(page)).split(" × ");
  await run(page, `until [ "$(stty size)" = "${rows} ${cols}" ]; do :; done; echo sized-$((${cols} + 0))`);
  await shows(page, new RegExp(`^sized-${cols}$`, "m"));
  // Somebody looks on.
  const second = await context.browser().newContext({ ignoreHTTPSErrors: true });
  second.setDefaultTimeout(LIMIT);
  const watcher = await second.newPage();
  await watcher.setViewportSize({ width: 1440, height: 900 });
  await signIn(watcher, `${input.resource}/terminal`, input.watcher);
  await picture(watcher, "machine-open");
  found.push(...(await violations(watcher)));
  await watcher.getByTestId("term-look-on").click();
  await becomes(watcher, "live");
  await shows(watcher, /^machine-42$/m);
  await page.getByTestId("term-watched").waitFor();
  const badge = await page.getByTestId("term-watched").innerText();
  await focus(watcher);
  await watcher.keyboard.type("echo intruder");
  await page.bringToFront();
  await focus(page);
  await run(page, "echo both-$((40+2))");
  await shows(page, /^both-42$/m);
  await shows(watcher, /^both-42$/m);
  const typed = /intruder/.test(await screen(page));
  const sizes = [await cells(page), await cells(watcher)];
  await picture(page, "machine");
  await picture(watcher, "machine-watched");
  found.push(...(await violations(page)), ...(await violations(watcher)));
  // Signed out in another tab: the terminal is gone at once, and says so.
  const tab = await context.newPage();
  await tab.goto(`${input.url}/keys`);
  await tab.getByTestId("sign-out").evaluate((button) => button.click());
  await page.getByTestId("term-cut").waitFor({ state: "attached", timeout: LIMIT });
  const signedOut = await page.getByTestId("term-cut").textContent();
  await watcher.getByTestId("term-ended").waitFor({ timeout: LIMIT });
  const watchedOut = await watcher.getByTestId("term-ended").innerText();
  await tab.close();
  await picture(page, "machine-signed-out");
  // The access goes on: a new session of the portal opens a new shell under it.
  await page.goto(input.url + address);
  if (await page.locator(nameField).count()) await fillIn(page);
  await page.waitForURL((url) => url.pathname.endsWith("/terminal"));
  await becomes(page, "live");
  await run(page, "PS1='$ '; echo again-$((6*7))");
  await shows(page, /^again-42$/m);
  ask("revoke");
  await page.getByTestId("term-cut").waitFor({ timeout: LIMIT });
  const cut = await page.getByTestId("term-cut").innerText();
  found.push(...(await violations(page)));
  dropSignedOut(errors, 0);
  return { violations: found, badge, cells: sizes, typed, signedOut, watchedOut, cut };
});
