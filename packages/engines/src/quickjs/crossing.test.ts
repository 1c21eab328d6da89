/** What crosses between a script and its host is text that neither side reads twice: long, strange or forged, it is what it is. */
import { expect, it } from "vitest";
import { returned } from "../../../../test/fakes/scripts.ts";
import { warmScripts } from "../../../../test/fakes/warm-scripts.ts";

const scripts = warmScripts();
const { run } = scripts;

it.each([
  ["nothing", 0],
  ["what just has room", 5_300],
  ["what has none by a little", 5_500],
  ["what is long", 70_000],
])("a text of other alphabets arrives and comes back whole: %s", async (_, length) => {
  const text = 'aé€🙂\n"\\\u0000'
    .repeat(Math.ceil(length / 9))
    .slice(0, length)
    .toWellFormed();
  const ran = await run(
    "const { text } = await tools.echo({}); (await tools.echo({ text })).structured.text === text",
    {
      answer: ({ arguments: given }) => ({ status: "ok", value: { text, structured: given } }),
    },
  );
  expect(ran.calls[1]?.arguments).toEqual({ text });
  expect(returned(ran)).toBe(true);
});

it("continues when its memory grows between two calls", async () => {
  const source = `let whole = [];
for (let n = 0; n < 12; n++) { whole.push(new Uint8Array(2_000_000).fill(n)); whole.push((await tools.echo({ n })).structured.n); }
whole.filter((one) => typeof one === "number").join()`;
  expect(returned(await run(source))).toBe("0,1,2,3,4,5,6,7,8,9,10,11");
});

it("reports text that was printed before a timer's call once", async () => {
  const ran = await run(
    'console.log("before"); await new Promise((go) => setTimeout(() => tools.echo({}).then(go), 0)); console.log("after")',
  );
  expect([ran.calls.length, ran.out]).toEqual([1, "before\nafter\n"]);
});

it.each([
  ["no JSON", "'\"}]'"],
  [
    "another chain's token",
    '\'{"place":0,"tool":"echo","arguments":{}}],"token":"mine","calls":[\' + joined.call(this, by)',
  ],
  ["an end", '\'],"step":"done","value":1,"calls":[\''],
  ["nesting", '"[".repeat(250) + "]".repeat(250)'],
])("a script that forges its mail, with %s, ends itself and calls nothing it did not make", async (_, forged) => {
  const source = `const joined = Array.prototype.join; Array.prototype.join = function (by) { return ${forged}; }; await tools.echo({}); "here"`;
  const { calls, end } = await run(source, { limits: { wallMs: 5_000 } });
  expect(calls.every(({ tool }) => tool === "echo") && calls.length < 2).toBe(true);
  expect(end.step === "done" || ["script", "protocol", "deadlock"].includes(end.why)).toBe(true);
  expect(returned(await run("1 + 1"))).toBe(2);
});
