import { input, signIn, story, violations } from "./lib.mjs";

await story(async (page) => {
  await signIn(page);
  await page.goto(`${input.url}/?state=Succeeded`);
  const cluster = new URL(await page.getByTestId("cluster-row").first().getByRole("link").first().getAttribute("href"), input.url).pathname;
  const pages = {
    clusters: "/",
    none: "/?q=nothing-is-called-so",
    failed: "/?state=Failed",
    cluster,
    cluster_access: `${cluster}/access`,
    dialog: `${cluster}/kubeconfig`,
    report: `${cluster}/report`,
    access: "/access",
    access_all: "/access?view=all&state=any",
    access_cluster: "/access?view=cluster",
    grant: await grant(page),
    revoke: `${await grant(page)}/revoke`,
    revoke_all: "/access/revoke?everything=true",
    elevations: "/elevations",
    elevate: "/elevate",
    break_glass: "/elevate?way=break-glass",
    robots: "/robots",
    audit: "/audit",
    imported: "/imported",
    keys: "/keys",
    not_found: "/no/such/page",
    sign_in_lost: "/callback?state=foreign&code=foreign",
  };
  const found = [];
  const wide = [];
  let looked = 0;
  await page.emulateMedia({ colorScheme: input.scheme });
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(input.url + path);
    for (const width of [1440, 390, 320]) {
      await page.setViewportSize({ width, height: 900 });
      const over = await tooWide(page);
      if (over) wide.push({ name, width, over });
      if (width === 320) continue;
      found.push(...(await violations(page)).map((one) => ({ ...one, name, width })));
      looked += 1;
    }
  }
  return { violations: found, wide, looked };
});

/** The page of a grant that is there. */
async function grant(page) {
  const list = await (await page.request.get(`${input.url}/api/v1/grants?all=true&limit=1`)).json();
  return `/access/${list.items[0].id}`;
}

/** What reaches out of the window, when the page scrolls sideways. */
async function tooWide(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const all = document.scrollingElement.scrollWidth;
    if (all <= width) return null;
    const out = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > width + 1);
    return { all, width, by: out.slice(0, 3).map((one) => one.outerHTML.slice(0, 160)) };
  });
}
