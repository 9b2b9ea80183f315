// Explorer, statistics, alerts, fleet query and the dialog for tools: accessible, never wider than the window.
import { input, signIn, story, violations } from "./lib.mjs";

await story(async (page) => {
  await signIn(page);
  await page.emulateMedia({ colorScheme: input.scheme });
  const query = encodeURIComponent(input.query);
  const chart = () => page.getByTestId("chart").locator("canvas").first().waitFor();
  const pages = {
    explore_empty: [`${input.resource}/explore`, () => page.getByTestId("editor").waitFor()],
    explore_graph: [`${input.resource}/explore?range=15m&query=${query}&query2=up&kind2=instant`, chart],
    explore_mistake: [`${input.resource}/explore?query=${encodeURIComponent("sum by (")}`, () => page.getByText("Prometheus cannot read it").or(page.getByText("cannot be read")).first().waitFor()],
    explore_none: [`${input.resource}/explore?query=no_such_metric`, () => page.getByTestId("empty").first().waitFor()],
    statistics: [`${input.resource}/statistics`, () => page.locator("[data-chart] canvas, [data-chart] .blank").first().waitFor()],
    alerts: [`${input.resource}/alerts?wait=1`, () => page.getByTestId("alert-count").waitFor()],
    fleet: ["/fleet", () => page.getByTestId("editor").waitFor()],
    fleet_answers: ["/fleet?query=up", () => page.getByTestId("answer-row").or(page.getByTestId("fault-row")).first().waitFor()],
    metrics: [`${input.resource}/metrics`, () => page.getByTestId("dialog-metrics").waitFor()],
  };
  const found = [];
  const wide = [];
  let looked = 0;
  for (const [name, [path, ready]] of Object.entries(pages)) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(input.url + path);
    await ready();
    for (const width of [1440, 390, 320]) {
      await page.setViewportSize({ width, height: 900 });
      const over = await page.evaluate(() => {
        const here = document.documentElement.clientWidth;
        if (document.scrollingElement.scrollWidth <= here) return null;
        return [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > here + 1).slice(0, 3).map((one) => one.outerHTML.slice(0, 160));
      });
      if (over) wide.push({ name, width, over });
      if (width === 320) continue;
      found.push(...(await violations(page)).map((one) => ({ ...one, name, width })));
      looked += 1;
    }
    if (input.pictures) {
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await page.screenshot({ path: `${process.env.FOLDER}/${name}-${input.scheme}-${width}.png`, fullPage: true });
      }
    }
  }
  return { violations: found, wide, looked };
});
