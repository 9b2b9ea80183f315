// A person opens a shell in a container, works in it while the network breaks, and is cut when the access is taken away.
import { writeFileSync } from "node:fs";
import { input, signIn, story, violations } from "./lib.mjs";
import { LIMIT, becomes, picture, run, shows } from "./terminals.mjs";

const ask = (name) => writeFileSync(`${process.env.FOLDER}/${name}`, "");

/** What the server says to frames that no page of ours sends: the last text frame, or that it closed. */
const hostile = (page, address, frames) =>
  page.evaluate(
    ([address, frames]) =>
      new Promise((done) => {
        const url = new URL(address, location.href);
        url.protocol = "wss:";
        const socket = new WebSocket(url, "aro.terminal.v1");
        const heard = [];
        const send = (frame) => socket.send(typeof frame === "number" ? new Uint8Array(frame) : frame);
        socket.onopen = () => send(frames[0]);
        socket.onmessage = (event) => {
          if (typeof event.data !== "string") return;
          heard.push(JSON.parse(event.data));
          if (heard.length === 1) frames.slice(1).forEach(send);
        };
        socket.onclose = () => done(heard.map((each) => each.code ?? each.t));
      }),
    [address, frames],
  );

await story(async (page, context, errors) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.setViewportSize({ width: 1280, height: 800 });
  const found = [];
  const address = `${input.resource}/terminal?namespace=default&pod=web`;
  await signIn(page, address);
  // Why: once.
  await page.getByTestId("panel-terminal-ask").waitFor();
  found.push(...(await violations(page)));
  await picture(page, "asked");
  await page.locator("textarea[name=reason]").fill("the terminal of the story");
  await page.getByTestId("terminal-open").click();
  await page.getByTestId("terminal").waitFor();
  await becomes(page, "live");
  await run(page, "PS1='$ '; echo term-$((6*7))");
  await shows(page, /^term-42$/m);
  // The program knows the size, and learns of another one.
  const sizes = [];
  for (const width of [1280, 900]) {
    await page.setViewportSize({ width, height: 800 });
    await page.waitForFunction((last) => document.querySelector("[data-term-cells]").textContent !== last, sizes.at(-1) ?? "");
    const words = await page.locator("[data-term-cells]").textContent();
    sizes.push(words);
    const [cols, rows] = words.split(" × ");
    await run(page, `until [ "$(stty size)" = "${rows} ${cols}" ]; do :; done; echo sized-$((${cols} + 0))`);
    await shows(page, new RegExp(`^sized-${cols}$`, "m"));
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  // A program that never stops writing: the page answers, and no more is on its way than may be.
  await run(page, "yes");
  await page.waitForFunction(() => document.querySelector("[data-terminal]").terminals.chosen.bytes > 4_000_000, null, { timeout: LIMIT });
  await page.locator('[data-term="search"]').first().click();
  await page.getByTestId("term-find").waitFor();
  const ahead = await page.evaluate(() => {
    const { wire, known } = document.querySelector("[data-terminal]").terminals.chosen;
    return { waiting: wire.came - wire.shown, window: known.window };
  });
  await page.getByTestId("term-find").press("Escape");
  await page.keyboard.press("Control+c");
  await run(page, "echo after-$((40+2))");
  await shows(page, /^after-42$/m);
  // The network breaks, again and again: every line once, in order.
  await run(page, "clear; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line-$i; done; echo end-$((20+1))");
  for (let times = 0; times < 3; times++) {
    await becomes(page, "live");
    await page.evaluate(() => document.querySelector("[data-terminal]").terminals.chosen.wire.drop());
    await page.waitForFunction(() => document.querySelector("[data-terminal]").terminals.chosen.state.is !== "live", null, { timeout: LIMIT });
  }
  const seen = await shows(page, /^end-21$/m);
  const lines = [...seen.matchAll(/^line-(\d+)$/gm)].map((each) => Number(each[1]));
  const inOrder = lines.length === 3_000 && lines.every((each, at) => each === at + 1);
  // What is typed meanwhile is kept.
  await becomes(page, "live");
  await context.setOffline(true);
  await page.evaluate(() => document.querySelector("[data-terminal]").terminals.chosen.wire.drop());
  await page.getByTestId("term-away").waitFor();
  await run(page, "echo kept-$((2+2))");
  await picture(page, "away");
  found.push(...(await violations(page)));
  await context.setOffline(false);
  await shows(page, /^kept-4$/m);
  const back = await page.getByTestId("term-back").innerText();
  // A program has no say in the title, the clipboard, or where a link leads.
  const title = await page.title();
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  await run(page, "printf '\\033]0;owned\\007\\033]52;c;b3duZWQ=\\007\\033]8;;https://evil.example/\\007text\\033]8;;\\007\\n'; echo said-$((3+3))");
  await shows(page, /^said-6$/m);
  const kept = { title: (await page.title()) === title, clipboard: await page.evaluate(() => navigator.clipboard.readText()) };
  await run(page, "printf '\\033[38;2;255;100;0mtrue colour\\033[0m \\033[1;32mgreen\\033[0m \\033[44mblue\\033[0m https://example.com/x\\n'; ls -la / | head -8");
  await shows(page, /true colour/);
  // By keyboard: out of the terminal, along the tabs, and back.
  await page.keyboard.press("Control+Shift+Escape");
  const left = await page.evaluate(() => document.activeElement?.getAttribute("role"));
  await page.locator("[data-term-new] > summary").click();
  await page.getByTestId("term-again").click();
  await becomes(page, "live");
  await run(page, "echo second-$((1+1)); exit 7");
  const ended = await page.getByTestId("term-ended").innerText();
  await page.locator(".term-tab [role=tab]").first().click();
  await becomes(page, "live");
  await picture(page, "wide");
  found.push(...(await violations(page)));
  // Light, with a reader, and on a phone.
  await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
  const choose = async (what) => {
    await page.locator(".term-tools details > summary").click();
    await page.locator(`[data-term="${what}"]`).click();
  };
  await choose("theme");
  await choose("reader");
  await page.locator(".xterm-accessibility").first().waitFor({ state: "attached" });
  await picture(page, "light");
  found.push(...(await violations(page)));
  await page.setViewportSize({ width: 390, height: 780 });
  await page.waitForFunction(() => document.querySelector("[data-terminal]").terminals.chosen.size.cols < 60);
  const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await picture(page, "narrow");
  found.push(...(await violations(page)));
  await page.setViewportSize({ width: 1280, height: 800 });
  // Frames that no page sends.
  const socket = `${input.resource}/terminal/socket`;
  const open = JSON.stringify({ t: "open", place: { pod: { namespace: "default", name: "web", container: "" } }, size: { cols: 80, rows: 24 } });
  const refused = {
    garbage: await hostile(page, socket, ["what?"]),
    bytes: await hostile(page, socket, [100]),
    path: await hostile(page, socket, [JSON.stringify({ t: "open", place: { pod: { namespace: "default", name: "../x", container: "" } }, size: { cols: 80, rows: 24 } })]),
    lies: await hostile(page, socket, [open, JSON.stringify({ t: "ack", n: 1e12 })]),
    large: await hostile(page, socket, [open, 40_000]),
    stranger: await hostile(page, socket, [JSON.stringify({ t: "resume", id: "x", token: "y", seen: 0, size: { cols: 80, rows: 24 } })]),
  };
  // Taken away.
  await page.evaluate(() => delete document.documentElement.dataset.theme);
  ask("revoke");
  await page.getByTestId("term-cut").waitFor({ timeout: LIMIT });
  const cut = await page.getByTestId("term-cut").innerText();
  await picture(page, "cut");
  found.push(...(await violations(page)));
  // What Chromium and the page's own polling say of a network that we broke.
  const broken = ["WebSocket connection to", "htmx:sendError", "htmx:afterRequest"];
  errors.splice(0, errors.length, ...errors.filter((each) => !broken.some((words) => each.startsWith(words))));
  return { violations: found, sizes, ahead, inOrder, lines: lines.length, back, kept, left, ended, sideways, refused, cut };
});
