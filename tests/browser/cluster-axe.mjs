// Every page of a cluster: axe finds nothing, and nothing is wider than the window, down to 320 px and 400 % zoom.
import { input, signIn, story, violations } from "./lib.mjs";

await story(async (page) => {
  await page.emulateMedia({ colorScheme: input.scheme, reducedMotion: "reduce" });
  await signIn(page, input.resource);
  const found = [];
  const wide = [];
  const pages = [
    "overview", "operators", `operators/${input.operator}`, "nodes", `nodes/${input.node}`, "machines",
    `machines/${input.machine}`, "machinesets", "machinesets/workers-a", "controlplane", "operations",
  ];
  for (const path of pages) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${input.url}${input.resource}/${path}?wait=1`);
    await page.locator("#list section.panel").first().waitFor();
    found.push(...(await violations(page)));
    for (const [width, height] of [[1440, 900], [768, 900], [390, 844], [320, 256]]) {
      await page.setViewportSize({ width, height });
      const over = await page.evaluate(() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth);
      if (over > 0) wide.push({ path, width, over });
    }
    await page.screenshot({ path: `${process.env.FOLDER}/cluster-${path.replace("/", "-")}-${input.scheme}.png`, fullPage: true });
  }
  return { violations: found, wide, looked: pages.length };
});
