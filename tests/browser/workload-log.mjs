// A person reads a log: says why once, follows, finds, and is told when the access is taken away; then the other pages
// of what runs, looked at by axe.
import { existsSync, writeFileSync } from "node:fs";
import { hears, input, signIn, story, violations } from "./lib.mjs";

const LIMIT = 120_000;

function ask(name) {
  writeFileSync(`${process.env.FOLDER}/${name}`, "");
}

await story(async (page) => {
  const found = [];
  await signIn(page, `${input.resource}/pods/default/web/log?tail=100`);
  // Why, by keyboard: the field has the focus.
  await page.getByTestId("panel-reason").waitFor();
  found.push(...(await violations(page)));
  await page.keyboard.type("short");
  await page.getByTestId("reason-open").focus();
  await page.locator("textarea[name=reason]").fill("the page of the story");
  await page.getByTestId("reason-open").click();
  const text = page.getByTestId("log-text");
  const state = page.getByTestId("log-state");
  await text.getByText("a needle in the log").first().waitFor();
  await hears(page);
  found.push(...(await violations(page)));
  // Find in the page.
  await page.locator("[data-log-find]").fill("needle");
  await page.locator("[data-log-find]").press("Enter");
  await page.locator(".log-text .line.now").waitFor();
  await page.locator("[data-log-find]").fill("");
  // Follow: a flood of lines neither freezes the page nor fills it.
  await page.locator("[data-log-follow]").check();
  await state.getByText("Following", { exact: false }).waitFor({ timeout: LIMIT });
  await text.getByText("a needle in the log").first().waitFor({ timeout: LIMIT });
  ask("write");
  await text.getByText("the very last line").first().waitFor({ timeout: LIMIT });
  const lines = await text.locator(".line").count();
  ask("revoke");
  await state.getByText("revoked", { exact: false }).waitFor({ timeout: LIMIT });
  // The other pages of what runs.
  for (const path of ["/pods?wait=1", "/workloads?wait=1", "/events?wait=1", "/network"]) {
    await page.goto(`${input.url}${input.resource}${path}`);
    await page.locator(".panel").first().waitFor();
    found.push(...(await violations(page)));
  }
  await page.goto(`${input.url}${input.resource}/resources`);
  await page.getByTestId("was-revoked").waitFor();
  await page.locator("textarea[name=reason]").fill("the page of the story, again");
  await page.getByTestId("reason-open").click();
  await page.getByTestId("panel-resources").waitFor();
  found.push(...(await violations(page)));
  await page.getByTestId("search").fill("clusteroperator");
  await page.getByRole("link", { name: "ClusterOperator", exact: true }).click();
  await page.getByTestId("object-row").first().getByRole("link").click();
  await page.getByTestId("as-yaml").click();
  await page.getByTestId("object-text").waitFor();
  found.push(...(await violations(page)));
  return { violations: found, lines };
});
