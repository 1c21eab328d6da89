/** Rules for a host hold for its frames in other pages, in a real Chromium: 127.0.0.1 shows a page of 127.0.0.2, the bank. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RenderedToolAnswer } from "../../packages/agents/src/agent-tools.ts";
import { googleToolUses } from "../../packages/agents/src/google.ts";
import { openaiToolUses } from "../../packages/agents/src/openai.ts";
import { at, executablePath, type Site, type Stage, site, stage } from "./browser-stage.ts";

const box = "position:absolute;border:0;left:100px;top:100px;width:300px;height:200px;";
let outer: Site;
let bank: Site;
let middle: Site;
let bankUrl = "";
let page = "";
let moveFocus: (() => void) | undefined;
let received: string[] = [];

const bankPage = `<body style="margin:0" onmousedown="fetch('/pressed')"><button style="width:100%;height:150px" onclick="fetch('/paid')">Pay</button>
  <input oninput="fetch('/typed?' + this.value)" onfocus="fetch('/focused')">`;
const frame = (style: string, url = bankUrl): string => `<iframe style="${box}${style}" src="${url}"></iframe>`;
/** The button gives the bank's frame the focus, as any page may. */
const focusing = (): string =>
  `<body style="margin:0"><input autofocus style="position:absolute;top:0;height:30px" oninput="fetch('/outer?' + this.value)">
   <button style="position:absolute;top:40px;height:30px" onclick="frames[0].focus()">Go</button>${frame("")}`;

