// A cluster's page while it is installed: what is open follows by itself, from the first step to the end.
import { input, signIn, story, violations } from "./lib.mjs";

await story(async (page) => {
  const found = [];
  const steps = new Set();
  const phases = new Set();
  await signIn(page, `${input.resource}/operations`);
  await page.evaluate(() => (window.same = true));
  const operation = page.getByTestId("panel-operation");
  const end = Date.now() + 240_000;
  let told = "";
  let looked = false;
  while (Date.now() < end) {
    told = await operation.innerText();
    for (const [, name] of told.matchAll(/[Ss]tep \d+ of \d+: ([^.]+)/g)) steps.add(name);
    for (const phase of ["Bootstrap", "Remove bootstrap"]) if (told.includes(phase)) phases.add(phase);
    if (!looked && steps.size > 1) {
      looked = true;
      found.push(...(await violations(page)));
      await page.screenshot({ path: `${process.env.FOLDER}/install-running.png`, fullPage: true });
    }
    if (/succeeded|failed/i.test(told) && !told.includes("Running operation")) break;
    // Whatever comes next changes the panel.
    await page.waitForFunction((before) => document.querySelector("#panel-operation")?.innerText !== before, told, { timeout: 60_000 }).catch(() => undefined);
  }
  const unloaded = await page.evaluate(() => window.same === true);
  found.push(...(await violations(page)));
  await page.screenshot({ path: `${process.env.FOLDER}/install-ended.png`, fullPage: true });
  const diagnostics = await page.locator("#panel-diagnostics summary").allInnerTexts();
  const listed = await page.locator("#panel-steps").innerText();
  const log = await page.locator("#panel-lines .line").count();
  return { told, listed, steps: [...steps], phases: [...phases], unloaded, diagnostics, log, violations: found };
});
