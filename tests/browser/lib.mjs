// What every script starts with: the input, a page of a fresh Chromium, and the result file.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";

const { chromium } = createRequire(`${process.env.NODE_MODULES}/x.js`)("playwright-core");

export const input = JSON.parse(process.env.INPUT);

/** As `story`, in a browser that runs no scripts. */
export const noScript = (run) => story(run, { javaScriptEnabled: false });

/** Runs a story in a fresh browser and writes what it returns; a failure leaves a picture. */
export async function story(run, options = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const context = await browser.newContext({ ignoreHTTPSErrors: true, acceptDownloads: true, ...options });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const errors = listen(page);
  try {
    const result = await run(page, context, errors);
    writeFileSync(process.env.RESULT, JSON.stringify({ errors, ...result }));
  } catch (error) {
    // The error last: a story shows the end of what is said here.
    console.error((await page.locator("body").innerText({ timeout: 5_000 }).catch(() => "")).slice(0, 2_000));
    console.error(`at ${page.url()}`);
    console.error(error);
    await page.screenshot({ path: `${process.env.FOLDER}/failure.png` }).catch(() => {});
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

/** What goes wrong in a page's scripts from now on, as it comes. */
export function listen(page) {
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // Statuses of answers are the business of the story itself.
    if (message.type() !== "error" || message.text().startsWith("Failed to load resource")) return;
    // A page that is left while it refreshes itself cancels the request. htmx prints that as two errors.
    const [event, element] = message.text().split(", ");
    const ended = event === "htmx:sendAbort" ? errors.lastIndexOf(`htmx:afterRequest, ${element}`) : -1;
    if (ended < 0) errors.push(message.text());
    else errors.splice(ended, 1);
  });
  return errors;
}

/**
 * Takes out what htmx printed about answers 401: a page that polls while its person signs out gets one before the browser
 * has left it. Other statuses, and what came before the error numbered `from`, stay errors.
 */
export function dropSignedOut(errors, from) {
  const polled = ["Response Status Error Code 401", "htmx:"];
  errors.splice(from, errors.length, ...errors.slice(from).filter((each) => !polled.some((words) => each.startsWith(words))));
}

/** Goes to an address of the portal and through the provider's form, as `who` (`account`, `password`). */
export async function signIn(page, path = "/", who = input) {
  await page.goto(input.url + path);
  await fillIn(page, who);
}

/** The name field of the provider's form: the built-in one, or the foreign one of `input.provider`. */
export const nameField = input.provider ? "input[name=login]" : "input[name=name]";

/** The provider's form. */
export async function fillIn(page, who = input) {
  await page.fill(nameField, who.account);
  await page.fill("input[name=password]", who.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => url.origin === new URL(input.url).origin);
}

/** Until the scripts of the page that stands there hear keys: they are deferred, a page is seen before it listens. */
export const hears = (page) => page.waitForLoadState("load");

/** Whether a test of the page comes true. */
export const becomes = (page, test, arg) => page.waitForFunction(test, arg).then(() => true, () => false);

const AXE = readFileSync(process.env.AXE, "utf8");

/** Serious findings of axe on the page as it stands; `only` names rules. */
export async function violations(page, only = null) {
  // Half faded in, everything is too pale.
  await page.evaluate(() =>
    Promise.allSettled(
      document.getAnimations().filter((one) => one.effect?.getComputedTiming().endTime !== Infinity).map((one) => one.finished),
    ),
  );
  // Evaluated by the debugger: our policy would refuse a foreign script in the page.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  const rules = only ? { type: "rule", values: only } : ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await page.evaluate((runOnly) => globalThis.axe.run({ runOnly, resultTypes: ["violations"] }), rules);
  return found.violations.map((v) => ({ id: v.id, page: page.url(), nodes: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)) }));
}