beforeAll(async () => {
  bank = await site("127.0.0.2", ({ url = "" }, answer) => {
    if (url !== "/") received.push(url);
    answer.setHeader("content-type", "text/html").end(bankPage);
  });
  bankUrl = `http://127.0.0.2:${bank.port}/`;
  middle = await site("127.0.0.3", (_request, answer) =>
    answer
      .setHeader("content-type", "text/html")
      .end(`<body style="margin:0;zoom:1.5">${frame("left:20px;top:20px;")}`),
  );
  outer = await site("127.0.0.1", ({ url = "" }, answer) => {
    if (url === "/wait") moveFocus = () => answer.end();
    else answer.setHeader("content-type", "text/html").end(url === "/" ? page : "");
    if (url.startsWith("/moved") || url.startsWith("/outer")) received.push(url);
  });
});
beforeEach(() => {
  received = [];
});
const folder = mkdtempSync(join(tmpdir(), "postern-frames-"));
afterAll(async () => {
  for (const one of [outer, middle, bank]) await one[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Asks a person for the bank only. */
async function bankStage(program = executablePath): Promise<Stage> {
  return stage(
    {
      ...{ allowedHosts: ["127.0.0.1", "127.0.0.2", "127.0.0.3"], keepPages: true, actionTimeoutMs: 10_000 },
      ...(program !== undefined && { executablePath: program }),
    },
    {
      ...{ autonomy: "A3", approvals: { patience: "suspend" } },
      policy: { rules: [{ effect: "confirm", target: { host: "127.0.0.2" } }] },
    },
  );
}

async function open(on: Stage, body: string): Promise<void> {
  page = body;
  const opened = await on.act("navigate", { url: `http://127.0.0.1:${outer.port}/` });
  expect(opened).toMatchObject({ isError: false });
}

/** Without site isolation all frames of a page share one process. */
function oneProcess(): string {
  const path = join(folder, "chromium");
  const off = "--disable-site-isolation-trials --disable-features=IsolateOrigins,site-per-process";
  writeFileSync(path, `#!/bin/sh\nexec ${executablePath} "$@" ${off}\n`);
  chmodSync(path, 0o755);
  return path;
}

const asks = { outcome: { status: "pending" } };

describe.skipIf(executablePath === undefined)("in Chromium", () => {
  it.each([
    ["plain", () => frame(""), [200, 150], undefined],
    ["in one process with the page", () => frame(""), [200, 150], "one process"],
    ["scaled and turned", () => frame("transform:scale(2) rotate(30deg)"), [330, 130], undefined],
    ["scaled, in one process", () => frame("transform:scale(2) rotate(30deg)"), [330, 130], "one process"],
    [
      "in a frame of a third host",
      () => frame("transform:scale(.8)", `http://127.0.0.3:${middle.port}/`),
      [250, 200],
      undefined,
    ],
    [
      "in a closed shadow root",
      () =>
        `<p></p><script>document.querySelector("p").attachShadow({ mode: "closed" }).innerHTML = \`${frame("")}\`</script>`,
      [200, 150],
      undefined,
    ],
    [
      "in a scrolled page",
      () => `<body style="height:4000px">${frame("top:1500.5px")}<script>scrollTo(0, 1400.5)</script>`,
      [200, 150],
      undefined,
    ],
  ] as const)("asks for a click into a frame of the host: %s", async (_how, body, [x, y], processes) => {
    await using on = await bankStage(processes === undefined ? executablePath : oneProcess());
    await open(on, body());
    expect(await on.act("left_click", at(900, 700))).toMatchObject({ isError: false });
    const click = openaiToolUses([
      {
        type: "computer_call",
        call_id: "c1",
        pending_safety_checks: [],
        action: { type: "click", button: "left", x, y },
      },
    ])[0] ?? { name: "none" };
    const waiting = await on.tools.call(click);
    expect(waiting).toMatchObject(asks);
    const { approvalId = "" } = waiting.outcome;
    const top = `http://127.0.0.1:${outer.port}`;
    const inner = `http://127.0.0.2:${bank.port}`;
    expect(await on.runtime.approvals.get(approvalId)).toMatchObject({
      summary: expect.stringContaining(`in a frame of ${inner} on the page ${top}`),
      preview: { summary: expect.stringContaining("button “Pay”"), details: { page: top, frame: inner } },
    });
    expect(received).toEqual([]);
    await on.runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "ada" } });
    expect(await on.tools.call(click)).toMatchObject({ isError: false });
    expect(await on.act("wait", { duration: 1 })).toMatchObject({ isError: false });
    expect(received.toSorted()).toEqual(["/paid", "/pressed"]);
  });

  it("asks for every action of the pointer in the host's frame, and for no look", async () => {
    await using on = await bankStage();
    await open(on, frame(""));
    const point = { coordinate: [200, 150] };
    for (const [name, input] of [
      ...["left_click", "right_click", "middle_click", "double_click", "triple_click", "mouse_move", "hover"],
      ...["left_mouse_down", "left_mouse_up"],
    ]
      .map((name): [string, object] => [name, point])
      .concat([
        ["scroll", { ...point, scroll_direction: "down" }],
        ["left_click_drag", { start_coordinate: [200, 150], coordinate: [210, 160] }],
      ]))
      expect([name, (await on.act(name, input)).outcome.status]).toEqual([name, "pending"]);
    for (const [name, args] of [
      ["click_at", {}],
      ["type_text_at", { text: "5" }],
      ["drag_and_drop", { destination_x: 160, destination_y: 200 }],
    ] as const) {
      const [use = { name: "none" }] = googleToolUses([{ functionCall: { name, args: { x: 156, y: 187, ...args } } }]);
      expect([name, (await on.tools.call(use)).outcome.status]).toEqual([name, "pending"]);
    }
    for (const name of ["screenshot", "get_page_text", "cursor_position"])
      expect(await on.act(name)).toMatchObject({ isError: false });
    expect(received).toEqual([]);
  });

  it("refuses a drag between frames of two hosts, and a held key that writes", async () => {
    await using on = await bankStage();
    await open(on, frame(""));
    for (const [from, to] of [
      [
        [20, 20],
        [200, 150],
      ],
      [
        [200, 150],
        [20, 20],
      ],
    ]) {
      const dragged = await on.act("left_click_drag", { start_coordinate: from, coordinate: to });
      expect(dragged).toMatchObject({ isError: true, outcome: { refusal: { code: "tool_failed" } } });
      expect(dragged.text).toContain("Send its actions as separate calls");
    }
    const held = await on.act("left_click", { coordinate: [20, 20], text: "Return" });
    expect(held).toMatchObject({ outcome: { refusal: { code: "arguments_invalid" } } });
    expect(received).toEqual([]);
  });

  it("asks for keys that a frame of the host with the focus would receive", async () => {
    await using on = await bankStage();
    await open(on, focusing());
    expect(await on.act("type", { text: "a" })).toMatchObject({ isError: false });
    expect(await on.act("left_click", at(10, 50))).toMatchObject({ isError: false });
    const typed = await on.act("type", { text: "5" });
    expect(typed).toMatchObject(asks);
    expect(await on.runtime.approvals.get(typed.outcome.approvalId ?? "")).toMatchObject({
      summary: expect.stringContaining(`in a frame of http://127.0.0.2:${bank.port} on the page http://127.0.0.1`),
    });
    expect(await on.act("key", { text: "Return" })).toMatchObject(asks);
    expect(received).toEqual(["/outer?a"]);
  });

  it("types nothing when the focus moves to another host's frame after the verdict", async () => {
    await using on = await bankStage();
    await open(on, `${focusing()}<script>fetch("/wait").then(() => { frames[0].focus(); fetch("/moved"); })</script>`);
    const before = on.act("wait", { duration: 4 }); // calls of one page run one after another
    const typed = on.act("type", { text: "5" });
    const running = async (): Promise<number> => (await on.runtime.calls.list({ state: "attempted" })).length;
    await expect.poll(running, { timeout: 3_000 }).toBe(2); // both were judged
    moveFocus?.();
    expect(await before).toMatchObject({ isError: false });
    expect(await typed).toMatchObject({ isError: true, outcome: { refusal: { code: "tool_failed" } } });
    expect((await typed).text).toContain("another one now than when this call was judged");
    expect(received).toEqual(["/moved"]);
  });

  it("presses no further key when a key has moved the focus to another host's frame", async () => {
    await using on = await bankStage();
    await open(on, `${focusing()}<script>onkeyup = () => frames[0].focus()</script>`);
    const pressed = await on.act("key", { text: "a Tab 5" });
    expect(pressed).toMatchObject({ isError: true, outcome: { refusal: { code: "tool_failed" } } });
    expect(await on.act("wait", { duration: 1 })).toMatchObject({ isError: false });
    expect(received).toEqual(["/outer?a"]);
  });

  it.each([
    ["mousemove", "left_click"],
    ["mousedown", "left_click"],
    ["click", "double_click"],
  ])("when the page answers %s with a frame, ends a %s", async (event, action) => {
    await using on = await bankStage();
    await open(
      on,
      `${frame("display:none")}<script>on${event} = () => { document.querySelector("iframe").style.display = ""; }</script>`,
    );
    const clicked: RenderedToolAnswer = await on.act(action, at(200, 150));
    expect(clicked).toMatchObject({ isError: true, outcome: { refusal: { code: "tool_failed" } } });
    expect(await on.act("wait", { duration: 1 })).toMatchObject({ isError: false });
    expect(received).toEqual([]);
  });
});
