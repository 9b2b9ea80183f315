// Opening a cluster and going from what is degraded to a node and its machine, by keyboard alone.
import { input, signIn, story } from "./lib.mjs";

await story(async (page) => {
  await signIn(page, "/");
  const seen = {};
  /** Tab until the focus is on a link with that text; Enter. */
  const follow = async (text, within) => {
    for (let i = 0; i < 400; i += 1) {
      const there = await page.evaluate(
        ([words, place]) => {
          const el = document.activeElement;
          return el?.tagName === "A" && el.textContent.trim() === words && (!place || !!el.closest(place));
        },
        [text, within],
      );
      if (there) return page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${text}`);
  };
  const heading = async (name) => {
    await page.getByTestId("object").filter({ hasText: name }).waitFor();
    return (await page.locator(".item-name").innerText()).trim();
  };
  await page.keyboard.press("/");
  await page.keyboard.type(input.cluster);
  await page.getByTestId("cluster-row").filter({ hasText: input.cluster }).first().waitFor();
  await follow(input.cluster);
  await page.getByTestId("panel-verdict").getByText("Degraded", { exact: true }).first().waitFor();
  await follow(input.operator, "[data-testid=panel-verdict]");
  await page.waitForURL((url) => url.pathname.endsWith(`/operators/${input.operator}`));
  seen.operator = await heading(input.operator);
  await page.getByTestId("conditions").waitFor();
  await follow("Overview");
  await page.getByTestId("panel-verdict").getByText(input.node).first().waitFor();
  await follow(input.node, "[data-testid=panel-verdict]");
  await page.waitForURL((url) => url.pathname.endsWith(`/nodes/${input.node}`));
  seen.node = await heading(input.node);
  await follow(input.machine);
  await page.waitForURL((url) => url.pathname.endsWith(`/machines/${input.machine}`));
  seen.machine = await heading(input.machine);
  // The tabs stand in one row; the others are behind a disclosure.
  await page.setViewportSize({ width: 1280, height: 800 });
  const tops = await page.locator("#tabs > .tabs > a, #tabs summary").evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().bottom)));
  const fits = await page.locator("#tabs > .tabs").evaluate((one) => one.scrollWidth <= one.clientWidth);
  seen.oneRow = fits && tops.length > 10 && Math.max(...tops) - Math.min(...tops) <= 3;
  await page.locator("#tabs summary").focus();
  await page.keyboard.press("Enter");
  await follow("ARO operator", "#tabs");
  await page.waitForURL((url) => url.pathname.endsWith("/aro-operator"));
  await page.locator("#tabs summary[data-current]").getByText("ARO operator").waitFor();
  return seen;
});
